#include <fmt/format.h>
#include <octet/import/onnx/builder.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/pool2d.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

/// A pooling's options; the image is padded where they cannot say how.
struct Pool {
  Imported x;
  WindowOptions window;
  Pool2DOptions options;
};

Pool pool_of(Builder& builder, const Node& node) {
  const Imported x = builder.image(node, builder.input(node, 0));
  const auto size = node.integers("kernel_shape");
  const auto is_size = [](std::int64_t n) { return n > 0 && n < (std::int64_t{1} << 31); };
  if (size.size() != 2 || !std::ranges::all_of(size, is_size)) {
    refuse("expected a window over images, found [{}]", fmt::join(size, ", "));
  }
  const WindowOptions window = window_of(node, {size[0], size[1]}, {x.logical[1], x.logical[2]}, 2);
  if (window.dilations != std::array<Index, 2>{1, 1}) {
    refuse("expected dilations of 1, found {} and {}: Octet's pooling has none",
           window.dilations[0], window.dilations[1]);
  }
  return {x,
          window,
          {.size = {size[0], size[1]},
           .stride = window.strides,
           .padding = window.padding.value_or(Padding::valid)}};
}

Imported import_max_pool(Builder& builder, const Node& node) {
  Pool pool = pool_of(builder, node);
  if (!pool.window.padding.has_value()) {
    // ONNX pads with the smallest number there is: zeros are as good behind a ReLU.
    if (!pool.x.not_negative) {
      refuse(
          "pads as neither TensorFlow's SAME nor VALID does, and what it reads may be below 0: "
          "behind a Relu it would import, with zeros around the image");
    }
    pool.x = builder.padded(node, pool.x, pool.window.around);
  }
  Imported result =
      builder.add(node, std::make_unique<MaxPool2D>(pool.options), {pool.x}, kImageAxes);
  result.not_negative = pool.x.not_negative;
  return result;
}

Imported import_average_pool(Builder& builder, const Node& node) {
  Pool pool = pool_of(builder, node);
  const bool counts = node.integer("count_include_pad", 0) != 0;
  const auto pads = node.integers("pads");
  const bool pads_any = std::ranges::any_of(pads, [](std::int64_t n) { return n != 0; });
  if (counts && node.text("auto_pad", "NOTSET") == "SAME_UPPER") {
    refuse("counts the padding of SAME_UPPER: count_include_pad=0 would import");
  }
  if (counts && pads_any) {
    if (pool.window.overhangs) {
      refuse("counts padding and has windows that end behind it: ceil_mode=0 would import");
    }
    // Zeros that count are zeros of a larger image.
    const Padding2D around = {pads[0], pads[2], pads[1], pads[3]};
    pool.options.padding = Padding::valid;
    pool.x = builder.padded(node, pool.x, around);
  } else if (!pool.window.padding.has_value()) {
    refuse(
        "pads as neither TensorFlow's SAME nor VALID does and leaves the padding out of the "
        "mean: count_include_pad=1, PyTorch's default, would import");
  }
  Imported result =
      builder.add(node, std::make_unique<AveragePool2D>(pool.options), {pool.x}, kImageAxes);
  result.not_negative = pool.x.not_negative;
  return result;
}

/// One value for each channel: the last axis of the model.
Imported add_global(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                    const Imported& x, const Shape& logical, Index channel) {
  Imported result = builder.add(node, std::move(layer), {x}, {channel});
  result.logical = logical;
  result.not_negative = x.not_negative;
  return result;
}

Imported import_global_average_pool(Builder& builder, const Node& node) {
  const Imported x = builder.image(node, builder.input(node, 0));
  return add_global(builder, node, std::make_unique<GlobalAveragePool2D>(), x, {x.logical[0], 1, 1},
                    0);
}

Imported import_global_max_pool(Builder& builder, const Node& node) {
  const Imported x = builder.image(node, builder.input(node, 0));
  return add_global(builder, node, std::make_unique<GlobalMaxPool2D>(), x, {x.logical[0], 1, 1}, 0);
}

/// The mean over the two axes of images, which is all that Octet has a layer for.
Imported import_reduce_mean(Builder& builder, const Node& node) {
  const Imported& x = builder.input(node, 0);
  const auto axes = axes_of(node, 1, node.has(1) ? builder.constant(node, 1) : nullptr);
  std::vector<Index> over;
  for (const std::int64_t axis : axes.value_or(std::vector<std::int64_t>{})) {
    if (axis == 0 || axis < -x.logical.rank() || axis > x.logical.rank()) {
      refuse("expected axes of examples, found {}", axis);
    }
    over.push_back(axis < 0 ? axis + x.logical.rank() : axis - 1);
  }
  std::ranges::sort(over);
  if (x.logical.rank() != 3 || x.axes.size() != 3 || over.size() != 2 || over[0] == over[1] ||
      std::ranges::find(over, x.axes[2]) != over.end() || x.axes[2] < 0) {
    refuse("expected the mean over height and width of images, found axes [{}] of [batch, {}]",
           fmt::join(axes.value_or(std::vector<std::int64_t>{}), ", "), fmt::join(x.logical, ", "));
  }
  const Index channel = x.axes[2];
  const bool keep = node.integer("keepdims", 1) != 0;
  std::vector<Index> logical(keep ? 3 : 1, 1);
  logical[keep ? static_cast<std::size_t>(channel) : 0] = x.logical[channel];
  return add_global(builder, node, std::make_unique<GlobalAveragePool2D>(), x,
                    Shape(std::move(logical)), keep ? channel : 0);
}

constexpr std::array<Operator, 5> kPoolings = {{{"AveragePool", import_average_pool},
                                                {"GlobalAveragePool", import_global_average_pool},
                                                {"GlobalMaxPool", import_global_max_pool},
                                                {"MaxPool", import_max_pool},
                                                {"ReduceMean", import_reduce_mean}}};

}  // namespace

std::span<const Operator> pooling_operators() { return kPoolings; }

}  // namespace octet::detail::onnx_import
