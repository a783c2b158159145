#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/image_layer.h>

#include <utility>

namespace octet {

using detail::require_above_0;

namespace {

/// Options that both layers have, of what SequenceConvolution::describe() wrote.
template <class Options>
Options options_in(const Description& d) {
  Options options;
  options.stride = d.integer("stride");
  options.dilation = d.integer("dilation");
  options.padding = parse_padding(d.text("padding"));
  options.use_bias = d.flag("use_bias");
  return options;
}

/// The channels of sequences; 0 of other examples.
Index channels_of(const Shape& sequences) { return sequences.rank() == 2 ? sequences[1] : 0; }

}  // namespace

SequenceConvolution::SequenceConvolution(std::string_view type, std::string name,
                                         Activation activation, Index kernel_size,
                                         Conv2DOptions along, bool is_depthwise, bool use_bias,
                                         Initializer kernel_initializer)
    : KernelLayer(std::move(name), activation),
      kernel_size_(kernel_size),
      along_(along),
      is_depthwise_(is_depthwise),
      use_bias_(use_bias),
      kernel_initializer_(kernel_initializer) {
  require_above_0(type, "a kernel size", kernel_size_);
  require_above_0(type, "a stride", along_.stride[1]);
  require_above_0(type, "a dilation", along_.dilation[1]);
}

std::optional<LayerWeights> SequenceConvolution::weights() const {
  constexpr int kUnitAxis = 3;
  LayerWeights seen{Tensor(), bias(), kUnitAxis, along_, is_depthwise_};
  if (!kernel().defined()) return seen;
  const Shape& shape = kernel().shape();
  if (is_depthwise_) seen.convolution->groups = shape[1];
  seen.kernel = kernel().reshape(is_depthwise_ ? Shape{1, shape[0], 1, shape[1] * shape[2]}
                                               : Shape{1, shape[0], shape[1], shape[2]});
  return seen;
}

void SequenceConvolution::describe(Description& description) const {
  description.set("kernel_size", kernel_size_)
      .set("stride", along_.stride[1])
      .set("dilation", along_.dilation[1])
      .set("padding", to_string(along_.padding))
      .set("activation", to_string(activation()))
      .set("use_bias", use_bias_);
}

void SequenceConvolution::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  detail::require_sequences(*this, input_shape);
  if (input_shape[1] < 1) {
    throw InvalidArgument(fmt::format("{} \"{}\": expected at least 1 channel, found {}", type(),
                                      name(), input_shape[1]));
  }
  const Shape shape = checked_kernel_shape(input_shape);
  const Index filters = is_depthwise_ ? shape[1] * shape[2] : shape[2];
  const Index fan_in = is_depthwise_ ? shape[0] : shape[0] * shape[1];
  const Index fan_out = is_depthwise_ ? shape[0] * shape[2] : shape[0] * filters / along_.groups;
  make_kernel(kernel_initializer_, shape, fan_in, fan_out, use_bias_ ? filters : 0, random);
}

Conv1D::Conv1D(Index filters, Index kernel_size, Activation activation,
               const Conv1DLayerOptions& options)
    : SequenceConvolution(kType, options.name, activation, kernel_size,
                          {.stride = {1, options.stride},
                           .dilation = {1, options.dilation},
                           .padding = options.padding,
                           .groups = options.groups},
                          /*is_depthwise=*/false, options.use_bias, options.kernel_initializer),
      filters_(filters) {
  require_above_0(kType, "a number of filters", filters_);
  if (options.groups > 0 && filters_ % options.groups == 0) return;
  throw InvalidArgument(
      fmt::format("Conv1D: expected a number of groups that divides the {} filters, found {}",
                  filters_, options.groups));
}

void Conv1D::describe(Description& description) const {
  SequenceConvolution::describe(description);
  description.set("filters", filters_).set("groups", along().groups);
}

std::optional<Shape> Conv1D::kernel_shape(const Shape& input_shape) const {
  return Shape{kernel_size(), channels_of(input_shape) / along().groups, filters_};
}

void Conv1D::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  const Shape& input_shape = input_shapes[0];
  if (channels_of(input_shape) % along().groups == 0) {
    return SequenceConvolution::make_tensors(input_shapes, random);
  }
  throw InvalidArgument(
      fmt::format("Conv1D \"{}\": expected channels that its {} groups divide, found {}", name(),
                  along().groups, channels_of(input_shape)));
}

std::unique_ptr<Layer> Conv1D::make(const Description& d) {
  auto options = options_in<Conv1DLayerOptions>(d);
  options.groups = d.integer("groups");
  return std::make_unique<Conv1D>(d.integer("filters"), d.integer("kernel_size"),
                                  parse_activation(d.text("activation")), options);
}

DepthwiseConv1D::DepthwiseConv1D(Index kernel_size, Activation activation,
                                 const DepthwiseConv1DOptions& options)
    : SequenceConvolution(kType, options.name, activation, kernel_size,
                          {.stride = {1, options.stride},
                           .dilation = {1, options.dilation},
                           .padding = options.padding},
                          /*is_depthwise=*/true, options.use_bias, options.kernel_initializer),
      depth_multiplier_(options.depth_multiplier) {
  require_above_0(kType, "a depth multiplier", depth_multiplier_);
}

void DepthwiseConv1D::describe(Description& description) const {
  SequenceConvolution::describe(description);
  description.set("depth_multiplier", depth_multiplier_);
}

std::optional<Shape> DepthwiseConv1D::kernel_shape(const Shape& input_shape) const {
  return Shape{kernel_size(), channels_of(input_shape), depth_multiplier_};
}

std::unique_ptr<Layer> DepthwiseConv1D::make(const Description& d) {
  auto options = options_in<DepthwiseConv1DOptions>(d);
  options.depth_multiplier = d.integer("depth_multiplier");
  return std::make_unique<DepthwiseConv1D>(d.integer("kernel_size"),
                                           parse_activation(d.text("activation")), options);
}

}  // namespace octet
