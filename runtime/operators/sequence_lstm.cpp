#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/gate_sums.h>
#include <octet/runtime/operators/lstm_numbers.h>
#include <octet/runtime/operators/lstm_steps.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace octet::detail {
namespace {

constexpr std::array<const char*, kLstmGates> kGateNames = {"input", "forget", "cell", "output"};

/// Sequences of quantized values, by the functions and roundings of one runtime.
template <class Code, class StepRules>
class SequenceLstm final : public SequenceLstmKernel {
 public:
  SequenceLstm(const KernelSource& source, Rounding rounding)
      : geometry_(lstm_geometry(source)),
        rules_(source),
        zero_point_(source.output().quantization.zero_point()),
        of_input_(source, source.input(), kLstmInputWeights, kLstmBiases, rounding),
        of_hidden_(source, source.input(kLstmHidden), kLstmHiddenWeights, 0, rounding) {}

  std::size_t bytes() const override {
    return GateSums<Code>::bytes(geometry_.cells, geometry_.inputs) +
           GateSums<Code>::bytes(geometry_.cells, geometry_.cells);
  }

  std::size_t thread_bytes(Index /*samples*/) const override {
    return sums_of(kLstmRows) * sizeof(std::int32_t) + numbers_of_row() * sizeof(std::int16_t) +
           std::max(of_input_.thread_bytes(), of_hidden_.thread_bytes());
  }

  void run_traced(const KernelArguments& a, std::int16_t* trace) const override {
    const LstmGeometry& g = geometry_;
    const auto work =
        static_cast<std::size_t>(g.steps * g.cells * (g.inputs + g.cells)) * kLstmGates;
    parallel_for(static_cast<std::size_t>(a.samples * g.batch),
                 parallel_grain(Work::integer_multiply_adds, work),
                 [&](std::size_t begin, std::size_t end) {
                   const auto last = static_cast<Index>(end);
                   for (auto i = static_cast<Index>(begin); i < last;) {
                     // Rows of one batch lie evenly apart, as samples of one row do.
                     const Index left = g.batch == 1 ? last - i : g.batch - i % g.batch;
                     const Index rows = std::min({left, last - i, kLstmRows});
                     run_rows(a, i, rows, trace);
                     i += rows;
                   }
                 });
  }

 private:
  std::size_t units() const { return static_cast<std::size_t>(geometry_.cells); }
  /// The sums of rows over input and hidden state, and a row of results.
  std::size_t sums_of(Index rows) const {
    return (2 * kLstmGates * static_cast<std::size_t>(rows) + 1) * units();
  }
  std::size_t numbers_of_row() const { return kTraced * units(); }

  /// Where row `i` of all samples begins in an operand of `values` values a row, which lie `apart`
  /// rows apart, and how far the row behind it is.
  template <class T>
  std::pair<const T*, Index> rows_in(const KernelInput& operand, Index i, Index apart,
                                     Index values) const {
    const LstmGeometry& g = geometry_;
    const Index stride = g.batch == 1 ? static_cast<Index>(operand.stride / sizeof(T)) : 0;
    const auto sample = static_cast<std::size_t>(i / g.batch) * operand.stride;
    const Index row = i % g.batch * apart * values;
    return {reinterpret_cast<const T*>(operand.data + sample) + row,
            g.batch == 1 ? stride : apart * values};
  }

  void run_rows(const KernelArguments& a, Index first, Index rows, std::int16_t* trace) const {
    const LstmGeometry& g = geometry_;
    const Index rows_apart = g.rows_apart();
    const Index steps_apart = g.steps_apart();
    auto [x, x_stride] = rows_in<Code>(a.inputs[0], first, rows_apart, g.inputs);
    Code* y = a.to<Code>() +
              (first / g.batch * g.batch * g.steps + first % g.batch * rows_apart) * g.cells;
    const Index y_stride = (g.batch == 1 ? g.steps : rows_apart) * g.cells;
    std::int16_t* const cell = a.to<std::int16_t>(2) + first * g.cells;
    Code* const behind = a.to<Code>(1) + first * g.cells;
    const auto [cells, cell_stride] = rows_in<std::int16_t>(a.inputs[kLstmCell], first, 1, g.cells);
    const auto [states, state_stride] = rows_in<Code>(a.inputs[kLstmHidden], first, 1, g.cells);
    for (Index row = 0; row < rows; ++row) {
      std::copy_n(cells + row * cell_stride, g.cells, cell + row * g.cells);
      std::copy_n(states + row * state_stride, g.cells, behind + row * g.cells);
    }
    const Index sums_a_row = static_cast<Index>(kLstmGates) * g.cells;
    const ScratchBuffer<std::int32_t, SequenceLstm> sums(sums_of(kLstmRows));
    const ScratchBuffer<std::int16_t, SequenceLstm> scratch(numbers_of_row());
    std::int32_t* const of_input = sums.data();
    std::int32_t* const of_hidden = of_input + rows * sums_a_row;
    std::int32_t* const results = of_hidden + rows * sums_a_row;
    const Code* hidden = behind;
    Index hidden_stride = g.cells;
    for (Index step = 0; step < g.steps; ++step) {
      of_input_(rows, x, x_stride, of_input);
      of_hidden_(rows, hidden, hidden_stride, of_hidden);
      for (Index row = 0; row < rows; ++row) {
        std::int16_t* const numbers =
            trace == nullptr ? scratch.data()
                             : trace + ((first + row) * g.steps + step) * kTraced * g.cells;
        run_cells(of_input + row * sums_a_row, of_hidden + row * sums_a_row, cell + row * g.cells,
                  numbers, results, y + row * y_stride);
      }
      hidden = y;
      hidden_stride = y_stride;
      x += steps_apart * g.inputs;
      y += steps_apart * g.cells;
    }
    for (Index row = 0; row < rows; ++row) {
      std::copy_n(hidden + row * hidden_stride, g.cells, behind + row * g.cells);
    }
  }

  /// One step of a row: its hidden state y, from the sums over input and hidden state, and the
  /// numbers of kTraced.
  void run_cells(const std::int32_t* of_input, const std::int32_t* of_hidden, std::int16_t* cell,
                 std::int16_t* numbers, std::int32_t* results, Code* y) const {
    const std::size_t n = units();
    for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
      const std::size_t at = gate * n;
      if constexpr (GateSums<Code>::kRescales) {
        for (std::size_t i = at; i < at + n; ++i) {
          numbers[i] = StepRules::sum(of_input[i], of_hidden[i]);
        }
      } else {
        StepRules::gates(of_input + at, of_hidden + at, n, of_input_.factor(gate),
                         of_hidden_.factor(gate), numbers + at);
      }
    }
    rules_.cells({n, numbers, cell, numbers + kTanhOfCell * n, results});
    std::copy_n(cell, n, numbers + kCell * n);
    using Limits = std::numeric_limits<Code>;
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t code = std::int64_t{results[i]} + zero_point_;
      y[i] = static_cast<Code>(std::clamp<std::int64_t>(code, Limits::min(), Limits::max()));
    }
  }

  LstmGeometry geometry_;
  StepRules rules_;
  std::int32_t zero_point_;
  GateSums<Code> of_input_;
  GateSums<Code> of_hidden_;
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
  if (view.input(kLstmHidden).dtype != codes || view.input(kLstmCell).dtype != DType::int16) {
    view.fail_types();
  }
  view.require_int16_grid(view.input(kLstmCell));
  const float scale = view.input(kLstmCell).quantization.scale();
  if (std::ldexp(1.0F, std::ilogb(scale)) != scale || scale > 1.0F) {
    view.fail(fmt::format(
        "expected a power of two, at most 1, as scale of the cell state, found {}", scale));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const ModelTensor& before = view.input(kLstmHidden + i);
    const ModelTensor& behind = view.output(1 + i);
    view.require_shape(before, {batch, cells});
    view.require_shape(behind, {batch, cells});
    if (behind.dtype == before.dtype && behind.quantization == before.quantization) continue;
    view.fail(
        fmt::format("expected the type and scale of state '{}' behind the last step, found "
                    "others in '{}'",
                    before.name, behind.name));
  }
  const ModelTensor& hidden = view.input(kLstmHidden);
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
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    check_weights(view, kLstmInputWeights + gate, cells, x[2]);
    check_weights(view, kLstmHiddenWeights + gate, cells, cells);
    const ModelTensor& bias = view.input(kLstmBiases + gate);
    if (bias.dtype != sums || !bias.is_constant()) {
      view.fail(fmt::format("expected a constant bias of {} of the {} gate, found '{}' of {}",
                            to_string(sums), kGateNames[gate], bias.name, to_string(bias.dtype)));
    }
    view.require_shape(bias, {cells});
  }
  view.require_output_shape({x[0], x[1], cells});
  check_states(view, x[a.time_major ? 1 : 0], cells);
}

}  // namespace

std::unique_ptr<SequenceLstmKernel> make_sequence_lstm(const KernelSource& source) {
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

namespace {

std::unique_ptr<Kernel> make_lstm(const KernelSource& source) { return make_sequence_lstm(source); }

std::size_t lstm_bytes(const Operands& operands) {
  const LstmGeometry g = lstm_geometry(operands);
  const auto bytes = [&](auto code) {
    using Sums = GateSums<decltype(code)>;
    return Sums::bytes(g.cells, g.inputs) + Sums::bytes(g.cells, g.cells);
  };
  return operands.input().dtype == DType::int16 ? bytes(std::int16_t{}) : bytes(std::int8_t{});
}

std::int64_t lstm_products(const Operands& operands) {
  const LstmGeometry g = lstm_geometry(operands);
  return static_cast<std::int64_t>(kLstmGates) * g.batch * g.steps * g.cells * (g.inputs + g.cells);
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
