#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/batch_norm.h>
#include <octet/layers/conv1d.h>
#include <octet/layers/conv2d.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/slice.h>
#include <octet/layers/transposed_conv2d.h>

#include <algorithm>
#include <optional>
#include <utility>

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

/// A transposed convolution over images; sequences have height 1. Pairs are height, width.
struct Transposed {
  std::array<Index, 2> image;
  Index channels;
  Index filters;
  Index groups;
  /// The kernel's extents in the file, and with the zeros of the dilation.
  std::array<Index, 2> taps;
  std::array<Index, 2> size;
  std::array<Index, 2> strides;
  std::array<Index, 2> dilations;
  /// The extents of the whole result, of which ONNX cuts off pads.
  std::array<Index, 2> full;
};

Transposed transposed_of(const Node& node, const Constant& weights, const Imported& x) {
  const Shape& from = weights.shape;
  const auto axes = static_cast<std::size_t>(x.logical.rank() - 1);
  const auto last_two = [&](const Shape& shape) {
    return std::array<Index, 2>{axes == 2 ? shape.dim(-2) : 1, shape.dim(-1)};
  };
  const Index groups = node.integer("group", 1);
  if (from.rank() != x.logical.rank() + 1 || weights.floats().empty() || from[0] != x.logical[0] ||
      groups < 1 || from[0] % groups != 0) {
    refuse("expected a kernel [{} channels, filters / {} groups, ...], found {}", x.logical[0],
           groups, from.to_string());
  }
  Transposed t{.image = last_two(x.logical),
               .channels = from[0],
               .filters = from[1] * groups,
               .groups = groups,
               .taps = last_two(from),
               .size = {},
               .strides = pair_of(node, "strides", axes, 1),
               .dilations = pair_of(node, "dilations", axes, 1),
               .full = {}};
  for (std::size_t i = 0; i < 2; ++i) {
    t.size[i] = (t.taps[i] - 1) * t.dilations[i] + 1;
    t.full[i] = (t.image[i] - 1) * t.strides[i] + t.size[i];
  }
  return t;
}

/// [channels, filters of a group, height, width] as [height, width, filters, channels], with zeros
/// for what a dilation leaves out and between channels and filters of different groups, of which
/// Octet has none.
Tensor transposed_kernel(const Constant& weights, const Transposed& t, const Shape& shape) {
  Tensor kernel = Tensor::zeros(shape);
  const std::vector<float>& from = weights.floats();
  float* to = kernel.mutable_data();
  const Index each = t.filters / t.groups;
  std::size_t next = 0;
  for (Index c = 0; c < t.channels; ++c) {
    const Index first = c / (t.channels / t.groups) * each;
    for (Index f = first; f < first + each; ++f) {
      for (Index y = 0; y < t.size[0]; y += t.dilations[0]) {
        for (Index x = 0; x < t.size[1]; x += t.dilations[1]) {
          to[((y * t.size[1] + x) * t.filters + f) * t.channels + c] = from[next++];
        }
      }
    }
  }
  return kernel;
}

/// The height and width that "output_shape" asks for, which may have batch and channels in front.
std::optional<std::array<Index, 2>> asked_size(const Node& node, std::size_t axes) {
  std::vector<std::int64_t> extents = node.integers("output_shape");
  if (extents.empty()) return std::nullopt;
  if (extents.size() == axes + 2) extents.erase(extents.begin(), extents.begin() + 2);
  Node size;
  size.attributes.insert_or_assign("output_shape", std::move(extents));
  return pair_of(size, "output_shape", axes, 1);
}

/// How many rows and columns of a transposed convolution's result are cut off in front and behind.
/// Throws where there are fewer than asked for.
Padding2D cut_around(const Node& node, const Transposed& t, std::size_t axes) {
  auto cut = pads_of(node, axes);
  const std::array<Index, 2> more = pair_of(node, "output_padding", axes, 0);
  const auto asked = asked_size(node, axes);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  for (std::size_t i = 0; i < 2; ++i) {
    if (asked || same) {
      const Index out = asked ? (*asked)[i] : t.image[i] * t.strides[i];
      const Index rest = t.full[i] + more[i] - out;
      const Index front = automatic == "SAME_UPPER" ? rest / 2 : rest - rest / 2;
      cut[i] = {front, rest - front};
    }
    cut[i][1] -= more[i];
    const auto fits = [&](Index n) { return n >= 0 && n < t.full[i]; };
    if (!fits(cut[i][0]) || !fits(cut[i][1]) || cut[i][0] + cut[i][1] >= t.full[i]) {
      refuse(
          "expected a result that lies within the {} rows or columns of its kernel, found {} cut "
          "off in front and {} behind",
          t.full[i], cut[i][0], cut[i][1]);
    }
  }
  return {.top = cut[0][0], .bottom = cut[0][1], .left = cut[1][0], .right = cut[1][1]};
}

Imported import_conv_transpose(Builder& builder, const Node& node) {
  const Constant& weights = builder.required_constant(node, 1);
  Imported x = builder.input(node, 0);
  const Index rank = x.logical.rank();
  if (rank != 2 && rank != 3) {
    refuse("expected images or sequences, found [batch, {}]", fmt::join(x.logical, ", "));
  }
  // Sequences are images of one row.
  const std::vector<Index> axes = rank == 3 ? kImageAxes : std::vector<Index>{-1, 1, 0};
  x = builder.arranged(node, x, axes);
  const Transposed t = transposed_of(node, weights, x);
  const Padding2D around = cut_around(node, t, static_cast<std::size_t>(rank - 1));
  const Shape kernel = {t.size[0], t.size[1], t.filters, t.channels};
  if (kernel != Shape{t.taps[0], t.taps[1], weights.shape[1], t.channels}) {
    builder.fill(static_cast<std::size_t>(kernel.size()));
  }
  Weights tensors = {{"kernel", transposed_kernel(weights, t, kernel)}};
  const bool bias = add_bias(builder, node, t.filters, tensors);
  auto layer = std::make_unique<TransposedConv2D>(
      t.filters, t.size, Activation::none,
      TransposedConv2DLayerOptions{.strides = t.strides, .use_bias = bias});
  Imported result = builder.add(node, std::move(layer), {x}, axes, std::move(tensors));
  const auto kept = [&](Index axis, Index before, Index behind) {
    if (before == 0 && behind == 0) return;
    const Index size = result.physical[axis] - before - behind;
    const Slice slice({.axis = axis, .begin = before, .size = size});
    Node part;
    part.name = node.name + "/cut";
    result = builder.add(part, slice.clone(), {result}, axes);
  };
  // Octet's VALID has strides - kernel rows more where these are larger.
  kept(0, around.top, around.bottom + result.physical[0] - t.full[0]);
  kept(1, around.left, around.right + result.physical[1] - t.full[1]);
  return rank == 3 ? result : builder.arranged(node, result, kSequenceAxes);
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
