#include <octet/deploy/c/operators.h>

namespace octet::detail {

/// It moves nothing.
COperator c_forms::reshape() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
