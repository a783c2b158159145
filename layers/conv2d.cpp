#include <fmt/format.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/elementwise.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/lowering.h>

#include <algorithm>

namespace octet {

using detail::as_shape;
using detail::pair_in;

namespace {

void require_positive(std::string_view what, std::array<Index, 2> pair) {
  if (pair[0] > 0 && pair[1] > 0) return;
  throw InvalidArgument(
      fmt::format("Conv2D: expected {} above 0, found {} x {}", what, pair[0], pair[1]));
}

}  // namespace

Conv2D::Conv2D(Index filters, std::array<Index, 2> kernel_size, Activation activation,
               Conv2DLayerOptions options)
    : Layer(options.name),
      filters_(filters),
      kernel_size_(kernel_size),
      activation_(activation),
      options_(std::move(options)) {
  if (filters_ <= 0) {
    throw InvalidArgument(fmt::format("Conv2D: expected at least 1 filter, found {}", filters_));
  }
  require_positive("a kernel size", kernel_size_);
  require_positive("strides", options_.strides);
  require_positive("a dilation", options_.dilation);
  if (options_.groups <= 0 || filters_ % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("Conv2D: expected a number of groups that divides the {} filters, found {}",
                    filters_, options_.groups));
  }
}

Conv2DOptions Conv2D::convolution() const {
  return {.stride = options_.strides,
          .dilation = options_.dilation,
          .padding = options_.padding,
          .groups = options_.groups};
}

Tensor Conv2D::linear(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
  require_built();
  const Tensor y = conv2d(x, kernel, convolution());
  return bias.defined() ? y + bias : y;
}

Tensor Conv2D::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor y = linear(x, kernel_, bias_);
  return context.logits && ends_in_softmax() ? y : apply_activation(activation_, y);
}

std::vector<NamedTensor> Conv2D::parameters() const {
  if (!bias_.defined()) return {{"kernel", kernel_}};
  return {{"kernel", kernel_}, {"bias", bias_}};
}

std::optional<LayerWeights> Conv2D::weights() const {
  constexpr int kUnitAxis = 3;
  return LayerWeights{kernel_, bias_, kUnitAxis, convolution()};
}

std::unique_ptr<Layer> Conv2D::with_activation(Activation activation) const {
  if (activation_ != Activation::none || quantizes_before(activation)) return nullptr;
  auto changed = std::make_unique<Conv2D>(*this);
  changed->activation_ = activation;
  return changed;
}

std::int32_t Conv2D::lower(Lowering& lowering, std::span<const std::int32_t> inputs) const {
  if (!quantizes_before(activation_)) {
    return lowering.linear(*this, inputs[0], fused_activation(activation_));
  }
  const std::int32_t linear = lowering.linear(*this, inputs[0], FusedActivation::none, "/linear");
  return lowering.op(*this, operator_of(activation_), {linear});
}

void Conv2D::describe(Description& description) const {
  description.set("filters", filters_)
      .set("kernel_size", as_shape(kernel_size_))
      .set("strides", as_shape(options_.strides))
      .set("dilation", as_shape(options_.dilation))
      .set("padding", to_string(options_.padding))
      .set("groups", options_.groups)
      .set("activation", to_string(activation_))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> Conv2D::kernel_shape(const Shape& input_shape) const {
  const Index channels = input_shape.rank() == 3 ? input_shape[2] : 0;
  return Shape{kernel_size_[0], kernel_size_[1], channels / options_.groups, filters_};
}

std::unique_ptr<Layer> Conv2D::clone() const {
  auto copy = std::make_unique<Conv2D>(*this);
  copy->kernel_ = clone_leaf(kernel_);
  copy->bias_ = clone_leaf(bias_);
  return copy;
}

Shape Conv2D::do_build(const Shape& input_shape, const Random& random) {
  if (input_shape.rank() != 3) {
    throw InvalidArgument(
        fmt::format("Conv2D \"{}\": expected images [height, width, channels], found shape {}; put "
                    "a Reshape layer in front",
                    name(), input_shape.to_string()));
  }
  const Index channels = input_shape[2];
  if (channels < 1 || channels % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("Conv2D \"{}\": expected channels that its {} groups divide, found {}", name(),
                    options_.groups, channels));
  }
  const Index taps = kernel_size_[0] * kernel_size_[1];
  const Shape shape = *kernel_shape(input_shape);
  kernel_ = initialize(options_.kernel_initializer, shape, taps * shape[2],
                       taps * filters_ / options_.groups, random);
  kernel_.set_requires_grad(true);
  if (options_.use_bias) bias_ = Tensor::zeros({filters_}).set_requires_grad(true);
  return conv2d_geometry(Tensor(input_shape.with_batch(0)), kernel_, convolution())
      .output_shape()
      .without_batch();
}

std::unique_ptr<Layer> Conv2D::make(const Description& d) {
  return std::make_unique<Conv2D>(d.integer("filters"), pair_in(d, "kernel_size"),
                                  parse_activation(d.text("activation")),
                                  Conv2DLayerOptions{.strides = pair_in(d, "strides"),
                                                     .dilation = pair_in(d, "dilation"),
                                                     .padding = parse_padding(d.text("padding")),
                                                     .groups = d.integer("groups"),
                                                     .use_bias = d.flag("use_bias")});
}

}  // namespace octet
