#include <octet/deploy/c/operators.h>

namespace octet::detail {

// They move nothing.

COperator c_forms::reshape() { return {.reads_all_inputs = false, .make = nullptr}; }
COperator c_forms::squeeze() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
