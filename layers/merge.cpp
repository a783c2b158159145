#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/merge.h>

#include <algorithm>
#include <optional>

namespace octet {
namespace {

/// The shape of two that broadcast, of one rank.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return std::nullopt;
  Shape result = a;
  for (Index axis = 0; axis < a.rank(); ++axis) {
    if (a[axis] != b[axis] && a[axis] != 1 && b[axis] != 1) return std::nullopt;
    result = result.with_dim(axis, std::max(a[axis], b[axis]));
  }
  return result;
}

}  // namespace

std::vector<GraphValue> Merge::emit(Graph& graph, std::span<const GraphValue> inputs) const {
  return {graph.op(code_, {inputs.begin(), inputs.end()})};
}

Shape Merge::do_build_all(std::span<const Shape> input_shapes, const Random& /*random*/) {
  if (input_shapes.size() == 2) {
    if (const auto shape = broadcast(input_shapes[0], input_shapes[1])) return *shape;
  }
  std::string found;
  for (const Shape& shape : input_shapes) {
    found += (found.empty() ? "" : " and ") + shape.to_string();
  }
  throw InvalidArgument(
      fmt::format("{} \"{}\": expected two inputs of one shape, or with extents of 1 that are "
                  "repeated, found {}",
                  type(), name(), found));
}

ActivatedMerge::ActivatedMerge(std::string_view type, OpCode code, Activation activation,
                               std::string name)
    : Merge(code, std::move(name)), activation_(activation) {
  if (quantizes_before(activation)) {
    throw InvalidArgument(
        fmt::format("{}: expected activation none, relu or relu6, found {}; add an activation "
                    "layer after it",
                    type, to_string(activation)));
  }
}

std::vector<GraphValue> ActivatedMerge::emit(Graph& graph,
                                             std::span<const GraphValue> inputs) const {
  return {graph.op(code(), {inputs.begin(), inputs.end()},
                   BinaryAttributes{.activation = fused_activation(activation_)})};
}

std::unique_ptr<Layer> ActivatedMerge::with_activation(Activation activation) const {
  if (activation_ != Activation::none || quantizes_before(activation)) return nullptr;
  std::unique_ptr<Layer> changed = clone_of<Layer>(*this, name());
  static_cast<ActivatedMerge&>(*changed).activation_ = activation;
  return changed;
}

void ActivatedMerge::describe(Description& description) const {
  description.set("activation", to_string(activation_));
}

Activation ActivatedMerge::activation_in(const Description& description) {
  return parse_activation(description.text("activation"));
}

}  // namespace octet
