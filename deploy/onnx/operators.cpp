#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void write_operator(OnnxNodes& nodes, const Operands& operands) {
  static constexpr std::array kForms = {
#define OCTET_ROW(name, ...) onnx_forms::name,
#include <octet/runtime/operators.def>
  };
  kForms[index_of(operands.op.code)](nodes, operands);
}

}  // namespace octet::detail
