#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>

namespace octet::detail {
namespace {

CLayer refuse_reshape(const CPlan& /*plan*/, const CStep& /*step*/) {
  throw InvalidArgument("c source: RESHAPE moves nothing and is no layer");
}

}  // namespace

COperator c_forms::reshape() { return {.reads_all_inputs = false, .make = refuse_reshape}; }

}  // namespace octet::detail
