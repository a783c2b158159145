#include <octet/deploy/tflite/versions.h>

namespace octet::detail {
namespace {

int fully_connected_version(const Operator& op, DType input) {
  if (op.inputs.size() < 3 || op.inputs[2] == -1) return 6;
  if (op.keep_num_dims) return 5;
  return input == DType::int8 ? 4 : 1;
}

int quantize_version(const ModelTensor& output) {
  if (output.quantization.scales.size() > 1) return 3;
  return output.dtype == DType::int16 ? 2 : 1;
}

int dequantize_version(const ModelTensor& input) {
  if (input.quantization.scales.size() > 1) return 5;
  if (input.dtype == DType::int16) return 3;
  return input.dtype == DType::int8 ? 2 : 1;
}

}  // namespace

int required_version(const IntegerModel& model, const Operator& op) {
  const ModelTensor& input = model.tensors[static_cast<std::size_t>(op.inputs[0])];
  const ModelTensor& output = model.tensors[static_cast<std::size_t>(op.outputs[0])];
  switch (op.code) {
    case OpCode::conv_2d:
      return input.dtype == DType::int8 ? 3 : 1;
    case OpCode::fully_connected:
      return fully_connected_version(op, input.dtype);
    case OpCode::quantize:
      return quantize_version(output);
    case OpCode::dequantize:
      return dequantize_version(input);
    case OpCode::softmax:
    case OpCode::logistic:
    case OpCode::tanh:
    case OpCode::relu:
    case OpCode::relu6:
      return input.dtype == DType::int8 ? 2 : 1;
    case OpCode::relu_n1_to_1:
    case OpCode::reshape:
      return 1;
  }
  return 1;
}

int highest_version(OpCode code) {
  switch (code) {
    case OpCode::conv_2d:
      return 8;
    case OpCode::fully_connected:
      return 12;
    case OpCode::dequantize:
      return 5;
    case OpCode::quantize:
    case OpCode::softmax:
    case OpCode::logistic:
    case OpCode::tanh:
    case OpCode::relu:
    case OpCode::relu6:
      return 3;
    case OpCode::relu_n1_to_1:
    case OpCode::reshape:
      return 1;
  }
  return 0;
}

int first_release(OpCode code, int version) {
  switch (code) {
    case OpCode::conv_2d:
      return version >= 2 ? 11400 : 10500;
    case OpCode::fully_connected:
      if (version <= 4) return version <= 2 ? 11000 : 11400;
      return version == 5 ? 20000 : 20100;
    case OpCode::quantize:
      if (version == 3) return 20700;
      return version == 2 ? 11500 : 11400;
    case OpCode::dequantize:
      if (version == 5) return 20700;
      return version == 3 ? 11500 : 11400;
    case OpCode::relu:
      return version >= 2 ? 20100 : 10500;
    case OpCode::softmax:
    case OpCode::relu6:
      return version >= 2 ? 11400 : 10500;
    case OpCode::logistic:
    case OpCode::tanh:
      return 11400;
    case OpCode::relu_n1_to_1:
    case OpCode::reshape:
      return 10500;
  }
  return 0;
}

}  // namespace octet::detail
