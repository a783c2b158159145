#include <octet/deploy/tflite/real_constants.h>
#include <octet/import/tflite/real_model.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/operands.h>
#include <octet/runtime/operators/svdf.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// Makes a bias real, whose scale is that of the input times that of the weights whatever it says.
template <class T>
void make_real_bias(ModelTensor& bias, const QuantParams& input, const QuantParams& weights) {
  const std::vector<T> codes = values_of<T>(bias);
  std::vector<float> reals;
  reals.reserve(codes.size());
  for (const T code : codes) {
    const double scale = weights.scales.at(weights.scales.size() == 1 ? 0 : reals.size());
    reals.push_back(static_cast<float>(double{input.scale()} * scale * static_cast<double>(code)));
  }
  set_reals(bias, reals);
}

class RealModel {
 public:
  explicit RealModel(IntegerModel model) : model_(std::move(model)) {}

  IntegerModel make() {
    for (const Operator& op : model_.operators) make_bias(op);
    for (ModelTensor& tensor : model_.tensors) make_values_real(tensor);
    drop_roundings();
    return std::move(model_);
  }

 private:
  ModelTensor& tensor(std::int32_t index) {
    return model_.tensors[static_cast<std::size_t>(index)];
  }

  /// Before the scales go.
  void make_bias(const Operator& op) {
    const bool is_svdf = op.code == OpCode::svdf;
    const std::size_t i = is_svdf ? kSvdfBias : 2;
    if (!has_weights(op.code) || op.inputs.size() <= i || op.inputs[i] < 0) return;
    ModelTensor& bias = tensor(op.inputs[i]);
    const QuantParams& input = tensor(op.inputs[is_svdf ? kSvdfState : 0]).quantization;
    const QuantParams& weights = tensor(op.inputs[is_svdf ? kSvdfTimeWeights : 1]).quantization;
    if (input.scales.empty() || weights.scales.empty()) return;
    if (bias.dtype == DType::int32) make_real_bias<std::int32_t>(bias, input, weights);
    if (bias.dtype == DType::int64) make_real_bias<std::int64_t>(bias, input, weights);
  }

  static void make_values_real(ModelTensor& tensor) {
    if (!tensor.is_quantized()) return;
    if (tensor.is_constant()) return make_real(tensor);
    tensor.dtype = DType::float32;
    tensor.quantization = {};
  }

  void drop_roundings() {
    // By tensor: the one that stands for it.
    std::vector<std::int32_t> same(model_.tensors.size());
    for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<std::int32_t>(i);
    const auto replace = [&](std::vector<std::int32_t>& values) {
      for (std::int32_t& value : values) {
        if (value >= 0) value = same[static_cast<std::size_t>(value)];
      }
    };
    std::erase_if(model_.operators, [&](Operator& op) {
      replace(op.inputs);
      if (op.code != OpCode::quantize && op.code != OpCode::dequantize) return false;
      same[static_cast<std::size_t>(op.outputs[0])] = op.inputs[0];
      return true;
    });
    replace(model_.outputs);
  }

  IntegerModel model_;
};

}  // namespace

IntegerModel real_model(IntegerModel model) { return RealModel(std::move(model)).make(); }

}  // namespace octet::detail
