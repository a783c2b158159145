#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/image_layer.h>

namespace octet {

using detail::as_shape;
using detail::pair_in;
using detail::require_above_0;

DepthwiseConv2D::DepthwiseConv2D(std::array<Index, 2> kernel_size, Activation activation,
                                 DepthwiseConv2DLayerOptions options)
    : KernelLayer(options.name, activation),
      kernel_size_(kernel_size),
      options_(std::move(options)) {
  require_above_0(kType, "a kernel size", kernel_size_);
  require_above_0(kType, "strides", options_.strides);
  require_above_0(kType, "a dilation", options_.dilation);
  if (options_.depth_multiplier <= 0) {
    throw InvalidArgument(
        fmt::format("DepthwiseConv2D: expected a depth multiplier above 0, found {}",
                    options_.depth_multiplier));
  }
}

DepthwiseConv2DOptions DepthwiseConv2D::convolution() const {
  return {.stride = options_.strides, .dilation = options_.dilation, .padding = options_.padding};
}

std::optional<LayerWeights> DepthwiseConv2D::weights() const {
  constexpr int kUnitAxis = 3;
  Conv2DOptions convolution{
      .stride = options_.strides, .dilation = options_.dilation, .padding = options_.padding};
  Tensor seen;
  if (kernel().defined()) {
    const Shape& shape = kernel().shape();
    convolution.groups = shape[2];
    seen = kernel().reshape({shape[0], shape[1], 1, shape[2] * shape[3]});
  }
  return LayerWeights{seen, bias(), kUnitAxis, convolution, /*depthwise=*/true};
}

void DepthwiseConv2D::describe(Description& description) const {
  description.set("kernel_size", as_shape(kernel_size_))
      .set("strides", as_shape(options_.strides))
      .set("dilation", as_shape(options_.dilation))
      .set("padding", to_string(options_.padding))
      .set("depth_multiplier", options_.depth_multiplier)
      .set("activation", to_string(activation()))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> DepthwiseConv2D::kernel_shape(const Shape& input_shape) const {
  const Index channels = input_shape.rank() == 3 ? input_shape[2] : 0;
  return Shape{kernel_size_[0], kernel_size_[1], channels, options_.depth_multiplier};
}

void DepthwiseConv2D::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_images(*this, input_shape);
  const Index channels = input_shape[2];
  if (channels < 1) {
    throw InvalidArgument(fmt::format(
        "DepthwiseConv2D \"{}\": expected at least 1 channel, found {}", name(), channels));
  }
  const Shape shape = checked_kernel_shape(input_shape);
  const Index taps = kernel_size_[0] * kernel_size_[1];
  const Index units = channels * options_.depth_multiplier;
  make_kernel(options_.kernel_initializer, shape, taps, taps * options_.depth_multiplier,
              options_.use_bias ? units : 0, random);
}

std::unique_ptr<Layer> DepthwiseConv2D::make(const Description& d) {
  return std::make_unique<DepthwiseConv2D>(
      pair_in(d, "kernel_size"), parse_activation(d.text("activation")),
      DepthwiseConv2DLayerOptions{.strides = pair_in(d, "strides"),
                                  .dilation = pair_in(d, "dilation"),
                                  .padding = parse_padding(d.text("padding")),
                                  .depth_multiplier = d.integer("depth_multiplier"),
                                  .use_bias = d.flag("use_bias")});
}

}  // namespace octet
