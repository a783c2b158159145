#include <octet/deploy/c/operators.h>

namespace octet::detail {

/// The plan refuses the int16 of its cell state.
COperator c_forms::unidirectional_sequence_lstm() {
  return {.reads_all_inputs = false, .make = nullptr};
}

}  // namespace octet::detail
