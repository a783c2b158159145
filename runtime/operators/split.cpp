#include <fmt/format.h>
#include <octet/runtime/operators/split.h>

namespace octet::detail {
namespace {

void check_split(const OperatorView& view) {
  check_moved(view);
  view.require_constant_axis("split");
  const auto parts = static_cast<std::int32_t>(view.op.outputs.size());
  const std::int32_t expected = view.op.as<SplitAttributes>().num_splits;
  if (parts != expected) {
    view.fail(fmt::format("expected as many outputs as num_splits, {}, found {}", expected, parts));
  }
  const std::size_t axis = constant_axis(view);
  std::vector<std::int32_t> shape = view.input().shape;
  if (shape[axis] % parts != 0) {
    view.fail(fmt::format("axis {} of extent {} has no {} equal parts", axis, shape[axis], parts));
  }
  shape[axis] /= parts;
  for (std::size_t i = 0; i < view.op.outputs.size(); ++i) view.require_output_shape(shape, i);
}

std::unique_ptr<Kernel> make_split(const KernelSource& source) {
  return make_strided_copies(source, split_copies(source));
}

/// A file has the axis in front.
constexpr std::array<std::size_t, 2> kSplitOrder = {1, 0};

}  // namespace

std::vector<StridedCopy> split_copies(const Operands& operands) {
  const std::size_t axis = constant_axis(operands);
  StridedCopy copy;
  Index stride = 1;
  Index part = 0;
  for (std::size_t i = operands.input().shape.size(); i-- > 0;) {
    const Index extent = operands.output().shape[i];
    if (i == axis) part = extent * stride;
    copy.axes.insert(copy.axes.begin(), {extent, {stride}});
    stride *= operands.input().shape[i];
  }
  std::vector<StridedCopy> copies(operands.op.outputs.size(), copy);
  for (std::size_t i = 0; i < copies.size(); ++i) copies[i].first = static_cast<Index>(i) * part;
  return copies;
}

OperatorDefinition definitions::split() {
  return checked({.name = "SPLIT",
                  .releases = {10500, 11400, 11400, 20300},
                  .required_version = version_by_type<4>,
                  .file_order = kSplitOrder,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .most_outputs = kMostOutputs,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_split,
                  .make_kernel = make_split});
}

}  // namespace octet::detail
