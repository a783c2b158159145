#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/permute.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace octet {

Permute::Permute(std::vector<Index> axes, std::string name)
    : Layer(std::move(name)), axes_(std::move(axes)) {}

std::vector<GraphValue> Permute::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  if (std::ranges::is_sorted(axes_)) return {inputs[0]};
  std::vector<Index> axes;
  for (const Index axis : axes_) axes.push_back(axis - 1);
  return {graph.transpose(inputs[0], axes)};
}

void Permute::describe(Description& description) const { description.set("axes", Shape(axes_)); }

std::unique_ptr<Layer> Permute::make(const Description& d) {
  const Shape axes = d.shape("axes");
  return std::make_unique<Permute>(std::vector<Index>(axes.begin(), axes.end()));
}

Shape Permute::do_build(const Shape& input_shape, const Random& /*random*/) {
  std::vector<Index> counted = axes_;
  std::ranges::sort(counted);
  std::vector<Index> expected(static_cast<std::size_t>(input_shape.rank()));
  std::iota(expected.begin(), expected.end(), 1);
  if (counted != expected) {
    throw InvalidArgument(
        fmt::format("Permute \"{}\": expected each of the axes 1 to {} of examples {} once, found "
                    "{}; the batch "
                    "is axis 0 and stays in front",
                    name(), input_shape.rank(), input_shape.to_string(), Shape(axes_).to_string()));
  }
  std::vector<Index> extents;
  for (const Index axis : axes_) extents.push_back(input_shape[axis - 1]);
  return Shape(std::move(extents));
}

}  // namespace octet
