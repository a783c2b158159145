#pragma once

#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/layers/layer_testing.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace octet::test {

/// A built model of these layers.
template <class... Layers>
Sequential build_model(Layers&&... layers) {
  Sequential model("m", std::forward<Layers>(layers)...);
  model.build(5);
  return model;
}

/// "name type" of every layer.
inline std::vector<std::string> layer_lines(const Sequential& model) {
  std::vector<std::string> lines;
  for (const auto& layer : model.layers()) {
    lines.push_back(layer->name() + " " + std::string(layer->type()));
  }
  return lines;
}

inline const QuantizeWrapper& dense_wrapper(const Sequential& model, std::string_view name) {
  return dynamic_cast<const QuantizeWrapper&>(model.layer(name));
}

/// A few steps of gradient descent on a quantized model; batch() gives the examples of each. A step
/// moves no value by more than 0.05: normalizations behind dead channels, whose variance is 0,
/// multiply gradients by 1 / sqrt(epsilon) each, and random networks would diverge.
template <class Batch>
void train_a_little(Model& model, int steps, Batch&& batch) {
  for (int step = 0; step < steps; ++step) {
    model.zero_grad();
    Tensor logits = model.forward_logits(batch(), training(static_cast<std::uint64_t>(step)));
    const Tensor target = random_tensor(logits.shape(), static_cast<std::uint64_t>(step), -1, 1);
    mean(square(logits - target)).backward();
    for (auto& [name, tensor] : model.parameters()) {
      ASSERT_TRUE(tensor.grad().defined()) << name;
      const Tensor gradient = tensor.grad();
      for (std::size_t i = 0; i < tensor.span().size(); ++i) {
        tensor.mutable_span()[i] -= 0.05F * std::clamp(gradient.span()[i], -1.0F, 1.0F);
      }
    }
  }
  refresh_kernel_ranges(model);
}

/// A layer of a user's own: 2 x, with a parameter and a state to look after.
class Doubling : public Layer {
 public:
  explicit Doubling(std::string name = "") : Layer(std::move(name)) {}
  Doubling(const Doubling& other)
      : Layer(other), seen_(clone_leaf(other.seen_)), updates_(clone_leaf(other.updates_)) {}
  std::string_view type() const override { return "Doubling"; }
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) override {
    const Tensor& x = inputs[0];
    Tensor y(x.shape());
    for (Index i = 0; i < x.size(); ++i) y.mutable_data()[i] = 2.0F * x.data()[i];
    return y;
  }
  LayerTensors tensors() const override {
    return {.state = {{"seen", seen_}}, .counters = {{"steps", updates_}}};
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Doubling>(*this); }

 protected:
  void make_tensors(std::span<const Shape> /*input_shapes*/, const Random& /*random*/) override {
    seen_ = Tensor::scalar(1.0F);
    updates_ = Tensor::scalar(2.0F);
  }
  Shape result_shape(std::span<const Shape> input_shapes) const override { return input_shapes[0]; }

 private:
  Tensor seen_;
  Tensor updates_;
};

/// The default scheme with quantizers of the test's own in some places.
class CustomConfig : public Default8BitQuantizeConfig {
 public:
  using Make = std::function<std::unique_ptr<Quantizer>()>;

  explicit CustomConfig(QuantizeOptions options = {}) : Default8BitQuantizeConfig(options) {}
  std::unique_ptr<Quantizer> kernel_quantizer(const Layer& layer) const override {
    return kernel ? kernel() : Default8BitQuantizeConfig::kernel_quantizer(layer);
  }
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& layer) const override {
    return activation ? activation() : Default8BitQuantizeConfig::activation_quantizer(layer);
  }
  std::unique_ptr<Quantizer> output_quantizer(const Layer& layer) const override {
    return output ? output() : Default8BitQuantizeConfig::output_quantizer(layer);
  }

  Make kernel;
  Make activation;
  Make output;
};

inline CustomConfig::Make fixed(float min, float max, QuantSpec spec = {}) {
  return [=] { return std::make_unique<FixedQuantizer>(min, max, spec); };
}
inline CustomConfig::Make nothing() {
  return [] { return std::unique_ptr<Quantizer>(); };
}

/// A kernel's grid of scale 1: codes -127 to 127.
inline CustomConfig::Make unit_kernel() {
  return fixed(-127.0F, 127.0F, {.narrow_range = true, .symmetric = true});
}

/// `values` on a grid, as an op leaves them.
inline Tensor on_grid(Tensor values, float scale, std::int32_t zero_point) {
  detail::TensorAccess::set_quantization(
      values, std::make_shared<const QuantParams>(QuantParams::per_tensor(scale, zero_point)));
  return values;
}

}  // namespace octet::test
