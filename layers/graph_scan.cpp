// How a layer emits a computation over time: once for every step.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/program.h>

#include <utility>

namespace octet {

/// Step `t` of a sequence [steps, ...].
GraphValue Graph::at_time(GraphValue x, Index t) {
  std::vector<AxisSlice> axes = {{t, t + 1}};
  for (Index axis = 1; axis < shape(x).rank(); ++axis) axes.push_back({0, shape(x)[axis]});
  const std::string name = program_.values[x.index].suffix;
  return reshape(slice(x, axes, name + "/slice"), shape(x).without_dim(0), name + "/step");
}

/// Makes the results of the steps from `other` on, in their order, share the quantizers of those
/// from `first` on.
void Graph::share_ranges(std::size_t first, std::size_t other) {
  for (; other < program_.steps.size(); ++first, ++other) {
    Step& step = program_.steps[first];
    if (!step.shared_range) step.shared_range = step.result;
    program_.steps[other].shared_range = step.shared_range;
  }
}

std::vector<GraphValue> Graph::scan(
    std::span<const GraphValue> x, std::optional<GraphValue> first,
    FunctionRef<GraphValue(std::span<const GraphValue> x_t, GraphValue state)> body) {
  const Index steps = x.empty() || shape(x[0]).rank() == 0 ? 0 : shape(x[0])[0];
  for (const GraphValue sequence : x) {
    if (steps > 0 && shape(sequence).rank() > 0 && shape(sequence)[0] == steps) continue;
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: scan: expected sequences [steps, ...] of one length of at least "
        "1, found {} and {}",
        layer_->name(), layer_->type(), shape(x[0]).to_string(), shape(sequence).to_string()));
  }
  const bool starts_at_zero = !first.has_value();
  std::vector<GraphValue> states;
  std::size_t first_body = 0;
  for (Index t = 0; t < steps; ++t) {
    time_ = t == 0 ? "" : fmt::format("/t{}", t);
    std::vector<GraphValue> x_t;
    for (const GraphValue sequence : x) x_t.push_back(at_time(sequence, t));
    if (t == 0 && !first) {
      first = op(OpCode::sub, {x_t[0], x_t[0]}, std::nullopt, "/zeros");
    }
    const std::size_t begin = program_.steps.size();
    if (t == 0) first_body = begin;
    states.push_back(body(x_t, t == 0 ? *first : states.back()));
    if (t > 0) share_ranges(first_body, begin);
  }
  if (starts_at_zero) {
    const std::size_t state = states.front().index;
    for (Step& step : program_.steps) {
      if (step.result == first->index || step.result == state) step.shared_range = state;
    }
  }
  time_.clear();
  return states;
}

GraphValue Graph::stack(const std::vector<GraphValue>& values, std::string_view suffix) {
  std::vector<GraphValue> rows;
  for (const GraphValue value : values) {
    std::vector<Index> row = {1};
    for (Index axis = 0; axis < shape(value).rank(); ++axis) row.push_back(shape(value)[axis]);
    const std::string name = program_.values[value.index].suffix;
    rows.push_back(reshape(value, Shape(std::move(row)), name + "/row"));
  }
  if (rows.size() == 1) return rows[0];
  return op(OpCode::concatenation, rows, ConcatenationAttributes{.axis = 1}, suffix);
}

}  // namespace octet
