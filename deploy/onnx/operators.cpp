#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

const OnnxOperator& onnx_operator(OpCode code) {
#define OCTET_ROW(name, number) onnx_forms::name(),
  static const std::array kForms = {OCTET_OPERATORS(OCTET_ROW)};
#undef OCTET_ROW
  return kForms[index_of(code)];
}

}  // namespace octet::detail
