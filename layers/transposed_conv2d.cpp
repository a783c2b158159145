#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/image_layer.h>
#include <octet/layers/transposed_conv2d.h>

#include <utility>

namespace octet {
namespace {

/// From [height, width, filters, channels] to [height, width, channels, filters], and back.
Tensor swapped(const Tensor& kernel) { return permute(kernel, {0, 1, 3, 2}); }

}  // namespace

using detail::as_shape;
using detail::pair_in;
using detail::require_above_0;

TransposedConv2D::TransposedConv2D(Index filters, std::array<Index, 2> kernel_size,
                                   Activation activation, TransposedConv2DLayerOptions options)
    : KernelLayer(options.name, activation),
      filters_(filters),
      kernel_size_(kernel_size),
      options_(std::move(options)) {
  if (filters_ <= 0) {
    throw InvalidArgument(
        fmt::format("TransposedConv2D: expected at least 1 filter, found {}", filters_));
  }
  require_above_0(kType, "a kernel size", kernel_size_);
  require_above_0(kType, "strides", options_.strides);
}

TransposedConv2DOptions TransposedConv2D::convolution() const {
  return {.stride = options_.strides, .padding = options_.padding};
}

std::optional<LayerWeights> TransposedConv2D::weights() const {
  constexpr int kUnitAxis = 3;
  LayerWeights weights{kernel().defined() ? swapped(kernel()) : Tensor(), bias(), kUnitAxis,
                       Conv2DOptions{.stride = options_.strides, .padding = options_.padding}};
  weights.transposed = true;
  return weights;
}

void TransposedConv2D::describe(Description& description) const {
  description.set("filters", filters_)
      .set("kernel_size", as_shape(kernel_size_))
      .set("strides", as_shape(options_.strides))
      .set("padding", to_string(options_.padding))
      .set("activation", to_string(activation()))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> TransposedConv2D::kernel_shape(const Shape& input_shape) const {
  const Index channels = input_shape.rank() == 3 ? input_shape[2] : 0;
  return Shape{kernel_size_[0], kernel_size_[1], filters_, channels};
}

void TransposedConv2D::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_images(*this, input_shape);
  const Index channels = input_shape[2];
  if (channels < 1) {
    throw InvalidArgument(fmt::format(
        "TransposedConv2D \"{}\": expected at least 1 channel, found {}", name(), channels));
  }
  const Shape shape = checked_kernel_shape(input_shape);
  const Index taps = kernel_size_[0] * kernel_size_[1];
  make_kernel(options_.kernel_initializer, shape, taps * filters_, taps * channels,
              options_.use_bias ? filters_ : 0, random);
}

std::unique_ptr<Layer> TransposedConv2D::make(const Description& d) {
  return std::make_unique<TransposedConv2D>(
      d.integer("filters"), pair_in(d, "kernel_size"), parse_activation(d.text("activation")),
      TransposedConv2DLayerOptions{.strides = pair_in(d, "strides"),
                                   .padding = parse_padding(d.text("padding")),
                                   .use_bias = d.flag("use_bias")});
}

}  // namespace octet
