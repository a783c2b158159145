#include <fmt/format.h>
#include <octet/import/onnx/graph.h>

#include <algorithm>
#include <array>
#include <cmath>

// What exporters compute of constants: extents for a Reshape, and weights in another order.

namespace octet::detail::onnx_import {
namespace {

using Integers = std::vector<std::int64_t>;
using Inputs = std::vector<const Constant*>;

/// An axis, or a position, counted from the front.
Index counted(std::int64_t i, Index extent, std::string_view what) {
  if (i < -extent || i >= extent) refuse("{} {} lies outside [0, {})", what, i, extent);
  return i < 0 ? i + extent : i;
}

/// The elements of `source` at `positions`, as `shape`.
Constant picked(const Constant& source, Shape shape, const std::vector<std::size_t>& positions) {
  return std::visit(
      [&](const auto& values) {
        std::decay_t<decltype(values)> result;
        result.reserve(positions.size());
        for (const std::size_t i : positions) result.push_back(values[i]);
        return Constant{std::move(shape), std::move(result)};
      },
      source.data);
}

Constant reshaped(const Constant& source, Shape shape) {
  if (shape.size() != static_cast<Index>(source.size())) {
    refuse("a constant of {} cannot become {}", source.shape.to_string(), shape.to_string());
  }
  return {std::move(shape), source.data};
}

/// Row-major steps of `shape`.
std::vector<Index> strides(const Shape& shape) {
  std::vector<Index> result(at(shape.rank()), 1);
  for (Index i = shape.rank() - 2; i >= 0; --i) {
    if (__builtin_mul_overflow(result[at(i + 1)], shape[i + 1], &result[at(i)])) {
      refuse("a constant of {} is too large", shape.to_string());
    }
  }
  return result;
}

/// Positions in a tensor of which an element of `shape` at index i, j, ... lies at i *
/// steps[0] + j * steps[1] + ...
std::vector<std::size_t> positions(const Shape& shape, const std::vector<Index>& steps) {
  std::vector<std::size_t> result = {0};
  if (shape.size() == 0) return {};
  for (Index axis = 0; axis < shape.rank(); ++axis) {
    std::vector<std::size_t> next;
    next.reserve(result.size() * at(shape[axis]));
    for (const std::size_t base : result) {
      for (Index i = 0; i < shape[axis]; ++i) next.push_back(base + at(i * steps[at(axis)]));
    }
    result = std::move(next);
  }
  return result;
}

Constant transposed(const Node& node, const Constant& x) {
  Integers perm = node.integers("perm");
  const Index rank = x.shape.rank();
  if (perm.empty()) {
    for (Index i = rank; i-- > 0;) perm.push_back(i);
  }
  std::vector<bool> seen(at(rank));
  std::vector<Index> extents;
  std::vector<Index> steps;
  const std::vector<Index> of = strides(x.shape);
  if (static_cast<Index>(perm.size()) != rank) refuse("perm does not match the rank {}", rank);
  for (const std::int64_t axis : perm) {
    const Index from = counted(axis, rank, "axis");
    if (seen[at(from)]) refuse("perm names axis {} twice", from);
    seen[at(from)] = true;
    extents.push_back(x.shape[from]);
    steps.push_back(of[at(from)]);
  }
  Shape shape(std::move(extents));
  return picked(x, shape, positions(shape, steps));
}

Constant unsqueezed(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  const auto axes = axes_of(node, 1, inputs.size() > 1 ? inputs[1] : nullptr);
  if (!axes.has_value() || axes->size() > 8) refuse("expected axes");
  const Index rank = x.shape.rank() + static_cast<Index>(axes->size());
  std::vector<bool> added(at(rank));
  for (const std::int64_t axis : *axes) added[at(counted(axis, rank, "axis"))] = true;
  std::vector<Index> extents;
  Index next = 0;
  for (Index i = 0; i < rank; ++i) {
    if (!added[at(i)] && next == x.shape.rank()) refuse("axes name one twice");
    extents.push_back(added[at(i)] ? 1 : x.shape[next++]);
  }
  return reshaped(x, Shape(std::move(extents)));
}

Constant squeezed(const Node& node, const Inputs& inputs) {
  const Constant& x = *inputs[0];
  const auto axes = axes_of(node, 1, inputs.size() > 1 ? inputs[1] : nullptr);
  std::vector<bool> dropped(at(x.shape.rank()), false);
  for (Index i = 0; i < x.shape.rank() && !axes.has_value(); ++i) {
    dropped[at(i)] = x.shape[i] == 1;
  }
  for (const std::int64_t axis : axes.value_or(Integers())) {
    dropped[at(counted(axis, x.shape.rank(), "axis"))] = true;
  }
  std::vector<Index> extents;
  for (Index i = 0; i < x.shape.rank(); ++i) {
    if (!dropped[at(i)]) extents.push_back(x.shape[i]);
  }
  return reshaped(x, Shape(std::move(extents)));
}

Constant reshape(const Constant& x, const Integers& target) {
  std::vector<Index> extents(target.begin(), target.end());
  Index known = 1;
  Index free = -1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0 && static_cast<Index>(i) < x.shape.rank()) {
      extents[i] = x.shape[static_cast<Index>(i)];
    }
    if (extents[i] == -1 && free == -1) {
      free = static_cast<Index>(i);
    } else if (extents[i] < 0 || __builtin_mul_overflow(known, extents[i], &known)) {
      refuse("a constant cannot become of extent {}", extents[i]);
    }
  }
  if (free >= 0) extents[at(free)] = known == 0 ? 0 : static_cast<Index>(x.size()) / known;
  return reshaped(x, Shape(std::move(extents)));
}

/// Rows of `x`, positions along its first axis.
Constant rows_of(const Constant& x, const Shape& shape, const std::vector<Index>& rows,
                 Graph& graph) {
  const Shape row = x.shape.without_dim(0);
  const auto size = at(row.size());
  graph.spend(rows.size() * size);
  std::vector<std::size_t> from;
  from.reserve(rows.size() * size);
  for (const Index i : rows) {
    for (std::size_t j = 0; j < size; ++j) from.push_back(at(i) * size + j);
  }
  std::vector<Index> extents(shape.begin(), shape.end());
  extents.insert(extents.end(), row.begin(), row.end());
  return picked(x, Shape(std::move(extents)), from);
}

Constant gathered(const Node& node, const Constant& x, const Constant& indices, Graph& graph) {
  const Index axis = counted(node.integer("axis", 0), x.shape.rank(), "axis");
  if (axis != 0) refuse("Gather of constants along axis {}, expected 0", axis);
  std::vector<Index> rows;
  for (const std::int64_t i : indices.integers()) rows.push_back(counted(i, x.shape[0], "index"));
  return rows_of(x, indices.shape, rows, graph);
}

/// What Slice gives for `key`, an attribute up to opset 9 and input `i` since, which is one number.
std::int64_t slice_number(const Node& node, const Inputs& inputs, std::string_view key,
                          std::size_t i, std::optional<std::int64_t> otherwise) {
  Integers values = node.integers(key);
  if (i < inputs.size() && inputs[i] != nullptr) values = inputs[i]->integers();
  if (values.empty() && otherwise.has_value()) return *otherwise;
  if (values.size() != 1) refuse("Slice of a constant by {} [{}]", key, fmt::join(values, ", "));
  return values[0];
}

/// Along the first axis.
Constant sliced(const Node& node, const Inputs& inputs, Graph& graph) {
  const Constant& x = *inputs[0];
  const std::int64_t start = slice_number(node, inputs, "starts", 1, std::nullopt);
  const std::int64_t end = slice_number(node, inputs, "ends", 2, std::nullopt);
  const std::int64_t axis = slice_number(node, inputs, "axes", 3, 0);
  const std::int64_t step = slice_number(node, inputs, "steps", 4, 1);
  if (x.shape.rank() < 1 || axis != 0 || (step != 1 && step != -1)) {
    refuse("Slice of a constant {} along axis {} in steps of {}", x.shape.to_string(), axis, step);
  }
  const Index extent = x.shape[0];
  // Backwards, a slice may end in front of the first row.
  const auto bounded = [&](std::int64_t i, Index lo, Index hi) {
    return std::clamp(i < 0 ? std::max(i, -extent - 1) + extent : i, lo, hi);
  };
  const bool forwards = step == 1;
  const Index first = forwards ? bounded(start, 0, extent) : bounded(start, -1, extent - 1);
  const Index stop = forwards ? bounded(end, 0, extent) : bounded(end, -1, extent - 1);
  // Rows without elements are any number.
  const Index count = std::max<Index>(forwards ? stop - first : first - stop, 0);
  graph.spend(at(count));
  std::vector<Index> rows;
  rows.reserve(at(count));
  for (Index i = 0; i < count; ++i) rows.push_back(forwards ? first + i : first - i);
  return rows_of(x, {static_cast<Index>(rows.size())}, rows, graph);
}

/// Joins vectors end to end.
Constant concatenated(const Inputs& inputs) {
  Constant result = *inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Constant& more = *inputs[i];
    if (more.data.index() != result.data.index()) refuse("Concat of floats and integers");
    std::visit(
        [&](auto& values) {
          const auto& added = std::get<std::decay_t<decltype(values)>>(more.data);
          values.insert(values.end(), added.begin(), added.end());
        },
        result.data);
  }
  const bool vectors =
      std::ranges::all_of(inputs, [](const Constant* x) { return x->shape.rank() == 1; });
  if (!vectors) refuse("Concat of constants that are no vectors");
  result.shape = {static_cast<Index>(result.size())};
  return result;
}

float compute(char op, float a, float b) {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    default:
      return a / b;
  }
}

/// A product or a quotient of a multiple of the number of examples and a number.
std::int64_t compute_batches(char op, std::int64_t a, std::int64_t b) {
  const Index count = std::max(batches_in(a), batches_in(b));
  const std::int64_t number = batches_in(a) > 0 ? b : a;
  Index product = 0;
  const bool multiplies =
      op == '*' && batches_in(number) == 0 && !__builtin_mul_overflow(count, number, &product);
  if (multiplies) return batches(product);
  if (op != '/' || batches_in(b) > 0 || b < 1 || count % b != 0) {
    refuse("computes with the number of examples");
  }
  return batches(count / b);
}

std::int64_t compute(char op, std::int64_t a, std::int64_t b) {
  if (batches_in(a) > 0 || batches_in(b) > 0) return compute_batches(op, a, b);
  std::int64_t result = 0;
  const bool overflows = op == '+'   ? __builtin_add_overflow(a, b, &result)
                         : op == '-' ? __builtin_sub_overflow(a, b, &result)
                         : op == '*' ? __builtin_mul_overflow(a, b, &result)
                                     : b == 0 || b == -1;
  if (op == '/' && b == -1) return -a;
  if (overflows) refuse("computes with integers that overflow");
  return op == '/' ? a / b : result;
}

/// Positions in a tensor of shape `from` of the elements of `shape`, which it broadcasts to.
std::vector<std::size_t> broadcast_positions(const Shape& from, const Shape& shape) {
  std::vector<Index> steps = strides(from);
  for (Index i = 0; i < from.rank(); ++i) steps[at(i)] = from[i] == 1 ? 0 : steps[at(i)];
  steps.insert(steps.begin(), at(shape.rank() - from.rank()), 0);
  return positions(shape, steps);
}

Constant arithmetic(char op, const Constant& a, const Constant& b, Graph& graph) {
  if (a.data.index() != b.data.index()) refuse("arithmetic of floats and integers");
  const Shape shape = broadcast_shapes("constants", a.shape, b.shape);
  graph.spend(at(shape.size()));
  const auto left = broadcast_positions(a.shape, shape);
  const auto right = broadcast_positions(b.shape, shape);
  return std::visit(
      [&](const auto& values) {
        using Values = std::decay_t<decltype(values)>;
        const auto& others = std::get<Values>(b.data);
        Values result(left.size());
        for (std::size_t i = 0; i < left.size(); ++i) {
          result[i] = compute(op, values[left[i]], others[right[i]]);
        }
        return Constant{shape, std::move(result)};
      },
      a.data);
}

Constant cast(const Node& node, const Constant& x) {
  const std::int64_t to = node.integer("to", 0);
  const bool to_float = to == 1 || to == 11;
  if (!to_float && to != 6 && to != 7) refuse("Cast of a constant to element type {}", to);
  if (to_float == x.is_float()) return x;
  if (to_float) {
    if (std::ranges::any_of(x.integers(), [](auto n) { return batches_in(n) > 0; })) {
      refuse("computes with the number of examples");
    }
    return {x.shape, std::vector<float>(x.integers().begin(), x.integers().end())};
  }
  Integers values;
  for (const float value : x.floats()) {
    if (!(value > -1e9F && value < 1e9F)) refuse("Cast of {} to an integer", value);
    values.push_back(static_cast<std::int64_t>(value));
  }
  return {x.shape, std::move(values)};
}

/// The square root of each number, as exporters scale the products of attention.
Constant root_of(const Constant& x) {
  Constant result = x;
  for (float& value : std::get<0>(result.data)) value = std::sqrt(value);
  return result;
}

/// The extents that a constant gives of another one. What is there for every example is there once,
/// and broadcasts.
Shape extents_of(const Constant& shape) {
  std::vector<Index> extents(shape.integers().begin(), shape.integers().end());
  std::ranges::replace(extents, kBatch, Index{1});
  return Shape(std::move(extents));
}

Constant expanded(const Constant& x, const Constant& target, Graph& graph) {
  const Shape shape = broadcast_shapes("constants", x.shape, extents_of(target));
  graph.spend(at(shape.size()));
  return picked(x, shape, broadcast_positions(x.shape, shape));
}

Constant filled(const Node& node, const Constant& shape, Graph& graph) {
  const Shape extents = extents_of(shape);
  graph.fill(at(extents.size()));
  const auto value = node.attributes.find("value");
  const auto* given =
      value == node.attributes.end() ? nullptr : std::get_if<Constant>(&value->second);
  if (given == nullptr) return {extents, std::vector<float>(at(extents.size()))};
  if (given->size() != 1) refuse("expected one value, found {}", given->size());
  return picked(*given, extents, std::vector<std::size_t>(at(extents.size()), 0));
}

Constant value_of(const Node& node) {
  for (const auto& [key, value] : node.attributes) {
    if (key == "value") {
      const auto* constant = std::get_if<Constant>(&value);
      if (constant != nullptr) return *constant;
    }
    if (key == "value_float") return {{}, std::vector<float>{node.real(key, 0)}};
    if (key == "value_int") return {{}, Integers{node.integer(key, 0)}};
    if (key == "value_ints") {
      const Integers values = node.integers(key);
      return {{static_cast<Index>(values.size())}, values};
    }
    if (key == "value_floats") {
      const auto* values = std::get_if<std::vector<float>>(&value);
      if (values != nullptr) return {{static_cast<Index>(values->size())}, *values};
    }
  }
  refuse("expected a Constant of numbers");
}

std::optional<Constant> value_from(const Node& node, const Inputs& inputs, Graph& graph) {
  if (node.op == "Constant") return value_of(node);
  if (inputs.empty() || inputs[0] == nullptr) return std::nullopt;
  const Constant& x = *inputs[0];
  const Constant* second = inputs.size() > 1 ? inputs[1] : nullptr;
  std::size_t copied = 0;
  for (const Constant* input : inputs) copied += input == nullptr ? 0 : input->size();
  graph.spend(copied);
  if (node.op == "Identity") return x;
  if (node.op == "Cast") return cast(node, x);
  if (node.op == "Sqrt" && x.is_float()) return root_of(x);
  if (node.op == "Transpose") return transposed(node, x);
  if (node.op == "Unsqueeze") return unsqueezed(node, inputs);
  if (node.op == "Squeeze") return squeezed(node, inputs);
  if (node.op == "Slice") return sliced(node, inputs, graph);
  if (node.op == "Concat") return concatenated(inputs);
  if (node.op == "ConstantOfShape") return filled(node, x, graph);
  if (node.op == "Shape") {
    return Constant{{x.shape.rank()}, Integers(x.shape.begin(), x.shape.end())};
  }
  if (second == nullptr) return std::nullopt;
  if (node.op == "Reshape") return reshape(x, second->integers());
  if (node.op == "Expand") return expanded(x, *second, graph);
  if (node.op == "Gather") return gathered(node, x, *second, graph);
  constexpr std::array<std::pair<std::string_view, char>, 4> kArithmetic = {
      {{"Add", '+'}, {"Sub", '-'}, {"Mul", '*'}, {"Div", '/'}}};
  for (const auto& [op, sign] : kArithmetic) {
    if (node.op == op) return arithmetic(sign, x, *second, graph);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Constant> evaluate(const Node& node, const Inputs& inputs, Graph& graph) {
  std::optional<Constant> value = value_from(node, inputs, graph);
  if (value.has_value()) require_rank(value->shape);
  return value;
}

}  // namespace octet::detail::onnx_import
