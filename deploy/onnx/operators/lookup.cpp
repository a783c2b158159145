#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {
namespace {

[[noreturn]] void refuse(const Operands& operands) {
  throw InvalidArgument(
      fmt::format("to_onnx: {} '{}' is not written; expected an operator that layers are made of",
                  to_string(operands.op.code), operands.output().name));
}

}  // namespace

void onnx_forms::cast(OnnxNodes& /*nodes*/, const Operands& operands) { refuse(operands); }
void onnx_forms::gather(OnnxNodes& /*nodes*/, const Operands& operands) { refuse(operands); }

}  // namespace octet::detail
