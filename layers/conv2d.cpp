#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/image_layer.h>

namespace octet {

using detail::as_shape;
using detail::pair_in;
using detail::require_above_0;

Conv2D::Conv2D(Index filters, std::array<Index, 2> kernel_size, Activation activation,
               Conv2DLayerOptions options)
    : KernelLayer(options.name, activation),
      filters_(filters),
      kernel_size_(kernel_size),
      options_(std::move(options)) {
  if (filters_ <= 0) {
    throw InvalidArgument(fmt::format("Conv2D: expected at least 1 filter, found {}", filters_));
  }
  require_above_0(kType, "a kernel size", kernel_size_);
  require_above_0(kType, "strides", options_.strides);
  require_above_0(kType, "a dilation", options_.dilation);
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

std::optional<LayerWeights> Conv2D::weights() const {
  constexpr int kUnitAxis = 3;
  return LayerWeights{kernel(), bias(), kUnitAxis, convolution()};
}

void Conv2D::describe(Description& description) const {
  description.set("filters", filters_)
      .set("kernel_size", as_shape(kernel_size_))
      .set("strides", as_shape(options_.strides))
      .set("dilation", as_shape(options_.dilation))
      .set("padding", to_string(options_.padding))
      .set("groups", options_.groups)
      .set("activation", to_string(activation()))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> Conv2D::kernel_shape(const Shape& input_shape) const {
  const Index channels = input_shape.rank() == 3 ? input_shape[2] : 0;
  return Shape{kernel_size_[0], kernel_size_[1], channels / options_.groups, filters_};
}

void Conv2D::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_images(*this, input_shape);
  const Index channels = input_shape[2];
  if (channels < 1 || channels % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("Conv2D \"{}\": expected channels that its {} groups divide, found {}", name(),
                    options_.groups, channels));
  }
  const Shape shape = checked_kernel_shape(input_shape);
  const Index taps = kernel_size_[0] * kernel_size_[1];
  make_kernel(options_.kernel_initializer, shape, taps * shape[2],
              taps * filters_ / options_.groups, options_.use_bias ? filters_ : 0, random);
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
