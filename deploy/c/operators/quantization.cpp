#include <octet/deploy/c/operators.h>

namespace octet::detail {

COperator c_forms::quantize() { return kByteTable; }

/// At the end of a model it is left out; anywhere else the plan refuses its floats.
COperator c_forms::dequantize() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
