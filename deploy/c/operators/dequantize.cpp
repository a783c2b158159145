#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>

namespace octet::detail {
namespace {

CLayer refuse_floats(const CPlan& /*plan*/, const CStep& step) {
  throw InvalidArgument(
      fmt::format("c source: {} has no place between operators on codes; expected codes all "
                  "through",
                  to_string(step.source.op.code)));
}

}  // namespace

COperator c_forms::dequantize() { return {.reads_all_inputs = false, .make = refuse_floats}; }

}  // namespace octet::detail
