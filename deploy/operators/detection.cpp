#include <octet/core/error.h>
#include <octet/deploy/c/operators.h>
#include <octet/deploy/onnx/operators.h>

namespace octet::detail {

void onnx_forms::detection_post_process(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no such operator; end the model in front of it, at the encodings of the boxes and "
      "their scores");
}

/// The plan refuses the float32 that it reads.
COperator c_forms::detection_post_process() { return {.reads_all_inputs = false, .make = nullptr}; }

}  // namespace octet::detail
