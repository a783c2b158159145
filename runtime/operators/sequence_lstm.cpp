#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/requantize.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/lstm_steps.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

namespace octet::detail {
namespace {

// Operands: see SequenceLstmAttributes.
constexpr std::size_t kGates = 4;
constexpr std::size_t kInputWeights = 1;
constexpr std::size_t kHiddenWeights = 5;
constexpr std::size_t kBiases = 9;
constexpr std::size_t kHidden = 13;
constexpr std::array<const char*, kGates> kGateNames = {"input", "forget", "cell", "output"};

struct LstmGeometry {
  Index batch;
  Index steps;
  Index inputs;
  Index cells;
  bool time_major;
};

LstmGeometry geometry_of(const Operands& o) {
  const bool time_major = o.op.as<SequenceLstmAttributes>().time_major;
  const auto& x = o.input().shape;
  return {.batch = x[time_major ? 1 : 0],
          .steps = x[time_major ? 0 : 1],
          .inputs = x[2],
          .cells = o.input(1).shape[0],
          .time_major = time_major};
}

/// Sums over the weights of one gate, rescaled.
template <class Code>
class GateSums {
 public:
  using Sum = std::conditional_t<sizeof(Code) == 1, std::int32_t, std::int64_t>;

  /// `values` are what operand `weights` weighs; operand `bias`, where that is not 0, is added.
  GateSums(const KernelSource& source, const ModelTensor& values, std::size_t weights,
           std::size_t bias, Rounding rounding)
      : weights_(values_of<std::int8_t>(source.input(weights))),
        depth_(source.input(weights).shape[1]),
        requantizer_(Requantizer::fully_connected(values.quantization.scale(),
                                                  source.input(weights).quantization.scales,
                                                  kLstmGateScale, rounding)) {
    const auto units = weights_.size() / static_cast<std::size_t>(depth_);
    const auto added = bias == 0 ? std::vector<Sum>(units) : values_of<Sum>(source.input(bias));
    const std::int64_t zero_point = values.quantization.zero_point();
    std::vector<std::int64_t> magnitudes(units);
    std::vector<std::int64_t> sums(units);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::size_t unit = i / static_cast<std::size_t>(depth_);
      magnitudes[unit] += std::abs(weights_[i]);
      sums[unit] += weights_[i];
    }
    require_fitting(magnitudes, added, stored_params(values), source.input(weights).name);
    for (std::size_t unit = 0; unit < units; ++unit) {
      start_.push_back(static_cast<Sum>(added[unit] - zero_point * sums[unit]));
    }
  }

  static std::size_t bytes(const LstmGeometry& g, Index depth) {
    return static_cast<std::size_t>(g.cells) *
           (static_cast<std::size_t>(depth) + sizeof(Sum) + sizeof(QuantizedMultiplier));
  }

  std::int32_t operator()(const Code* values, Index unit) const {
    const std::int8_t* weights = weights_.data() + unit * depth_;
    Sum sum = 0;
    for (Index i = 0; i < depth_; ++i) sum += static_cast<Sum>(values[i]) * weights[i];
    sum += start_[static_cast<std::size_t>(unit)];
    if constexpr (sizeof(Code) == 1) {
      return requantizer_.apply(sum);
    } else {
      return requantizer_.apply_wide(sum);
    }
  }

 private:
  void require_fitting(const std::vector<std::int64_t>& magnitudes, const std::vector<Sum>& bias,
                       const QuantParams& values, const std::string& owner) const {
    const std::int64_t reach = farthest_from_zero_point(values);
    if constexpr (sizeof(Code) == 1) {
      accumulator_bound(magnitudes, bias, reach, owner);
    } else {
      for (std::size_t unit = 0; unit < bias.size(); ++unit) {
        // Far below what int64 holds, however large the bias.
        constexpr std::int64_t kMost = std::int64_t{1} << 60;
        const std::int64_t of_bias = std::clamp(bias[unit], -kMost, kMost);
        requantizer_.require_fitting(magnitudes[unit] * reach + std::abs(of_bias), owner);
      }
    }
  }

  std::vector<std::int8_t> weights_;
  Index depth_;
  std::vector<Sum> start_;
  Requantizer requantizer_;
};

/// Sequences of codes, by the functions and roundings of one runtime.
template <class Code, class StepRules>
class SequenceLstm final : public Kernel {
 public:
  SequenceLstm(const KernelSource& source, Rounding rounding)
      : geometry_(geometry_of(source)),
        rules_(source),
        zero_point_(source.output().quantization.zero_point()),
        clip_(rules_.clip(source.op.as<SequenceLstmAttributes>().cell_clip)) {
    for (std::size_t gate = 0; gate < kGates; ++gate) {
      of_input_.emplace_back(source, source.input(), kInputWeights + gate, kBiases + gate,
                             rounding);
      of_hidden_.emplace_back(source, source.input(kHidden), kHiddenWeights + gate, 0, rounding);
    }
  }

  std::size_t bytes() const override {
    return kGates * (GateSums<Code>::bytes(geometry_, geometry_.inputs) +
                     GateSums<Code>::bytes(geometry_, geometry_.cells));
  }

  void run(const KernelArguments& a) const override {
    const LstmGeometry& g = geometry_;
    const auto work = static_cast<std::size_t>(g.steps * g.cells * (g.inputs + g.cells)) * kGates;
    parallel_for(static_cast<std::size_t>(a.samples * g.batch),
                 parallel_grain(Work::integer_multiply_adds, work),
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                     run_sequence(a, i / g.batch, i % g.batch);
                   }
                 });
  }

 private:
  void run_sequence(const KernelArguments& a, Index sample, Index row) const {
    const LstmGeometry& g = geometry_;
    const auto operand = [&]<class T>(std::size_t i, T /*type*/) {
      return reinterpret_cast<const T*>(a.inputs[i].data +
                                        static_cast<std::size_t>(sample) * a.inputs[i].stride);
    };
    const Index rows_apart = g.time_major ? 1 : g.steps;
    const Index steps_apart = g.time_major ? g.batch : 1;
    const Index state = (sample * g.batch + row) * g.cells;
    const Code* x = operand(0, Code{}) + row * rows_apart * g.inputs;
    const Code* hidden = operand(kHidden, Code{}) + row * g.cells;
    Code* y = a.to<Code>() + (sample * g.batch * g.steps + row * rows_apart) * g.cells;
    std::int16_t* cell = a.to<std::int16_t>(2) + state;
    std::copy_n(operand(kLstmCell, std::int16_t{}) + row * g.cells, g.cells, cell);
    for (Index step = 0; step < g.steps; ++step) {
      for (Index unit = 0; unit < g.cells; ++unit) {
        y[unit] = run_cell(x, hidden, unit, cell[unit]);
      }
      hidden = y;
      x += steps_apart * g.inputs;
      y += steps_apart * g.cells;
    }
    std::copy_n(hidden, g.cells, a.to<Code>(1) + state);
  }

  /// The next hidden value of a unit, whose cell state is replaced.
  Code run_cell(const Code* x, const Code* hidden, Index unit, std::int16_t& cell) const {
    const auto gate = [&](std::size_t i) {
      return StepRules::sum(of_input_[i](x, unit), of_hidden_[i](hidden, unit));
    };
    const std::int32_t input = rules_.logistic(gate(0));
    const std::int32_t forget = rules_.logistic(gate(1));
    const std::int32_t candidate = rules_.tanh(gate(2));
    const std::int32_t output = rules_.logistic(gate(3));
    cell = rules_.cell(forget * cell, input * candidate);
    if (clip_ > 0) cell = static_cast<std::int16_t>(std::clamp<int>(cell, -clip_, clip_));
    const std::int64_t code = rules_.hidden(output * rules_.tanh_of_cell(cell));
    using Limits = std::numeric_limits<Code>;
    return static_cast<Code>(
        std::clamp<std::int64_t>(code + zero_point_, Limits::min(), Limits::max()));
  }

  LstmGeometry geometry_;
  StepRules rules_;
  std::int32_t zero_point_;
  std::int32_t clip_;
  std::vector<GateSums<Code>> of_input_;
  std::vector<GateSums<Code>> of_hidden_;
};

// ---- The operator

void check_weights(const OperatorView& view, std::size_t i, std::int32_t cells,
                   std::int32_t depth) {
  const ModelTensor& weights = view.input(i);
  if (weights.dtype != DType::int8) view.fail_types();
  if (!weights.is_constant()) view.fail(fmt::format("weights '{}' are no constant", weights.name));
  view.require_shape(weights, {cells, depth});
  view.require_per_tensor(weights, "weights");
  if (weights.quantization.zero_point() == 0) return;
  view.fail(fmt::format("expected zero point 0 of weights '{}', found {}", weights.name,
                        weights.quantization.zero_point()));
}

void check_states(const OperatorView& view, std::int32_t batch, std::int32_t cells) {
  const DType codes = view.input().dtype;
  if (view.input(kHidden).dtype != codes || view.input(kLstmCell).dtype != DType::int16) {
    view.fail_types();
  }
  view.require_int16_grid(view.input(kLstmCell));
  const float scale = view.input(kLstmCell).quantization.scale();
  if (std::ldexp(1.0F, std::ilogb(scale)) != scale || scale > 1.0F) {
    view.fail(fmt::format(
        "expected a power of two, at most 1, as scale of the cell state, found {}", scale));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const ModelTensor& before = view.input(kHidden + i);
    const ModelTensor& behind = view.output(1 + i);
    view.require_shape(before, {batch, cells});
    view.require_shape(behind, {batch, cells});
    if (behind.dtype == before.dtype && behind.quantization == before.quantization) continue;
    view.fail(
        fmt::format("expected the type and scale of state '{}' behind the last step, found "
                    "others in '{}'",
                    before.name, behind.name));
  }
  const ModelTensor& hidden = view.input(kHidden);
  view.require_per_tensor(hidden, "hidden state");
  if (codes == DType::int16) view.require_int16_grid(hidden);
  view.require_per_tensor(view.output(), "output");
  const QuantParams& grid = view.output().quantization;
  if (view.output().dtype == codes && grid.scale() == hidden.quantization.scale() &&
      grid.zero_point() == hidden.quantization.zero_point()) {
    return;
  }
  view.fail(
      fmt::format("expected the scale and zero point of the hidden state, {} and {}, as "
                  "output, found {} and {}",
                  hidden.quantization.scale(), hidden.quantization.zero_point(), grid.scale(),
                  grid.zero_point()));
}

void check_lstm(const OperatorView& view) {
  const auto& a = view.op.as<SequenceLstmAttributes>();
  const DType codes = view.input().dtype;
  if (view.op.outputs.size() != 3 || (codes != DType::int8 && codes != DType::int16)) {
    view.fail_types();
  }
  if (!std::isfinite(a.cell_clip) || a.cell_clip < 0.0F) {
    view.fail(fmt::format("expected a cell_clip of 0 or more, found {}", a.cell_clip));
  }
  if (view.input().shape.size() != 3 || view.input(1).shape.size() != 2) {
    view.fail(
        fmt::format("expected sequences [batch, time, values] or, time_major, [time, batch, "
                    "values], and weights [cells, values], found [{}] and [{}]",
                    fmt::join(view.input().shape, ", "), fmt::join(view.input(1).shape, ", ")));
  }
  view.require_per_tensor(view.input(), "input");
  if (codes == DType::int16) view.require_int16_grid(view.input());
  const auto cells = view.input(1).shape[0];
  const auto& x = view.input().shape;
  const DType sums = codes == DType::int8 ? DType::int32 : DType::int64;
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    check_weights(view, kInputWeights + gate, cells, x[2]);
    check_weights(view, kHiddenWeights + gate, cells, cells);
    const ModelTensor& bias = view.input(kBiases + gate);
    if (bias.dtype != sums || !bias.is_constant()) {
      view.fail(fmt::format("expected a constant bias of {} of the {} gate, found '{}' of {}",
                            to_string(sums), kGateNames[gate], bias.name, to_string(bias.dtype)));
    }
    view.require_shape(bias, {cells});
  }
  view.require_output_shape({x[0], x[1], cells});
  check_states(view, x[a.time_major ? 1 : 0], cells);
}

std::unique_ptr<Kernel> make_lstm(const KernelSource& source) {
  // LiteRT's interpreter has no XNNPACK form: its own kernel rounds twice in both of its contracts.
  if (source.input().dtype == DType::int16) {
    return std::make_unique<SequenceLstm<std::int16_t, TableStep>>(source, source.rounding);
  }
  constexpr auto kTwice = Rounding::double_rounding;
  if (source.rounding == kTwice) {
    return std::make_unique<SequenceLstm<std::int8_t, TableStep>>(source, kTwice);
  }
  return std::make_unique<SequenceLstm<std::int8_t, FixedPointStep>>(source, kTwice);
}

std::size_t lstm_bytes(const Operands& operands) {
  const LstmGeometry g = geometry_of(operands);
  return kGates *
         (GateSums<std::int16_t>::bytes(g, g.inputs) + GateSums<std::int16_t>::bytes(g, g.cells));
}

std::int64_t lstm_products(const Operands& operands) {
  const LstmGeometry g = geometry_of(operands);
  return static_cast<std::int64_t>(kGates) * g.batch * g.steps * g.cells * (g.inputs + g.cells);
}

/// Without peepholes, projections and layer normalization.
constexpr std::array<std::size_t, 24> kLstmOrder = {
    0, 1,  2,  3,  4,          5,          6,  7,  8,          kNoOperand, kNoOperand, kNoOperand,
    9, 10, 11, 12, kNoOperand, kNoOperand, 13, 14, kNoOperand, kNoOperand, kNoOperand, kNoOperand};
constexpr std::array<std::size_t, 2> kLstmStates = {13, 14};

/// The first version that takes integers.
int lstm_version(const Operands& /*operands*/) { return 3; }

}  // namespace

OperatorDefinition definitions::unidirectional_sequence_lstm() {
  return checked({.name = "UNIDIRECTIONAL_SEQUENCE_LSTM",
                  .releases = {11300, 11300, 20400, 20400},
                  .required_version = lstm_version,
                  .file_order = kLstmOrder,
                  .file_states = kLstmStates,
                  .least_inputs = kLstmCell + 1,
                  .most_inputs = kLstmCell + 1,
                  .most_outputs = 3,
                  .output_grid = OutputGrid::measured,
                  .takes_int16 = true,
                  .check = check_lstm,
                  .make_kernel = make_lstm,
                  .kernel_bytes = lstm_bytes,
                  .multiply_adds = lstm_products});
}

}  // namespace octet::detail
