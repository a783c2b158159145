#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/tflite/operators.h>
#include <octet/deploy/tflite/real_constants.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/operands.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace octet::detail {
namespace {

template <class T>
void dequantize_constant(ModelTensor& tensor) {
  const std::vector<T> codes = values_of<T>(tensor);
  std::vector<float> reals(codes.size());
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  try {
    if (tensor.quantization.scales.size() == 1) {
      dequantize(std::span(codes), tensor.quantization, reals);
    } else {
      dequantize(std::span(codes), shape, tensor.quantization, reals);
    }
  } catch (const InvalidArgument& error) {
    fail_tflite("tensor '{}': {}", printable(tensor.name), error.what());
  }
  set_reals(tensor, reals);
}

}  // namespace

void set_reals(ModelTensor& tensor, const std::vector<float>& reals) {
  tensor.data.resize(reals.size() * sizeof(float));
  if (!reals.empty()) std::memcpy(tensor.data.data(), reals.data(), tensor.data.size());
  tensor.dtype = DType::float32;
  tensor.quantization = {};
  tensor.stored_bits = 8;
}

void make_real(ModelTensor& tensor) {
  if (tensor.dtype == DType::int8) dequantize_constant<std::int8_t>(tensor);
  if (tensor.dtype == DType::int16) dequantize_constant<std::int16_t>(tensor);
  if (tensor.dtype == DType::uint8) dequantize_constant<std::uint8_t>(tensor);
}

void make_hybrid_weights_real(IntegerModel& model, Budget& budget) {
  const auto exists = [&](std::int32_t i) {
    return i >= 0 && static_cast<std::size_t>(i) < model.tensors.size();
  };
  for (const Operator& op : model.operators) {
    // Values outside of the tensors are validate()'s to refuse.
    if (!has_weights(op.code) || op.inputs.size() < 2 || !exists(op.inputs[0]) ||
        !exists(op.inputs[1])) {
      continue;
    }
    ModelTensor& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    const DType input = model.tensors[static_cast<std::size_t>(op.inputs[0])].dtype;
    if (input != DType::float32 || weights.dtype != DType::int8 || !weights.is_constant() ||
        weights.quantization.scales.empty()) {
      continue;
    }
    budget.take(weights.data.size() * sizeof(float));
    make_real(weights);
  }
}

}  // namespace octet::detail
