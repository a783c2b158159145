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

/// A transposed convolution over images; sequences have height 1.
struct Transposed {
  std::array<Index, 2> image;
  Index channels;
  Index filters;
  Index groups;
  /// The kernel's height and width, without and with what a dilation leaves out.
  std::array<Index, 2> taps;
  std::array<Index, 2> size;
  std::array<Index, 2> strides;
  std::array<Index, 2> dilations;
};

/// The list `key`, `axes` numbers for each of its ends, and `otherwise` where the node has none.
/// Sequences get a height of 1 in front of their steps. Throws for a list of another length.
std::vector<std::int64_t> numbers_of(const Node& node, std::string_view key, std::size_t axes,
                                     std::size_t ends, std::int64_t otherwise) {
  std::vector<std::int64_t> given = node.integers(key);
  if (given.empty()) given.assign(axes * ends, otherwise);
  if (given.size() != axes * ends) {
    refuse("expected {} numbers as {}, found {}", axes * ends, key, given.size());
  }
  for (std::size_t end = 0; axes == 1 && end < ends; ++end) {
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(2 * end), otherwise);
  }
  return given;
}

Transposed transposed_of(const Node& node, const Constant& weights, const Imported& x) {
  const Shape& from = weights.shape;
  const auto axes = static_cast<std::size_t>(x.logical.rank() - 1);
  const auto pair = [&](std::string_view key) {
    const std::vector<std::int64_t> given = numbers_of(node, key, axes, 1, 1);
    return std::array<Index, 2>{given[0], given[1]};
  };
  const auto last_two = [&](const Shape& shape) {
    return std::array<Index, 2>{axes == 2 ? shape.dim(-2) : 1, shape.dim(-1)};
  };
  const Index groups = node.integer("group", 1);
  const std::array<Index, 2> strides = pair("strides");
  const std::array<Index, 2> dilations = pair("dilations");
  const auto is_number = [](Index n) { return n > 0 && n < (Index{1} << 31); };
  if (from.rank() != x.logical.rank() + 1 || weights.floats().empty() || from[0] != x.logical[0] ||
      groups < 1 || from[0] % groups != 0 || !std::ranges::all_of(strides, is_number) ||
      !std::ranges::all_of(dilations, is_number)) {
    refuse(
        "expected a kernel [{} channels, filters / {} groups, ...] and strides and dilations above "
        "0, found {}, [{}] and [{}]",
        x.logical[0], groups, from.to_string(), fmt::join(strides, ", "),
        fmt::join(dilations, ", "));
  }
  Transposed t{.image = last_two(x.logical),
               .channels = from[0],
               .filters = from[1] * groups,
               .groups = groups,
               .taps = last_two(from),
               .size = {},
               .strides = strides,
               .dilations = dilations};
  for (std::size_t i = 0; i < 2; ++i) t.size[i] = (t.taps[i] - 1) * dilations[i] + 1;
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

/// How many rows and columns of a transposed convolution's result are cut off in front and behind.
/// Throws where there are fewer than asked for.
Padding2D cut_around(const Node& node, const Transposed& t, std::size_t axes) {
  const auto pads = numbers_of(node, "pads", axes, 2, 0);
  const auto more = numbers_of(node, "output_padding", axes, 1, 0);
  auto shape = node.integers("output_shape");
  if (!shape.empty() && shape.size() < axes) {
    refuse("expected {} numbers or more as output_shape, found {}", axes, shape.size());
  }
  if (axes == 1 && !shape.empty()) shape.insert(shape.end() - 1, 1);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  std::array<std::array<Index, 2>, 2> cut{};
  for (std::size_t i = 0; i < 2; ++i) {
    const Index in = t.image[i];
    const Index full = (in - 1) * t.strides[i] + t.size[i];
    cut[i] = {pads[i], pads[i + 2] - more[i]};
    const bool has_shape = shape.size() >= 2;
    if (has_shape || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const Index out = has_shape ? shape[shape.size() - 2 + i] : in * t.strides[i];
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
  const Shape full = {(t.image[0] - 1) * t.strides[0] + t.size[0],
                      (t.image[1] - 1) * t.strides[1] + t.size[1]};
  kept(0, around.top, around.bottom + result.physical[0] - full[0]);
  kept(1, around.left, around.right + result.physical[1] - full[1]);
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
