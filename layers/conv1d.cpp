#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/image_layer.h>

namespace octet {
namespace {

void require_above_0(std::string_view what, Index number) {
  if (number > 0) return;
  throw InvalidArgument(fmt::format("Conv1D: expected {} above 0, found {}", what, number));
}

}  // namespace

Conv1D::Conv1D(Index filters, Index kernel_size, Activation activation, Conv1DLayerOptions options)
    : KernelLayer(options.name, activation),
      filters_(filters),
      kernel_size_(kernel_size),
      options_(std::move(options)) {
  require_above_0("a number of filters", filters_);
  require_above_0("a kernel size", kernel_size_);
  require_above_0("a stride", options_.stride);
  require_above_0("a dilation", options_.dilation);
  if (options_.groups <= 0 || filters_ % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("Conv1D: expected a number of groups that divides the {} filters, found {}",
                    filters_, options_.groups));
  }
}

Conv2DOptions Conv1D::convolution() const {
  return {.stride = {1, options_.stride},
          .dilation = {1, options_.dilation},
          .padding = options_.padding,
          .groups = options_.groups};
}

Shape Conv1D::image_kernel_shape() const {
  const Shape& shape = kernel().shape();
  return {1, shape[0], shape[1], shape[2]};
}

std::optional<LayerWeights> Conv1D::weights() const {
  constexpr int kUnitAxis = 3;
  const Tensor seen = kernel().defined() ? kernel().reshape(image_kernel_shape()) : Tensor();
  return LayerWeights{seen, bias(), kUnitAxis, convolution()};
}

void Conv1D::describe(Description& description) const {
  description.set("filters", filters_)
      .set("kernel_size", kernel_size_)
      .set("stride", options_.stride)
      .set("dilation", options_.dilation)
      .set("padding", to_string(options_.padding))
      .set("groups", options_.groups)
      .set("activation", to_string(activation()))
      .set("use_bias", options_.use_bias);
}

std::optional<Shape> Conv1D::kernel_shape(const Shape& input_shape) const {
  const Index channels = input_shape.rank() == 2 ? input_shape[1] : 0;
  return Shape{kernel_size_, channels / options_.groups, filters_};
}

void Conv1D::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_sequences(*this, input_shape);
  const Index channels = input_shape[1];
  if (channels < 1 || channels % options_.groups != 0) {
    throw InvalidArgument(
        fmt::format("Conv1D \"{}\": expected channels that its {} groups divide, found {}", name(),
                    options_.groups, channels));
  }
  const Shape shape = checked_kernel_shape(input_shape);
  make_kernel(options_.kernel_initializer, shape, kernel_size_ * shape[1],
              kernel_size_ * filters_ / options_.groups, options_.use_bias ? filters_ : 0, random);
}

std::unique_ptr<Layer> Conv1D::make(const Description& d) {
  return std::make_unique<Conv1D>(d.integer("filters"), d.integer("kernel_size"),
                                  parse_activation(d.text("activation")),
                                  Conv1DLayerOptions{.stride = d.integer("stride"),
                                                     .dilation = d.integer("dilation"),
                                                     .padding = parse_padding(d.text("padding")),
                                                     .groups = d.integer("groups"),
                                                     .use_bias = d.flag("use_bias")});
}

}  // namespace octet
