#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/ops/linear.h>
#include <octet/layers/dense.h>

namespace octet {

Dense::Dense(Index units, Activation activation, DenseOptions options)
    : Layer(options.name), units_(units), activation_(activation), options_(std::move(options)) {
  if (units_ <= 0) {
    throw InvalidArgument(fmt::format("Dense: expected at least 1 unit, found {}", units_));
  }
}

Tensor Dense::linear(const Tensor& x, const Tensor& kernel) const {
  return octet::linear(x, kernel, bias_);
}

Tensor Dense::forward(const Tensor& x, const ForwardContext& /*context*/) {
  if (activation_ == Activation::relu || activation_ == Activation::relu6) {
    return octet::linear(x, kernel_, bias_, fused_activation(activation_));
  }
  return apply_activation(activation_, linear(x, kernel_));
}

Tensor Dense::forward_logits(const Tensor& x, const ForwardContext& context) {
  return ends_in_softmax() ? linear(x, kernel_) : forward(x, context);
}

std::vector<NamedTensor> Dense::parameters() const {
  if (!bias_.defined()) return {{"kernel", kernel_}};
  return {{"kernel", kernel_}, {"bias", bias_}};
}

std::unique_ptr<Dense> Dense::with_activation(Activation activation) const {
  auto changed = std::make_unique<Dense>(*this);
  changed->activation_ = activation;
  return changed;
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

}  // namespace octet
