#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/slice.h>
#include <octet/layers/transposed_conv2d.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

/// Kernel [filters, channels / groups, height, width] as [height, width, channels / groups,
/// filters].
Tensor kernel_of(const Constant& weights, const Shape& shape) {
  const Index filters = weights.shape[0];
  const Index channels = weights.shape[1];
  const Index taps = filters * channels == 0 ? 0 : shape.size() / (filters * channels);
  Tensor kernel(shape);
  const std::vector<float>& from = weights.floats();
  float* to = kernel.mutable_data();
  for (Index f = 0; f < filters; ++f) {
    for (Index c = 0; c < channels; ++c) {
      for (Index t = 0; t < taps; ++t) {
        to[(t * channels + c) * filters + f] = from[at((f * channels + c) * taps + t)];
      }
    }
  }
  return kernel;
}

/// Appends the bias, where there is one. Returns whether there is.
bool add_bias(const Builder& builder, const Node& node, Index filters, Weights& weights) {
  const Constant* bias = builder.constant(node, 2);
  if (bias == nullptr) return false;
  if (bias->shape != Shape{filters}) {
    refuse("expected a bias of {}, found {}", filters, bias->shape.to_string());
  }
  weights.emplace_back("bias", Tensor::from(bias->shape, bias->floats()));
  return true;
}

/// The groups, which `channels` and the kernel have to fit.
Index groups_of(const Node& node, const Constant& weights, Index channels) {
  const Index groups = node.integer("group", 1);
  const Shape& shape = weights.shape;
  if (weights.floats().empty() || groups < 1 || channels % groups != 0 ||
      shape[1] != channels / groups || shape[0] % groups != 0) {
    refuse("expected a kernel [filters, {} channels / {} groups, ...], found {}", channels, groups,
           shape.to_string());
  }
  const auto size = node.integers("kernel_shape");
  if (!size.empty() && !std::ranges::equal(size, shape.dims().subspan(2))) {
    refuse("expected kernel_shape to be that of the weights {}, found [{}]", shape.to_string(),
           fmt::join(size, ", "));
  }
  return groups;
}

Imported import_sequence_conv(Builder& builder, const Node& node, const Constant& weights) {
  if (builder.input(node, 0).logical.rank() != 2) {
    refuse("expected sequences [batch, channels, steps]");
  }
  Imported x = builder.arranged(node, builder.input(node, 0), kSequenceAxes);
  const Index groups = groups_of(node, weights, x.logical[0]);
  const Shape kernel = {weights.shape[2], weights.shape[1], weights.shape[0]};
  const WindowOptions window = window_of(node, {1, kernel[0]}, {1, x.logical[1]}, 1);
  Padding padding = window.padding.value_or(Padding::valid);
  if (!window.padding.has_value()) {
    const bool looks_back = window.around.left == (kernel[0] - 1) * window.dilations[1];
    if (looks_back && window.around.right == 0) {
      padding = Padding::causal;
    } else {
      x = builder.padded(node, x, window.around);
    }
  }
  Weights tensors = {{"kernel", kernel_of(weights, kernel)}};
  const bool bias = add_bias(builder, node, kernel[2], tensors);
  auto layer = std::make_unique<Conv1D>(kernel[2], kernel[0], Activation::none,
                                        Conv1DLayerOptions{.stride = window.strides[1],
                                                           .dilation = window.dilations[1],
                                                           .padding = padding,
                                                           .groups = groups,
                                                           .use_bias = bias});
  return builder.add(node, std::move(layer), {x}, kSequenceAxes, std::move(tensors));
}

/// The layer of a convolution of images.
std::unique_ptr<Layer> image_layer(const Shape& kernel, const WindowOptions& window, Index groups,
                                   bool depthwise, bool bias) {
  const std::array size = {kernel[0], kernel[1]};
  const Padding padding = window.padding.value_or(Padding::valid);
  if (depthwise) {
    return std::make_unique<DepthwiseConv2D>(
        size, Activation::none,
        DepthwiseConv2DLayerOptions{.strides = window.strides,
                                    .dilation = window.dilations,
                                    .padding = padding,
                                    .depth_multiplier = kernel[3],
                                    .use_bias = bias});
  }
  return std::make_unique<Conv2D>(kernel[3], size, Activation::none,
                                  Conv2DLayerOptions{.strides = window.strides,
                                                     .dilation = window.dilations,
                                                     .padding = padding,
                                                     .groups = groups,
                                                     .use_bias = bias});
}

Imported import_conv(Builder& builder, const Node& node) {
  const Constant& weights = builder.required_constant(node, 1);
  if (weights.shape.rank() == 3) return import_sequence_conv(builder, node, weights);
  if (weights.shape.rank() != 4) {
    refuse("expected a kernel over images or sequences, found {}", weights.shape.to_string());
  }
  Imported x = builder.image(node, builder.input(node, 0));
  const Index channels = x.logical[0];
  const Index groups = groups_of(node, weights, channels);
  const Shape& shape = weights.shape;
  const bool depthwise = groups == channels && groups > 1;
  // Filter c * multiplier + m reads channel c: [h, w, 1, filters] is [h, w, channels, multiplier].
  const Shape kernel = depthwise ? Shape{shape[2], shape[3], channels, shape[0] / channels}
                                 : Shape{shape[2], shape[3], shape[1], shape[0]};
  const WindowOptions window =
      window_of(node, {shape[2], shape[3]}, {x.logical[1], x.logical[2]}, 2);
  Weights tensors = {{"kernel", kernel_of(weights, kernel)}};
  const bool bias = add_bias(builder, node, shape[0], tensors);
  if (!window.padding.has_value()) x = builder.padded(node, x, window.around);
  return builder.add(node, image_layer(kernel, window, groups, depthwise, bias), {x}, kImageAxes,
                     std::move(tensors));
}

/// How many rows and columns of a transposed convolution's result are cut off in front and behind.
/// Throws where there are fewer than asked for.
Padding2D cut_around(const Node& node, const Shape& kernel, const std::array<Index, 2>& strides,
                     const Imported& x) {
  std::array<std::vector<std::int64_t>, 3> lists = {
      node.integers("pads"), node.integers("output_padding"), node.integers("output_shape")};
  auto& [pads, more, shape] = lists;
  pads.resize(4);
  more.resize(2);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  std::array<std::array<Index, 2>, 2> cut{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Index in = x.logical[static_cast<Index>(i) + 1];
    const Index full = (in - 1) * strides[i] + kernel[static_cast<Index>(i)];
    cut[i] = {pads[i], pads[i + 2] - more[i]};
    const bool has_shape = shape.size() >= 2;
    if (has_shape || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const Index out = has_shape ? shape[shape.size() - 2 + i] : in * strides[i];
      const Index rest = full - out;
      const Index half = rest / 2;
      cut[i] =
          automatic == "SAME_UPPER" ? std::array{half, rest - half} : std::array{rest - half, half};
    }
    const auto fits = [full](Index n) { return n >= 0 && n < full; };
    if (!fits(cut[i][0]) || !fits(cut[i][1]) || cut[i][0] + cut[i][1] >= full) {
      refuse(
          "expected a result that lies within the {} rows or columns of its kernel, found {} cut "
          "off in front and {} behind",
          full, cut[i][0], cut[i][1]);
    }
  }
  return {.top = cut[0][0], .bottom = cut[0][1], .left = cut[1][0], .right = cut[1][1]};
}

Imported import_conv_transpose(Builder& builder, const Node& node) {
  const Constant& weights = builder.required_constant(node, 1);
  const Shape& from = weights.shape;
  const Imported x = builder.image(node, builder.input(node, 0));
  const auto numbers = [&](std::string_view key) {
    std::vector<std::int64_t> given = node.integers(key);
    given.resize(2, 1);
    return std::array<Index, 2>{given[0], given[1]};
  };
  const std::array<Index, 2> strides = numbers("strides");
  const auto is_number = [](Index n) { return n > 0 && n < (Index{1} << 31); };
  if (from.rank() != 4 || weights.floats().empty() || from[0] != x.logical[0] ||
      node.integer("group", 1) != 1 || numbers("dilations") != std::array<Index, 2>{1, 1} ||
      !std::ranges::all_of(strides, is_number)) {
    refuse(
        "expected a kernel [{} channels, filters, height, width] of one group, without dilation, "
        "found {} and {} groups",
        x.logical[0], from.to_string(), node.integer("group", 1));
  }
  const Index filters = from[1];
  // [channels, filters, height, width] as [height, width, filters, channels].
  Weights tensors = {{"kernel", kernel_of(weights, {from[2], from[3], filters, from[0]})}};
  const bool bias = add_bias(builder, node, filters, tensors);
  const Padding2D around = cut_around(node, {from[2], from[3]}, strides, x);
  auto layer = std::make_unique<TransposedConv2D>(
      filters, std::array{from[2], from[3]}, Activation::none,
      TransposedConv2DLayerOptions{.strides = strides, .use_bias = bias});
  Imported result = builder.add(node, std::move(layer), {x}, kImageAxes, std::move(tensors));
  const auto kept = [&](Index axis, Index before, Index behind) {
    if (before == 0 && behind == 0) return;
    const Index size = result.physical[axis] - before - behind;
    const Slice slice({.axis = axis, .begin = before, .size = size});
    Node part;
    part.name = node.name + "/cut";
    result = builder.add(part, slice.clone(), {result}, kImageAxes);
  };
  // Octet's VALID has strides - kernel rows more where these are larger.
  const Shape full = {(x.logical[1] - 1) * strides[0] + from[2],
                      (x.logical[2] - 1) * strides[1] + from[3]};
  kept(0, around.top, around.bottom + result.physical[0] - full[0]);
  kept(1, around.left, around.right + result.physical[1] - full[1]);
  return result;
}

Imported import_batch_norm(Builder& builder, const Node& node) {
  if (node.integer("training_mode", 0) != 0) {
    refuse("normalizes by the batch: export the model in eval mode");
  }
  if (node.integer("spatial", 1) != 1) refuse("normalizes each pixel by itself (spatial 0)");
  const Imported& input = builder.input(node, 0);
  Imported x = input;
  if (input.logical.rank() == 3) {
    x = builder.image(node, input);
  } else if (input.logical.rank() == 2) {
    x = builder.arranged(node, input, kSequenceAxes);
  } else {
    x = builder.vector(node, input);
  }
  const Index channels = x.logical[0];
  for (std::size_t i = 1; i < 5; ++i) {
    const Shape& found = builder.required_constant(node, i).shape;
    if (found != Shape{channels}) {
      refuse("expected {} numbers as input {}, found {}", channels, i, found.to_string());
    }
  }
  Weights tensors;
  constexpr std::array<std::string_view, 4> kNames = {"gamma", "beta", "moving_mean",
                                                      "moving_variance"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    tensors.emplace_back(kNames[i], channels_of(builder.required_constant(node, i + 1), x));
  }
  auto layer = std::make_unique<BatchNorm>(BatchNormOptions{
      .momentum = node.real("momentum", 0.9F), .epsilon = node.real("epsilon", 1e-5F)});
  return elementwise(builder, node, std::move(layer), x, false, std::move(tensors));
}

constexpr std::array<Operator, 3> kConvolutions = {{{"BatchNormalization", import_batch_norm},
                                                    {"Conv", import_conv},
                                                    {"ConvTranspose", import_conv_transpose}}};

}  // namespace

std::span<const Operator> convolution_operators() { return kConvolutions; }

}  // namespace octet::detail::onnx_import
