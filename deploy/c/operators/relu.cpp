#include <octet/deploy/c/operators.h>

namespace octet::detail {

COperator c_forms::relu() { return {.reads_all_inputs = false, .make = make_byte_table_layer}; }
COperator c_forms::relu6() { return {.reads_all_inputs = false, .make = make_byte_table_layer}; }
COperator c_forms::relu_n1_to_1() {
  return {.reads_all_inputs = false, .make = make_byte_table_layer};
}

}  // namespace octet::detail
