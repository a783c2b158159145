#include <fmt/format.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/linear.h>
#include <octet/layers/dense.h>
#include <octet/layers/lowering.h>

namespace octet {

Dense::Dense(Index units, Activation activation, DenseOptions options)
    : Layer(options.name), units_(units), activation_(activation), options_(std::move(options)) {
  if (units_ <= 0) {
    throw InvalidArgument(fmt::format("Dense: expected at least 1 unit, found {}", units_));
  }
}

Tensor Dense::linear(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
  require_built();
  return octet::linear(x, kernel, bias);
}

Tensor Dense::forward(const Tensor& x, const ForwardContext& context) {
  require_built();
  if (activation_ == Activation::relu || activation_ == Activation::relu6) {
    return octet::linear(x, kernel_, bias_, fused_activation(activation_));
  }
  const Tensor y = linear(x, kernel_, bias_);
  return context.logits && ends_in_softmax() ? y : apply_activation(activation_, y);
}

std::vector<NamedTensor> Dense::parameters() const {
  if (!bias_.defined()) return {{"kernel", kernel_}};
  return {{"kernel", kernel_}, {"bias", bias_}};
}

std::optional<LayerWeights> Dense::weights() const {
  constexpr int kUnitAxis = 1;
  return LayerWeights{kernel_, bias_, kUnitAxis};
}

std::unique_ptr<Layer> Dense::with_activation(Activation activation) const {
  if (activation_ != Activation::none || quantizes_before(activation)) return nullptr;
  auto changed = std::make_unique<Dense>(*this);
  changed->activation_ = activation;
  return changed;
}

std::int32_t Dense::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  if (!quantizes_before(activation_)) {
    return lowering.linear(*this, inputs[0], fused_activation(activation_));
  }
  const std::int32_t linear = lowering.linear(*this, inputs[0], FusedActivation::none, "/linear");
  return lowering.op(*this, operator_of(activation_), {linear});
}

void Dense::describe(Description& description) const {
  description.set("units", units_)
      .set("activation", to_string(activation_))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> Dense::kernel_shape(const Shape& input_shape) const {
  return Shape{input_shape.size(), units_};
}

std::unique_ptr<Layer> Dense::clone() const {
  auto copy = std::make_unique<Dense>(*this);
  copy->kernel_ = clone_leaf(kernel_);
  copy->bias_ = clone_leaf(bias_);
  return copy;
}

Shape Dense::do_build(const Shape& input_shape, const Random& random) {
  if (input_shape.rank() != 1) {
    throw InvalidArgument(
        fmt::format("Dense \"{}\": expected one axis of inputs, found shape {}; put a Flatten "
                    "layer in front",
                    name(), input_shape.to_string()));
  }
  const Index inputs = input_shape[0];
  kernel_ = initialize(options_.kernel_initializer, {inputs, units_}, inputs, units_, random);
  kernel_.set_requires_grad(true);
  if (options_.use_bias) bias_ = Tensor::zeros({units_}).set_requires_grad(true);
  return {units_};
}

std::unique_ptr<Layer> Dense::make(const Description& d) {
  return std::make_unique<Dense>(d.integer("units"), parse_activation(d.text("activation")),
                                 DenseOptions{.use_bias = d.flag("use_bias")});
}

}  // namespace octet
