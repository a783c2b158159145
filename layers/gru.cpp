#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/graph.h>
#include <octet/layers/gru.h>
#include <octet/layers/initializer.h>

#include <array>

namespace octet {
namespace {

constexpr std::array<std::string_view, 3> kGates = {"z", "r", "n"};

}  // namespace

GRU::GRU(Index units, GRUOptions options)
    : Layer(options.name), units_(units), options_(std::move(options)) {
  if (units < 1) {
    throw InvalidArgument(fmt::format("GRU: expected at least 1 unit, found {}", units));
  }
  static_cast<void>(Shape({3, units, units}).size());  // Throws where it overflows.
}

GRU::GRU(const GRU& other)
    : Layer(other),
      units_(other.units_),
      options_(other.options_),
      kernel_(clone_leaf(other.kernel_)),
      recurrent_kernel_(clone_leaf(other.recurrent_kernel_)),
      bias_(clone_leaf(other.bias_)) {}

LayerWeights GRU::gate(const Tensor& kernel, Index bias, Index i) const {
  const AxisSlice columns{i * units_, (i + 1) * units_};
  return {.kernel = slice(kernel, {{0, kernel.dim(0)}, columns}),
          .bias = slice(bias_, {{bias, bias + 1}, columns}).reshape({units_})};
}

GraphValue GRU::step(Graph& g, const std::array<GraphValue, 3>& x, GraphValue h) const {
  std::array<GraphValue, 3> u;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const auto weights = [this, i] { return gate(recurrent_kernel_, 1, static_cast<Index>(i)); };
    u.at(i) = g.linear(h, fmt::format("recurrent_kernel_{}", kGates.at(i)), weights,
                       fmt::format("/recurrent_{}", kGates.at(i)));
  }
  const auto op = [&](OpCode code, const std::vector<GraphValue>& inputs, std::string_view name) {
    return g.op(code, inputs, std::nullopt, name);
  };
  const GraphValue z = op(OpCode::logistic, {op(OpCode::add, {x[0], u[0]}, "/sum_z")}, "/z");
  const GraphValue r = op(OpCode::logistic, {op(OpCode::add, {x[1], u[1]}, "/sum_r")}, "/r");
  const GraphValue reset = op(OpCode::mul, {r, u[2]}, "/reset");
  const GraphValue n = op(OpCode::tanh, {op(OpCode::add, {x[2], reset}, "/sum_n")}, "/n");
  const GraphValue kept = op(OpCode::mul, {z, op(OpCode::sub, {h, n}, "/difference")}, "/kept");
  return op(OpCode::add, {n, kept}, "/h");
}

std::vector<GraphValue> GRU::emit(Graph& g, std::span<const GraphValue> inputs) const {
  std::array<GraphValue, 3> x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto weights = [this, i] { return gate(kernel_, 0, static_cast<Index>(i)); };
    x.at(i) = g.linear(inputs[0], fmt::format("kernel_{}", kGates.at(i)), weights,
                       fmt::format("/input_{}", kGates.at(i)));
  }
  const auto body = [&](std::span<const GraphValue> x_t, GraphValue h) {
    return step(g, {x_t[0], x_t[1], x_t[2]}, h);
  };
  std::optional<GraphValue> first;
  if (inputs.size() == 2) {
    const bool is_row = g.shape(inputs[1]).rank() == 2;
    first = is_row ? g.reshape(inputs[1], {units_}, "/first") : inputs[1];
  }
  const std::vector<GraphValue> states = g.scan(x, first, body);
  return {options_.return_sequences ? g.stack(states) : states.back()};
}

std::vector<NamedTensor> GRU::parameters() const {
  return {{"kernel", kernel_}, {"recurrent_kernel", recurrent_kernel_}, {"bias", bias_}};
}

void GRU::describe(Description& description) const {
  description.set("units", units_).set("return_sequences", options_.return_sequences);
}

std::unique_ptr<Layer> GRU::make(const Description& d) {
  return std::make_unique<GRU>(d.integer("units"),
                               GRUOptions{.return_sequences = d.flag("return_sequences")});
}

std::vector<std::pair<std::string, Shape>> GRU::large_tensors(const Shape& input) const {
  return {{"kernel", {input.dim(-1), 3 * units_}}, {"recurrent_kernel", {units_, 3 * units_}}};
}

Shape GRU::do_build_all(std::span<const Shape> inputs, const Random& random) {
  const bool fits =
      !inputs.empty() && inputs.size() <= 2 && inputs[0].rank() == 2 && inputs[0][0] > 0 &&
      (inputs.size() == 1 || inputs[1] == Shape{units_} || inputs[1] == Shape{1, units_});
  if (!fits) {
    std::string found;
    for (const Shape& shape : inputs) found += (found.empty() ? "" : ", ") + shape.to_string();
    throw InvalidArgument(
        fmt::format("GRU \"{}\": expected sequences [steps, features], and behind them no other "
                    "input or a first state [{}] or [1, {}], found {}",
                    name(), units_, units_, found));
  }
  const Index features = inputs[0][1];
  kernel_ = initialize(Initializer::glorot_uniform, {features, 3 * units_}, features, 3 * units_,
                       random.fork(0))
                .set_requires_grad(true);
  recurrent_kernel_ = initialize(Initializer::glorot_uniform, {units_, 3 * units_}, units_,
                                 3 * units_, random.fork(1))
                          .set_requires_grad(true);
  bias_ = Tensor::zeros({2, 3 * units_}).set_requires_grad(true);
  return options_.return_sequences ? Shape{inputs[0][0], units_} : Shape{units_};
}

}  // namespace octet
