#include <octet/core/error.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::detection_post_process(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no such operator; end the model in front of it, at the encodings of the boxes and "
      "their scores");
}

}  // namespace octet::detail
