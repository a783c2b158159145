#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/permute.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace octet {
namespace {

/// The most axes of an example that TRANSPOSE moves at once, which the batch makes one more.
constexpr std::size_t kMostAxes = 4;

/// The axes of examples where those that stay neighbours are one, and those of extent 1 are none.
struct Blocks {
  std::vector<Index> extents;
  /// By place in the result.
  std::vector<Index> order;
};

Blocks blocks_of(const Shape& from, const std::vector<Index>& axes) {
  // First axis and extent, in the order of the result.
  std::vector<std::pair<Index, Index>> found;
  Index next = -1;
  for (const Index axis : axes) {
    if (from[axis] == 1) continue;
    if (axis == next) {
      found.back().second *= from[axis];
    } else {
      found.emplace_back(axis, from[axis]);
    }
    next = axis + 1;
    while (next < from.rank() && from[next] == 1) ++next;
  }
  std::vector<std::pair<Index, Index>> sorted = found;
  std::ranges::sort(sorted);
  Blocks blocks;
  for (const auto& block : sorted) blocks.extents.push_back(block.second);
  for (const auto& block : found) {
    blocks.order.push_back(std::ranges::find(sorted, block) - sorted.begin());
  }
  return blocks;
}

Index elements(const Blocks& blocks, std::span<const Index> of) {
  Index product = 1;
  for (const Index block : of) product *= blocks.extents[static_cast<std::size_t>(block)];
  return product;
}

/// Changes places of two rows of neighbouring blocks, of which the second comes to lie where it
/// belongs, until all do.
GraphValue swapped(Graph& graph, GraphValue x, const Blocks& blocks) {
  const std::vector<Index>& wanted = blocks.order;
  std::vector<Index> order(wanted.size());
  std::iota(order.begin(), order.end(), 0);
  while (order != wanted) {
    const auto first = std::ranges::mismatch(order, wanted).in1;
    const auto target = wanted.begin() + (first - order.begin());
    const auto second = std::find(first, order.end(), *target);
    const auto end = std::mismatch(second, order.end(), target, wanted.end()).first;
    const Shape rows({elements(blocks, {order.begin(), first}), elements(blocks, {first, second}),
                      elements(blocks, {second, end}), elements(blocks, {end, order.end()})});
    x = graph.transpose(graph.reshape(x, rows, "/blocks"), {0, 2, 1, 3}, "/swapped");
    std::rotate(first, second, end);
  }
  return x;
}

/// Examples with their axes in the order `axes`, counted from 0, which are too many for TRANSPOSE.
GraphValue transposed_by_blocks(Graph& graph, GraphValue x, const std::vector<Index>& axes) {
  const Shape from = graph.shape(x);
  const Blocks blocks = blocks_of(from, axes);
  if (blocks.order.size() > kMostAxes) {
    x = swapped(graph, x, blocks);
  } else if (blocks.order.size() > 1) {
    x = graph.transpose(graph.reshape(x, Shape(blocks.extents), "/blocks"), blocks.order,
                        "/swapped");
  }
  std::vector<Index> extents;
  for (const Index axis : axes) extents.push_back(from[axis]);
  return graph.reshape(x, Shape(std::move(extents)));
}

}  // namespace

Permute::Permute(std::vector<Index> axes, std::string name)
    : Layer(std::move(name)), axes_(std::move(axes)) {}

std::vector<GraphValue> Permute::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  const Shape& examples = graph.shape(inputs[0]);
  std::vector<Index> counted = axes_;
  std::ranges::sort(counted);
  std::vector<Index> expected(static_cast<std::size_t>(examples.rank()));
  std::iota(expected.begin(), expected.end(), 1);
  if (counted != expected) {
    throw InvalidArgument(
        fmt::format("Permute \"{}\": expected each of the axes 1 to {} of examples {} once, found "
                    "{}; the batch is axis 0 and stays in front",
                    name(), examples.rank(), examples.to_string(), Shape(axes_).to_string()));
  }
  if (counted == axes_) return {inputs[0]};
  std::vector<Index> axes;
  for (const Index axis : axes_) axes.push_back(axis - 1);
  if (axes.size() > kMostAxes) return {transposed_by_blocks(graph, inputs[0], axes)};
  return {graph.transpose(inputs[0], axes)};
}

void Permute::describe(Description& description) const { description.set("axes", Shape(axes_)); }

std::unique_ptr<Layer> Permute::make(const Description& d) {
  const Shape axes = d.shape("axes");
  return std::make_unique<Permute>(std::vector<Index>(axes.begin(), axes.end()));
}

}  // namespace octet
