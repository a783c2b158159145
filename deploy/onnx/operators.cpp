#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

const OnnxOperator& onnx_operator(OpCode code) {
  static const std::array forms = {
#define OCTET_ROW(name, number) onnx_forms::name(),
#include <octet/runtime/operators.def>
  };
  return forms[index_of(code)];
}

}  // namespace octet::detail
