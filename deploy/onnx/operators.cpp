#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

const OnnxOperator& onnx_operator(OpCode code) {
#define OCTET_ROW(name, number) onnx_forms::name(),
  static const std::array forms = {OCTET_OPERATORS(OCTET_ROW)};
#undef OCTET_ROW
  return forms[index_of(code)];
}

}  // namespace octet::detail
