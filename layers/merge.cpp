#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/merge.h>

#include <algorithm>

namespace octet {
namespace {

/// Whether two shapes of one rank broadcast.
bool broadcast(const Shape& a, const Shape& b) {
  return a.rank() == b.rank() &&
         std::ranges::equal(a, b, [](Index m, Index n) { return m == n || m == 1 || n == 1; });
}

}  // namespace

std::vector<GraphValue> Merge::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  require_inputs_that_fit(graph, inputs);
  return {graph.op(code_, {inputs.begin(), inputs.end()})};
}

void Merge::require_inputs_that_fit(const Graph& graph, std::span<const GraphValue> inputs) const {
  if (inputs.size() == 2 && broadcast(graph.shape(inputs[0]), graph.shape(inputs[1]))) return;
  std::string found;
  for (const GraphValue input : inputs) {
    found += (found.empty() ? "" : " and ") + graph.shape(input).to_string();
  }
  throw InvalidArgument(
      fmt::format("{} \"{}\": expected two inputs of one shape, or with extents of 1 that are "
                  "repeated, found {}",
                  type(), name(), found));
}

ActivatedMerge::ActivatedMerge(std::string_view type, OpCode code, Activation activation,
                               std::string name)
    : Merge(code, std::move(name)) {
  if (quantizes_before(activation)) {
    throw InvalidArgument(
        fmt::format("{}: expected activation none, relu or relu6, found {}; add an activation "
                    "layer after it",
                    type, to_string(activation)));
  }
  set_activation(activation, true);
}

std::vector<GraphValue> ActivatedMerge::emit(Graph& graph,
                                             std::span<const GraphValue> inputs) const {
  require_inputs_that_fit(graph, inputs);
  return {graph.op(code(), {inputs.begin(), inputs.end()},
                   BinaryAttributes{.activation = fused_activation(activation())})};
}

void ActivatedMerge::describe(Description& description) const {
  description.set("activation", to_string(activation()));
}

Activation ActivatedMerge::activation_in(const Description& description) {
  return parse_activation(description.text("activation"));
}

}  // namespace octet
