#include <fmt/format.h>
#include <octet/import/onnx/channels.h>
#include <octet/layers/global_pool2d.h>
#include <octet/layers/pool1d.h>
#include <octet/layers/pool2d.h>
#include <octet/layers/reshape.h>

#include <algorithm>

namespace octet::detail::onnx_import {
namespace {

/// A pooling over images, or over sequences, whose windows have height 1.
struct Pool {
  Imported x;
  std::array<Index, 2> size{};
  WindowOptions window;

  bool of_sequences() const { return x.logical.rank() == 2; }
};

Pool pool_of(Builder& builder, const Node& node) {
  const Imported& given = builder.input(node, 0);
  const bool sequences = given.logical.rank() == 2;
  const Imported x =
      sequences ? builder.arranged(node, given, kSequenceAxes) : builder.image(node, given);
  const auto size = node.integers("kernel_shape");
  const auto is_size = [](std::int64_t n) { return n > 0 && n < (std::int64_t{1} << 31); };
  if (size.size() != (sequences ? 1 : 2) || !std::ranges::all_of(size, is_size)) {
    refuse("expected a window over images or sequences, found [{}]", fmt::join(size, ", "));
  }
  Pool pool{x, {sequences ? 1 : size[0], size.back()}, {}};
  const std::array<Index, 2> image = {sequences ? 1 : x.logical[1], x.logical.dim(-1)};
  pool.window = window_of(node, pool.size, image, size.size());
  if (pool.window.dilations != std::array<Index, 2>{1, 1}) {
    refuse("expected dilations of 1, found {} and {}: Octet's pooling has none",
           pool.window.dilations[0], pool.window.dilations[1]);
  }
  return pool;
}

/// The layer of a pooling: `Images` or `Sequences`.
template <class Images, class Sequences>
Imported add_pool(Builder& builder, const Node& node, const Pool& pool) {
  const Padding padding = pool.window.padding.value_or(Padding::valid);
  std::unique_ptr<Layer> layer;
  if (pool.of_sequences()) {
    layer = std::make_unique<Sequences>(
        Pool1DOptions{.size = pool.size[1], .stride = pool.window.strides[1], .padding = padding});
  } else {
    layer = std::make_unique<Images>(
        Pool2DOptions{.size = pool.size, .stride = pool.window.strides, .padding = padding});
  }
  Imported result = builder.add(node, std::move(layer), {pool.x},
                                pool.of_sequences() ? kSequenceAxes : kImageAxes);
  result.not_negative = pool.x.not_negative;
  return result;
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
  return add_pool<MaxPool2D, MaxPool1D>(builder, node, pool);
}

Imported import_average_pool(Builder& builder, const Node& node) {
  Pool pool = pool_of(builder, node);
  const bool counts = node.integer("count_include_pad", 0) != 0;
  const auto pads = node.integers("pads");
  const bool pads_any = std::ranges::any_of(pads, [](std::int64_t n) { return n != 0; });
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (counts && automatic.starts_with("SAME")) {
    refuse("counts the padding of {}: count_include_pad=0 would import", automatic);
  }
  if (counts && pads_any) {
    if (pool.window.overhangs) {
      refuse("counts padding and has windows that end behind it: ceil_mode=0 would import");
    }
    // Zeros that count are zeros of a larger image.
    const Padding2D around = pool.of_sequences() ? Padding2D{.left = pads[0], .right = pads[1]}
                                                 : Padding2D{pads[0], pads[2], pads[1], pads[3]};
    pool.window.padding = Padding::valid;
    pool.x = builder.padded(node, pool.x, around);
  } else if (!pool.window.padding.has_value()) {
    refuse(
        "pads as neither TensorFlow's SAME nor VALID does and leaves the padding out of the "
        "mean: count_include_pad=1, PyTorch's default, would import");
  }
  return add_pool<AveragePool2D, AveragePool1D>(builder, node, pool);
}

/// One value for each channel: the last axis of the model.
Imported add_global(Builder& builder, const Node& node, std::unique_ptr<Layer> layer,
                    const Imported& x, const Shape& logical, Index channel) {
  Imported result = builder.add(node, std::move(layer), {x}, {channel});
  result.logical = logical;
  result.not_negative = x.not_negative;
  return result;
}

template <class Images, class Sequences>
Imported import_global_pool(Builder& builder, const Node& node) {
  const Imported& given = builder.input(node, 0);
  if (given.logical.rank() == 2) {
    const Imported x = builder.arranged(node, given, kSequenceAxes);
    return add_global(builder, node, std::make_unique<Sequences>(), x, {x.logical[0], 1}, 0);
  }
  const Imported x = builder.image(node, given);
  return add_global(builder, node, std::make_unique<Images>(), x, {x.logical[0], 1, 1}, 0);
}

/// What a reduction reads: the batch may be any axis that is not reduced.
Imported reduced_input(const Builder& builder, const Node& node) {
  return builder.with_batch_at(builder.unjoined(node, 0), 0);
}

/// The axes of a reduction, as of the examples of `x`, in order.
std::vector<Index> reduced_axes(Builder& builder, const Node& node, const Imported& x) {
  const Constant* given = builder.constant(node, 1);
  const auto axes = axes_of(node, 1, given).value_or(std::vector<std::int64_t>{});
  std::vector<Index> over;
  over.reserve(axes.size());
  for (const std::int64_t axis : axes) over.push_back(example_axis(axis, x));
  std::ranges::sort(over);
  if (over.empty() || std::ranges::adjacent_find(over) != over.end()) {
    refuse("expected different axes of {}, found [{}]", written(x.onnx_extents()),
           fmt::join(axes, ", "));
  }
  return over;
}

/// `x` as sequences whose steps are all that `over` name, pooled by `Sequences`.
template <class Sequences>
Imported pooled_axes(Builder& builder, const Node& node, const Imported& given,
                     const std::vector<Index>& over) {
  std::vector<Index> axes = over;
  std::vector<Index> kept;
  std::vector<Index> extents;
  for (Index axis = 0; axis < given.logical.rank(); ++axis) {
    if (std::ranges::find(over, axis) != over.end()) continue;
    kept.push_back(axis);
    extents.push_back(given.logical[axis]);
  }
  axes.insert(axes.end(), kept.begin(), kept.end());
  const Imported x = builder.arranged(node, builder.ordered(node, given), axes);
  const bool keep = node.integer("keepdims", 1) != 0;
  if (!keep && kept.empty()) refuse("nothing but the batch would be left");
  Index steps = 1;
  for (const Index axis : over) steps *= x.logical[axis];
  const Index features = x.logical.size() / steps;
  Imported made = x;
  if (axes.size() != 2 || kept.size() != 1) {
    made = builder.add(part_of(node, "/rows"), std::make_unique<Reshape>(Shape{steps, features}),
                       {x}, {0, 1});
  }
  made = builder.add(node, std::make_unique<Sequences>(), {made}, {0});
  if (kept.size() > 1) {
    made = builder.add(part_of(node, "/axes"), std::make_unique<Reshape>(Shape(extents)), {made},
                       kept);
  }
  Shape logical = given.logical;
  for (const Index axis : over) logical = logical.with_dim(axis, 1);
  made.logical = keep ? logical : Shape(extents);
  for (std::size_t i = 0; i < made.axes.size(); ++i) {
    // A single value has the place of an axis that is gone.
    made.axes[i] = kept.empty() ? 0 : keep ? kept[i] : static_cast<Index>(i);
  }
  made.batch = given.batch;
  for (const Index axis : over) {
    if (!keep && axis < given.batch.axis) --made.batch.axis;
  }
  made.not_negative = given.not_negative;
  return made;
}

/// The means, or the largest values, over some axes: over height and width of images by `Images`.
template <class Images, class Sequences>
Imported reduced(Builder& builder, const Node& node, const Imported& x) {
  const std::vector<Index> over = reduced_axes(builder, node, x);
  const bool of_images = x.batch == BatchPlace{} && x.logical.rank() == 3 && x.axes.size() == 3 &&
                         over.size() == 2 && x.axes[2] >= 0 &&
                         std::ranges::find(over, x.axes[2]) == over.end();
  if (!of_images) return pooled_axes<Sequences>(builder, node, x, over);
  const Index channel = x.axes[2];
  const bool keep = node.integer("keepdims", 1) != 0;
  std::vector<Index> logical(keep ? 3 : 1, 1);
  logical[keep ? static_cast<std::size_t>(channel) : 0] = x.logical[channel];
  return add_global(builder, node, std::make_unique<Images>(), x, Shape(std::move(logical)),
                    keep ? channel : 0);
}

Imported import_reduce_mean(Builder& builder, const Node& node) {
  return reduced<GlobalAveragePool2D, GlobalAveragePool1D>(builder, node,
                                                           reduced_input(builder, node));
}

/// A mean times the number of its terms.
Imported import_reduce_sum(Builder& builder, const Node& node) {
  const Imported x = reduced_input(builder, node);
  Index terms = 1;
  for (const Index axis : reduced_axes(builder, node, x)) terms *= x.logical[axis];
  const Imported mean =
      reduced<GlobalAveragePool2D, GlobalAveragePool1D>(builder, part_of(node, "/mean"), x);
  return scaled(builder, node, mean, static_cast<float>(terms));
}

Imported import_reduce_max(Builder& builder, const Node& node) {
  return reduced<GlobalMaxPool2D, GlobalMaxPool1D>(builder, node, reduced_input(builder, node));
}

/// -max(-x).
Imported import_reduce_min(Builder& builder, const Node& node) {
  const Imported negative =
      scaled(builder, part_of(node, "/negative"), reduced_input(builder, node), -1.0F);
  const Imported most =
      reduced<GlobalMaxPool2D, GlobalMaxPool1D>(builder, part_of(node, "/most"), negative);
  return scaled(builder, node, most, -1.0F);
}

constexpr std::array<Operator, 8> kPoolings = {
    {{"AveragePool", import_average_pool},
     {"GlobalAveragePool", import_global_pool<GlobalAveragePool2D, GlobalAveragePool1D>},
     {"GlobalMaxPool", import_global_pool<GlobalMaxPool2D, GlobalMaxPool1D>},
     {"MaxPool", import_max_pool},
     {"ReduceMax", import_reduce_max},
     {"ReduceMean", import_reduce_mean},
     {"ReduceMin", import_reduce_min},
     {"ReduceSum", import_reduce_sum}}};

}  // namespace

std::span<const Operator> pooling_operators() { return kPoolings; }

}  // namespace octet::detail::onnx_import
