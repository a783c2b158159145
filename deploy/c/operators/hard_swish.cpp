#include <octet/deploy/c/operators.h>

namespace octet::detail {

COperator c_forms::hard_swish() {
  return {.reads_all_inputs = false, .make = make_byte_table_layer};
}

}  // namespace octet::detail
