#include <fmt/format.h>
#include <octet/runtime/operators/transpose.h>

#include <algorithm>

namespace octet::detail {
namespace {

void check_permutation(const OperatorView& view) {
  const ModelTensor& found = view.input(1);
  const auto rank = static_cast<std::int32_t>(view.input().shape.size());
  if (found.dtype != DType::int32 || !found.is_constant() ||
      found.shape != std::vector<std::int32_t>{rank}) {
    view.fail(fmt::format(
        "expected the permutation as an int32 constant [{}], found '{}' of {}, shape [{}]", rank,
        found.name, to_string(found.dtype), fmt::join(found.shape, ", ")));
  }
  const auto axes = values_of<std::int32_t>(found);
  std::vector<std::int32_t> sorted;
  for (const std::int32_t axis : axes) sorted.push_back(axis < 0 ? axis + rank : axis);
  std::ranges::sort(sorted);
  for (std::int32_t i = 0; i < rank; ++i) {
    if (sorted[static_cast<std::size_t>(i)] == i) continue;
    view.fail(fmt::format("expected each of the {} axes once as its permutation, found [{}]", rank,
                          fmt::join(axes, ", ")));
  }
}

void check_transpose(const OperatorView& view) {
  check_moved(view);
  check_permutation(view);
  const auto& signature = view.input().shape_signature;
  std::vector<std::int32_t> expected;
  for (const std::size_t axis : permutation_of(view)) {
    if (axis != expected.size() && !signature.empty() && signature[axis] == -1) {
      view.fail(
          fmt::format("axis {} is the batch, which cannot become axis {}", axis, expected.size()));
    }
    expected.push_back(view.input().shape[axis]);
  }
  view.require_output_shape(expected);
}

std::unique_ptr<Kernel> make_transpose(const KernelSource& source) {
  const StridedCopy copy = transpose_copy(source);
  return make_strided_copies(source, {&copy, 1});
}

int transpose_version(const Operands& o) {
  return o.input().dtype == DType::int16 ? 5 : version_by_axes(o);
}

}  // namespace

std::vector<std::size_t> permutation_of(const Operands& operands) {
  const auto rank = static_cast<std::int32_t>(operands.input().shape.size());
  std::vector<std::size_t> axes;
  for (const std::int32_t axis : values_of<std::int32_t>(operands.input(1))) {
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  }
  return axes;
}

StridedCopy transpose_copy(const Operands& operands) {
  const auto& shape = operands.input().shape;
  const std::vector<Index> strides =
      row_major_strides(Shape(std::vector<Index>(shape.begin(), shape.end())));
  StridedCopy copy;
  for (const std::size_t axis : permutation_of(operands)) {
    copy.axes.push_back({shape[axis], {strides[axis]}});
  }
  return copy;
}

OperatorDefinition definitions::transpose() {
  return checked({.name = "TRANSPOSE",
                  .releases = {10600, 11400, 11500, 20300, 20400},
                  .required_version = transpose_version,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_transpose,
                  .make_kernel = make_transpose});
}

}  // namespace octet::detail
