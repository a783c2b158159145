#include <fmt/format.h>
#include <octet/runtime/operators/strided_slice.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace octet::detail {
namespace {

constexpr std::array<std::string_view, 3> kRoles = {"begin", "end", "strides"};

bool has_bit(std::int32_t mask, std::size_t axis) {
  return (static_cast<std::uint32_t>(mask) >> axis & 1U) != 0;
}

std::vector<std::int32_t> numbers_of(const Operands& operands, std::size_t input) {
  return values_of<std::int32_t>(operands.input(input));
}

void check_constants(const OperatorView& view) {
  const auto& first = view.input(1).shape;
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    const ModelTensor& found = view.input(i + 1);
    if (found.dtype == DType::int32 && found.is_constant() && found.shape.size() == 1 &&
        found.shape == first && first[0] <= std::ssize(view.input().shape)) {
      continue;
    }
    view.fail(fmt::format(
        "expected {} as an int32 constant of one number for each of at most {} axes, as many as "
        "begin has, found '{}' of {}, shape [{}]",
        kRoles.at(i), view.input().shape.size(), found.name, to_string(found.dtype),
        fmt::join(found.shape, ", ")));
  }
}

/// A file's batch may be any: only a slice that says so takes all of it.
void check_batch(const OperatorView& view, const SliceAxis& axis, std::size_t i) {
  const auto& signature = view.input().shape_signature;
  if (signature.empty() || signature[i] != -1) return;
  const auto& masks = view.op.as<StridedSliceAttributes>();
  const bool takes_all = (has_bit(masks.begin_mask, i) && has_bit(masks.end_mask, i)) ||
                         i >= numbers_of(view, 1).size();
  if (takes_all && axis.step == 1 && !axis.is_dropped) return;
  view.fail(
      fmt::format("axis {} is the batch, of which nothing can be cut: set its bit in begin_mask "
                  "and end_mask, and step 1",
                  i));
}

void check_strided_slice(const OperatorView& view) {
  check_moved(view);
  check_constants(view);
  for (const std::int32_t step : numbers_of(view, 3)) {
    if (step < 1) view.fail(fmt::format("expected strides of 1 or more, found {}", step));
  }
  std::vector<std::int32_t> expected;
  const auto axes = slice_axes(view);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const SliceAxis& axis = axes[i];
    const Index extent = view.input().shape[i];
    if (axis.begin < 0 || axis.begin >= extent || axis.extent() < 1) {
      view.fail(fmt::format("axis {} of extent {}: no element lies in [{}, {})", i, extent,
                            axis.begin, axis.end));
    }
    check_batch(view, axis, i);
    if (!axis.is_dropped) expected.push_back(static_cast<std::int32_t>(axis.extent()));
  }
  view.require_output_shape(expected);
}

std::unique_ptr<Kernel> make_strided_slice(const KernelSource& source) {
  const StridedCopy copy = slice_copy(source);
  return make_strided_copies(source, {&copy, 1});
}

}  // namespace

std::vector<SliceAxis> slice_axes(const Operands& operands) {
  const auto& masks = operands.op.as<StridedSliceAttributes>();
  const auto begins = numbers_of(operands, 1);
  const auto ends = numbers_of(operands, 2);
  const auto steps = numbers_of(operands, 3);
  std::vector<SliceAxis> axes;
  for (std::size_t i = 0; i < operands.input().shape.size(); ++i) {
    const Index extent = operands.input().shape[i];
    SliceAxis axis{.begin = 0, .end = extent, .step = 1, .is_dropped = false};
    if (i < begins.size()) {
      const auto counted = [&](std::int32_t place) { return place < 0 ? place + extent : place; };
      axis.step = steps[i];
      axis.is_dropped = has_bit(masks.shrink_axis_mask, i);
      if (!has_bit(masks.begin_mask, i)) axis.begin = counted(begins[i]);
      if (!has_bit(masks.end_mask, i)) axis.end = std::clamp<Index>(counted(ends[i]), 0, extent);
      if (axis.is_dropped) {
        axis.end = axis.begin + 1;
      } else {
        axis.begin = std::clamp<Index>(axis.begin, 0, extent);
      }
    }
    axes.push_back(axis);
  }
  return axes;
}

StridedCopy slice_copy(const Operands& operands) {
  const auto axes = slice_axes(operands);
  StridedCopy copy;
  Index stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    copy.first += axes[i].begin * stride;
    copy.axes.insert(copy.axes.begin(), {axes[i].extent(), {axes[i].step * stride}});
    stride *= operands.input().shape[i];
  }
  return copy;
}

OperatorDefinition definitions::strided_slice() {
  return checked({.name = "STRIDED_SLICE",
                  .releases = {10600, 11400, 20100, 20200},
                  .required_version = version_by_axes,
                  .least_inputs = 4,
                  .most_inputs = 4,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_strided_slice,
                  .make_kernel = make_strided_slice});
}

}  // namespace octet::detail
