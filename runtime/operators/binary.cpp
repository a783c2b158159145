#include <fmt/format.h>
#include <octet/runtime/operators/binary.h>

namespace octet::detail {
namespace {

constexpr std::size_t kMostBroadcastAxes = 4;

/// The extent of an operand along axis `axis` of the output, to whose last axis its own is aligned.
std::int32_t extent_of(const ModelTensor& operand, std::size_t axis, std::size_t rank) {
  const std::size_t missing = rank - operand.shape.size();
  return axis < missing ? 1 : operand.shape[axis - missing];
}

bool broadcasts(const OperatorView& view) {
  const auto& shape = view.output().shape;
  std::vector<std::int32_t> together(shape.size(), 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const ModelTensor& operand = view.input(i);
    if (operand.shape.size() > shape.size()) return false;
    // A sample of a batch is no axis that another operand could lack.
    if (!operand.shape_signature.empty() && operand.shape.size() < shape.size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int32_t extent = extent_of(operand, axis, shape.size());
      if (extent != 1 && extent != shape[axis]) return false;
      together[axis] = std::max(together[axis], extent);
    }
  }
  return together == shape;
}

void check_shapes(const OperatorView& view) {
  const auto& a = view.input(0);
  const auto& b = view.input(1);
  const auto& y = view.output();
  const bool equal = a.shape == y.shape && b.shape == y.shape;
  if (equal || (y.shape.size() <= kMostBroadcastAxes && broadcasts(view))) return;
  view.fail(fmt::format(
      "shapes [{}] of '{}' and [{}] of '{}' do not broadcast to the output's, [{}]; extents have "
      "to be equal or 1, of at most {} axes",
      fmt::join(a.shape, ", "), a.name, fmt::join(b.shape, ", "), b.name, fmt::join(y.shape, ", "),
      kMostBroadcastAxes));
}

}  // namespace

std::vector<BinaryAxis> binary_axes(const Operands& operands) {
  const auto& shape = operands.output().shape;
  std::vector<BinaryAxis> axes;
  std::array<std::size_t, 2> inner = {1, 1};
  // From the last axis on, in reverse.
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    BinaryAxis now{static_cast<std::size_t>(shape[axis]), {}};
    for (std::size_t side = 0; side < 2; ++side) {
      const auto extent =
          static_cast<std::size_t>(extent_of(operands.input(side), axis, shape.size()));
      now.steps[side] = extent == 1 ? 0 : inner[side];
      inner[side] *= extent;
    }
    const bool goes_on = !axes.empty() &&
                         now.steps[0] == axes.back().steps[0] * axes.back().extent &&
                         now.steps[1] == axes.back().steps[1] * axes.back().extent;
    if (goes_on) {
      axes.back().extent *= now.extent;
    } else {
      axes.push_back(now);
    }
  }
  if (axes.empty()) axes.push_back({1, {1, 1}});
  std::ranges::reverse(axes);
  return axes;
}

void check_binary(const OperatorView& view, FusedActivation activation) {
  check_shapes(view);
  for (std::size_t i = 0; i < 2; ++i) {
    if (view.input(i).dtype != view.output().dtype) view.fail_types();
  }
  view.require_known(activation);
  if (view.output().dtype == DType::float32) return;
  if (view.output().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(0), "first input");
  view.require_per_tensor(view.input(1), "second input");
  view.require_per_tensor(view.output(), "output");
}

}  // namespace octet::detail
