#include <octet/deploy/tflite/detection.h>
#include <octet/deploy/tflite/real_constants.h>
#include <octet/runtime/operators/detection_post_process.h>

namespace octet::detail {
namespace {

/// The floats that tensor `index` stands for.
std::int32_t as_floats(std::int32_t index, std::size_t part, Draft& draft,
                       std::vector<std::int32_t>& replaced) {
  const std::int32_t made = draft.add_tensor(index, draft.tensor(index).shape, part);
  ModelTensor& floats = draft.tensor(made);
  if (draft.tensor(index).is_constant()) {
    draft.set_data(floats, draft.tensor(index).data);
    draft.take(floats.data.size() * sizeof(float));
    make_real(floats);
    replaced.push_back(index);
    return made;
  }
  floats.dtype = DType::float32;
  floats.quantization = {};
  draft.add(OpCode::dequantize, {index}, made, default_attributes(OpCode::dequantize));
  return made;
}

}  // namespace

void complete_detection(Operator& op, Draft draft, std::vector<std::int32_t>& replaced) {
  if (op.code != OpCode::detection_post_process) return;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (!draft.exists(op.inputs[i])) continue;
    const ModelTensor& input = draft.tensor(op.inputs[i]);
    const bool is_codes = is_byte(input.dtype) && input.is_quantized();
    if (is_codes) op.inputs[i] = as_floats(op.inputs[i], i, draft, replaced);
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!draft.exists(op.outputs[i])) continue;
    ModelTensor& output = draft.tensor(op.outputs[i]);
    output.shape = detection_shape(op.as<DetectionAttributes>(), i);
    output.shape_signature.clear();
  }
}

}  // namespace octet::detail
