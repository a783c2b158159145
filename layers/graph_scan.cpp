// How a layer emits a computation over time: once for every step.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/program/program.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

constexpr Index kMostTimes = 10000;

}  // namespace

/// Step `t` of a sequence [steps, ...].
GraphValue Graph::at_time(GraphValue x, Index t) {
  std::vector<AxisSlice> axes = {{t, t + 1}};
  for (Index axis = 1; axis < shape(x).rank(); ++axis) axes.push_back({0, shape(x)[axis]});
  const std::string name = suffix_in_part(x);
  return reshape(slice(x, axes, name + "/slice"), shape(x).without_dim(0), name + "/step");
}

/// Makes the results of the steps from `other` on, in their order, share the quantizers of the
/// `count` steps from `first` on. Throws InvalidArgument unless they are the same operators.
void Graph::repeat_keys(std::size_t first, std::size_t count, std::size_t other) {
  const std::span<Step> steps(program_.steps);
  const std::span<Step> bodies = steps.subspan(other);
  const bool same =
      std::ranges::equal(steps.subspan(first, count), bodies, [](const Step& a, const Step& b) {
        return a.kind == b.kind && a.code == b.code && a.weights_name == b.weights_name;
      });
  if (!same) {
    throw InvalidArgument(fmt::format(
        "layer \"{}\" of type {}: scan: expected a body that emits the same operators at "
        "every step of time, found others behind the first",
        layer_->name(), layer_->type()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    Step& step = steps[first + i];
    if (!step.range_key) step.range_key = step.result;
    bodies[i].range_key = step.range_key;
    // What is dropped at one step of time is so at all.
    bodies[i].stream = step.stream;
  }
}

/// Gives the zeros in front of the first step of time the quantizer of the state; a scale of their
/// own where operators, as a TANH, give the state its scale.
void Graph::start_at_zero(std::size_t zeros, std::size_t state) {
  const Step* const gives = program_.producer(state);
  const bool is_measured =
      gives != nullptr && (gives->kind == Step::Kind::linear ||
                           (gives->kind == Step::Kind::op &&
                            definition(gives->code).output_grid == OutputGrid::measured));
  for (Step& step : program_.steps) {
    if (step.result == zeros) step.gives_zeros = !is_measured;
    if (is_measured && (step.result == zeros || step.result == state)) step.range_key = state;
  }
}

/// Returns the steps of time that all sequences have.
Index Graph::times_of(std::span<const GraphValue> x) const {
  const auto fail = [this](const std::string& what) {
    throw InvalidArgument(
        fmt::format("layer \"{}\" of type {}: scan: {}", layer_->name(), layer_->type(), what));
  };
  if (x.empty()) fail("expected a sequence to go through, found none");
  const Index steps = shape(x[0]).rank() == 0 ? 0 : shape(x[0])[0];
  for (const GraphValue sequence : x) {
    if (steps > 0 && shape(sequence).rank() > 0 && shape(sequence)[0] == steps) continue;
    fail(
        fmt::format("expected sequences [steps, ...] of one length of at least 1, found {} and {}; "
                    "cut or pad them to one length",
                    shape(x[0]).to_string(), shape(sequence).to_string()));
  }
  if (steps > kMostTimes) {
    fail(
        fmt::format("expected at most {} steps of time, each of which has operators of its own, "
                    "found {}; cut sequences into windows",
                    kMostTimes, steps));
  }
  return steps;
}

std::vector<GraphValue> Graph::scan(
    std::span<const GraphValue> x, std::optional<GraphValue> first,
    FunctionRef<GraphValue(std::span<const GraphValue> x_t, GraphValue state)> body) {
  std::vector<GraphValue> states;
  for (const std::vector<GraphValue>&behind :
       scan(x, std::vector{first},
            [&](std::span<const GraphValue> x_t, std::span<const GraphValue> before) {
              return std::vector{body(x_t, before[0])};
            })) {
    states.push_back(behind[0]);
  }
  return states;
}

std::vector<std::vector<GraphValue>> Graph::scan(
    std::span<const GraphValue> x, const std::vector<std::optional<GraphValue>>& first,
    FunctionRef<std::vector<GraphValue>(std::span<const GraphValue> x_t,
                                        std::span<const GraphValue> states)>
        body,
    StepOrder order) {
  const Index steps = times_of(x);
  std::vector<std::vector<GraphValue>> states;
  std::vector<GraphValue> before;
  std::size_t first_body = 0;
  std::size_t body_size = 0;
  for (Index t = 0; t < steps; ++t) {
    time_ = t == 0 ? "" : fmt::format("/t{}", t);
    std::vector<GraphValue> x_t;
    const Index place = order == StepOrder::forward ? t : steps - 1 - t;
    for (const GraphValue sequence : x) x_t.push_back(at_time(sequence, place));
    if (t == 0) {
      for (const auto& given : first) {
        before.push_back(given ? *given
                               : op(OpCode::sub, {x_t[0], x_t[0]}, std::nullopt, "/zeros"));
      }
    }
    const std::size_t begin = program_.steps.size();
    if (t == 0) first_body = begin;
    states.push_back(body(x_t, t == 0 ? before : states.back()));
    if (t == 0) body_size = program_.steps.size() - begin;
    if (t > 0) repeat_keys(first_body, body_size, begin);
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i]) start_at_zero(before[i].index, states.front()[i].index);
  }
  time_.clear();
  return states;
}

GraphValue Graph::stack(const std::vector<GraphValue>& values, std::string_view suffix) {
  std::vector<GraphValue> rows;
  for (const GraphValue value : values) {
    std::vector<Index> row = {1};
    for (Index axis = 0; axis < shape(value).rank(); ++axis) row.push_back(shape(value)[axis]);
    const std::string name = suffix_in_part(value);
    rows.push_back(reshape(value, Shape(std::move(row)), name + "/row"));
  }
  // One CONCATENATION takes so many.
  const auto most = static_cast<std::ptrdiff_t>(definition(OpCode::concatenation).most_inputs);
  const ConcatenationAttributes along_rows{.axis = 1};
  while (std::ssize(rows) > most) {
    std::vector<GraphValue> joined;
    for (auto begin = rows.begin(); begin != rows.end();) {
      const auto end = begin + std::min(most, rows.end() - begin);
      const std::vector<GraphValue> part(begin, end);
      joined.push_back(part.size() == 1 ? part[0]
                                        : op(OpCode::concatenation, part, along_rows, "/rows"));
      begin = end;
    }
    rows = std::move(joined);
  }
  // Of one row too, so that a layer has the same quantizers over sequences of any length.
  return op(OpCode::concatenation, rows, along_rows, suffix);
}

}  // namespace octet
