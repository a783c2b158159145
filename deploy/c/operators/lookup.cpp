#include <octet/deploy/c/operators.h>

namespace octet::detail {

// The plan refuses what they read: float32 and int32.

COperator c_forms::cast() { return {.reads_all_inputs = false, .make = nullptr}; }
COperator c_forms::gather() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
