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
  return {graph.transpose(inputs[0], axes)};
}

void Permute::describe(Description& description) const { description.set("axes", Shape(axes_)); }

std::unique_ptr<Layer> Permute::make(const Description& d) {
  const Shape axes = d.shape("axes");
  return std::make_unique<Permute>(std::vector<Index>(axes.begin(), axes.end()));
}

}  // namespace octet
