#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/initializer.h>
#include <octet/layers/recurrent.h>

#include <algorithm>

namespace octet {

Recurrent::Recurrent(std::string_view type, Index units, RecurrentOptions options, Cell cell)
    : Layer(options.name), units_(units), options_(std::move(options)), cell_(std::move(cell)) {
  if (units < 1) {
    throw InvalidArgument(fmt::format("{}: expected at least 1 unit, found {}", type, units));
  }
  // Throws where it overflows.
  static_cast<void>(Shape({static_cast<Index>(cell_.gates.size()), units, units}).size());
}

Recurrent::Recurrent(const Recurrent& other)
    : Layer(other),
      units_(other.units_),
      order_(other.order_),
      options_(other.options_),
      cell_(other.cell_),
      kernel_(clone_leaf(other.kernel_)),
      recurrent_kernel_(clone_leaf(other.recurrent_kernel_)),
      bias_(clone_leaf(other.bias_)) {}

LayerWeights Recurrent::gate(const Tensor& kernel, Index row, std::size_t i) const {
  const Index begin = static_cast<Index>(i) * units_;
  const AxisSlice columns{begin, begin + units_};
  const auto bias = [&]() -> Tensor {
    if (cell_.has_recurrent_bias) {
      return slice(bias_, {{row, row + 1}, columns}).reshape({units_});
    }
    return row == 0 ? slice(bias_, {columns}) : Tensor();
  };
  return {.kernel = slice(kernel, {{0, kernel.dim(0)}, columns}), .bias = bias()};
}

std::vector<GraphValue> Recurrent::recurrent_products(Graph& g, GraphValue h) const {
  std::vector<GraphValue> products;
  for (std::size_t i = 0; i < cell_.gates.size(); ++i) {
    const auto weights = [this, i] { return gate(recurrent_kernel_, 1, i); };
    products.push_back(g.linear(h, fmt::format("recurrent_kernel_{}", cell_.gates[i]), weights,
                                fmt::format("/recurrent_{}", cell_.gates[i])));
  }
  return products;
}

std::vector<GraphValue> Recurrent::emit(Graph& g, std::span<const GraphValue> inputs) const {
  std::vector<GraphValue> x;
  for (std::size_t i = 0; i < cell_.gates.size(); ++i) {
    const auto weights = [this, i] { return gate(kernel_, 0, i); };
    x.push_back(g.linear(inputs[0], fmt::format("kernel_{}", cell_.gates[i]), weights,
                         fmt::format("/input_{}", cell_.gates[i])));
  }
  std::vector<std::optional<GraphValue>> first(cell_.states);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const bool is_row = g.shape(inputs[i]).rank() == 2;
    first[i - 1] = is_row ? g.reshape(inputs[i], {units_}, "/first") : inputs[i];
  }
  const auto states = g.scan(
      x, first, [&](auto x_t, auto before) { return step(g, x_t, before); }, order_);
  std::vector<GraphValue> results = states.back();
  if (!options_.return_sequences) return results;
  std::vector<GraphValue> first_states;
  for (const std::vector<GraphValue>& behind : states) first_states.push_back(behind[0]);
  if (order_ == StepOrder::backward) std::ranges::reverse(first_states);
  results[0] = g.stack(first_states);
  return results;
}

LayerTensors Recurrent::tensors() const {
  return {.parameters = {
              {"kernel", kernel_}, {"recurrent_kernel", recurrent_kernel_}, {"bias", bias_}}};
}

void Recurrent::describe(Description& description) const {
  description.set("units", units_).set("return_sequences", options_.return_sequences);
}

Index Recurrent::units_of(const Description& description) { return description.integer("units"); }

RecurrentOptions Recurrent::options_of(const Description& description) {
  return {.return_sequences = description.flag("return_sequences")};
}

void Recurrent::require_shapes(std::span<const Shape> inputs) const {
  const bool counts = inputs.size() == 1 || inputs.size() == 1 + cell_.states;
  const bool is_sequence = counts && inputs[0].rank() == 2 && inputs[0][0] > 0;
  const auto is_state = [&](const Shape& shape) {
    return shape == Shape{units_} || shape == Shape{1, units_};
  };
  if (is_sequence && std::ranges::all_of(inputs.subspan(1), is_state)) return;
  std::string found;
  for (const Shape& shape : inputs) found += (found.empty() ? "" : ", ") + shape.to_string();
  throw InvalidArgument(
      fmt::format("{} \"{}\": expected sequences [steps, features], and behind them no other input "
                  "or {} first state{} [{}] or [1, {}], found {}",
                  type(), name(), cell_.states == 1 ? "a" : std::to_string(cell_.states),
                  cell_.states == 1 ? "" : "s, each", units_, units_, found));
}

void Recurrent::make_tensors(std::span<const Shape> inputs, const Random& random) {
  require_shapes(inputs);
  const Index features = inputs[0][1];
  kernel_ = initialize(Initializer::glorot_uniform, {features, columns()}, features, columns(),
                       random.fork(0))
                .set_requires_grad(true);
  recurrent_kernel_ =
      initialize(Initializer::orthogonal, {units_, columns()}, units_, columns(), random.fork(1))
          .set_requires_grad(true);
  bias_ = Tensor::zeros(cell_.has_recurrent_bias ? Shape{2, columns()} : Shape{columns()});
  const auto open = std::ranges::find(cell_.gates, cell_.starts_open);
  if (open != cell_.gates.end()) {
    const auto begin = static_cast<std::size_t>((open - cell_.gates.begin()) * units_);
    std::ranges::fill(bias_.mutable_span().subspan(begin, static_cast<std::size_t>(units_)), 1.0F);
  }
  bias_.set_requires_grad(true);
}

}  // namespace octet
