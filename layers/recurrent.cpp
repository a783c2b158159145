#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/dropout.h>
#include <octet/layers/graph.h>
#include <octet/layers/initializer.h>
#include <octet/layers/recurrent.h>

#include <algorithm>
#include <utility>

namespace octet {

Recurrent::Recurrent(std::string_view type, Index units, RecurrentOptions options, Cell cell)
    : Layer(options.name), units_(units), options_(std::move(options)), cell_(std::move(cell)) {
  if (!options_.reset_after && !cell_.has_recurrent_bias) {
    throw InvalidArgument(
        fmt::format("{}: expected reset_after to be left out, which GRU alone has", type));
  }
  if (options_.fused && type != "LSTM") {
    throw InvalidArgument(
        fmt::format("{}: expected fused to be left out, which LSTM alone has", type));
  }
  // Behind a state that was reset, a second bias would do what the first does.
  if (!options_.reset_after) cell_.has_recurrent_bias = false;
  if (units < 1) {
    throw InvalidArgument(fmt::format("{}: expected at least 1 unit, found {}", type, units));
  }
  for (const float rate : {options_.dropout, options_.recurrent_dropout}) {
    if (rate >= 0.0F && rate < 1.0F) continue;
    throw InvalidArgument(
        fmt::format("{}: expected dropout and recurrent_dropout in [0, 1), found {}", type, rate));
  }
  if (options_.truncation < 0) {
    throw InvalidArgument(
        fmt::format("{}: expected a truncation of at least 1 step, or 0 for none, found {}", type,
                    options_.truncation));
  }
  // Throws where it overflows.
  static_cast<void>(Shape({static_cast<Index>(cell_.gates.size()), units, units}).size());
}

Recurrent::Recurrent(const Recurrent& other)
    : Layer(other),
      units_(other.units_),
      options_(other.options_),
      cell_(other.cell_),
      has_operator_(other.has_operator_),
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

GraphValue Recurrent::read_state(Graph& g, GraphValue h) const {
  if (options_.recurrent_dropout == 0.0F) return h;
  return g.function({&h, 1}, g.shape(h), drop_channels(options_.recurrent_dropout));
}

GraphValue Recurrent::read_input(Graph& g, GraphValue x) const {
  if (options_.dropout == 0.0F) return x;
  return g.function({&x, 1}, g.shape(x), drop_channels(options_.dropout));
}

GraphValue Recurrent::recurrent_product(Graph& g, GraphValue h, std::size_t i) const {
  const auto weights = [this, i] { return recurrent_weights(i); };
  return g.linear(h, fmt::format("recurrent_kernel_{}", cell_.gates[i]), weights,
                  fmt::format("/recurrent_{}", cell_.gates[i]));
}

std::vector<GraphValue> Recurrent::recurrent_products(Graph& g, GraphValue h) const {
  const GraphValue read = read_state(g, h);
  std::vector<GraphValue> products;
  for (std::size_t i = 0; i < cell_.gates.size(); ++i) {
    products.push_back(recurrent_product(g, read, i));
  }
  return products;
}

/// h + m (h' - h).
GraphValue Recurrent::masked_state(Graph& g, GraphValue mask, GraphValue before,
                                   GraphValue next) const {
  const GraphValue difference = g.op(OpCode::sub, {next, before}, std::nullopt, "/step");
  const GraphValue change = g.op(OpCode::mul, {difference, mask}, std::nullopt, "/change");
  return g.op(OpCode::add, {before, change}, std::nullopt, "/masked");
}

namespace {

/// Passes its input on, and its gradient where `passes`.
TensorFunction gradient_gate(bool passes) {
  const auto run = [passes](std::span<const Tensor> x, const ForwardContext& /*context*/,
                            FusedActivation /*clamp*/) { return passes ? x[0] : x[0].detach(); };
  return {.run = run, .only_trains = true};
}

}  // namespace

std::vector<GraphValue> Recurrent::first_states(Graph& g,
                                                std::span<const GraphValue> inputs) const {
  std::vector<GraphValue> first;
  for (const GraphValue state : inputs.subspan(sequence_count())) {
    const bool is_row = g.shape(state).rank() == 2;
    first.push_back(is_row ? g.reshape(state, {units_}, "/first") : state);
  }
  return first;
}

std::vector<GraphValue> Recurrent::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const GraphValue read = read_input(g, inputs[0]);
  std::vector<GraphValue> x;
  for (std::size_t i = 0; i < cell_.gates.size(); ++i) {
    const auto weights = [this, i] { return input_weights(i); };
    x.push_back(g.linear(read, fmt::format("kernel_{}", cell_.gates[i]), weights,
                         fmt::format("/input_{}", cell_.gates[i])));
  }
  if (options_.masked) {
    const GraphValue mask = inputs[1];
    const Shape column = {g.shape(mask)[0], 1};
    x.push_back(g.shape(mask) == column ? mask : g.reshape(mask, column, "/mask"));
  }
  std::vector<std::optional<GraphValue>> first(cell_.states);
  std::ranges::copy(first_states(g, inputs), first.begin());
  Index t = 0;
  const auto body = [&](std::span<const GraphValue> x_t, std::span<const GraphValue> states) {
    std::vector<GraphValue> before(states.begin(), states.end());
    if (options_.truncation > 0) {
      const bool passes = t == 0 || t % options_.truncation != 0;
      for (GraphValue& state : before) {
        state = g.function({&state, 1}, g.shape(state), gradient_gate(passes));
      }
    }
    ++t;
    std::vector<GraphValue> behind = step(g, x_t.first(cell_.gates.size()), before);
    for (std::size_t i = 0; options_.masked && i < behind.size(); ++i) {
      behind[i] = masked_state(g, x_t.back(), before[i], behind[i]);
    }
    return behind;
  };
  const auto order = options_.go_backwards ? StepOrder::backward : StepOrder::forward;
  const auto states = g.scan(x, first, body, order);
  std::vector<GraphValue> results = states.back();
  if (!options_.return_sequences) return results;
  std::vector<GraphValue> first_states;
  first_states.reserve(states.size());
  for (const std::vector<GraphValue>& behind : states) first_states.push_back(behind[0]);
  if (options_.go_backwards) std::ranges::reverse(first_states);
  results[0] = g.stack(first_states);
  return results;
}

void Recurrent::quantize_for(Rounding rounding) {
  has_operator_ =
      options_.fused && (rounding == Rounding::double_rounding || rounding == Rounding::q15);
}

LayerTensors Recurrent::tensors() const {
  return {.parameters = {
              {"kernel", kernel_}, {"recurrent_kernel", recurrent_kernel_}, {"bias", bias_}}};
}

void Recurrent::describe(Description& description) const {
  description.set("units", units_).set("return_sequences", options_.return_sequences);
  // What older versions did not have is written where it is used.
  if (options_.masked) description.set("masked", true);
  if (options_.dropout > 0.0F) description.set("dropout", double{options_.dropout});
  if (options_.recurrent_dropout > 0.0F) {
    description.set("recurrent_dropout", double{options_.recurrent_dropout});
  }
  if (options_.truncation > 0) description.set("truncation", options_.truncation);
  if (!options_.reset_after) description.set("reset_after", false);
  if (options_.go_backwards) description.set("go_backwards", true);
  if (options_.fused) description.set("fused", true);
}

Index Recurrent::units_of(const Description& description) { return description.integer("units"); }

RecurrentOptions Recurrent::options_of(const Description& description) {
  RecurrentOptions options{.return_sequences = description.flag("return_sequences")};
  if (description.has("masked")) options.masked = description.flag("masked");
  if (description.has("dropout")) options.dropout = description.float_number("dropout");
  if (description.has("recurrent_dropout")) {
    options.recurrent_dropout = description.float_number("recurrent_dropout");
  }
  if (description.has("truncation")) options.truncation = description.integer("truncation");
  if (description.has("reset_after")) options.reset_after = description.flag("reset_after");
  if (description.has("go_backwards")) options.go_backwards = description.flag("go_backwards");
  if (description.has("fused")) options.fused = description.flag("fused");
  return options;
}

void Recurrent::require_shapes(std::span<const Shape> inputs) const {
  const std::size_t sequences = sequence_count();
  const bool counts = inputs.size() == sequences || inputs.size() == sequences + cell_.states;
  const bool is_sequence = counts && inputs[0].rank() == 2 && inputs[0][0] > 0;
  const bool fits_mask =
      !options_.masked ||
      (is_sequence && (inputs[1] == Shape{inputs[0][0]} || inputs[1] == Shape{inputs[0][0], 1}));
  const auto is_state = [&](const Shape& shape) {
    return shape == Shape{units_} || shape == Shape{1, units_};
  };
  if (is_sequence && fits_mask && std::ranges::all_of(inputs.subspan(sequences), is_state)) return;
  std::string found;
  for (const Shape& shape : inputs) found += (found.empty() ? "" : ", ") + shape.to_string();
  throw InvalidArgument(fmt::format(
      "{} \"{}\": expected sequences [steps, features]{}, and behind them no other input "
      "or {} first state{} [{}] or [1, {}], found {}",
      type(), name(), options_.masked ? " with their mask [steps] or [steps, 1]" : "",
      cell_.states == 1 ? "a" : std::to_string(cell_.states), cell_.states == 1 ? "" : "s, each",
      units_, units_, found));
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
