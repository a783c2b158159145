#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/deploy/c/sums.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/runtime/operators/lstm_numbers.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace octet::detail {
namespace {

constexpr std::string_view kLstmLayer = R"(/* @summary@. */
static void @layer@(const int8_t *input, const int8_t *hidden, const int16_t *cell, int8_t *output, int8_t *next_hidden,
        int16_t *next_cell)
{
    static const @name@_lstm lstm = {
        {@of_input@},
        {@of_hidden@},
        @numbers@};
    @name@_sequence_lstm(&lstm, input, hidden, cell, output, next_hidden, next_cell,
            (int16_t *)(@scratch@ + @row_words@), (@name@_row *)@scratch@);
}

)";

/// Bytes of the row of values that the sums of gates are made of.
std::int64_t row_bytes(const CPlan& plan, const LstmGeometry& g) {
  return c_scratch_bytes(plan, CKernel::row, std::max(g.inputs, g.cells), {});
}

/// The functions of all gates, and the sums of one, are of 16 bits.
std::int64_t lstm_scratch(const CPlan& plan, const KernelSource& source, std::int64_t /*rows*/) {
  const LstmGeometry g = lstm_geometry(source);
  return row_bytes(plan, g) + 2 * static_cast<std::int64_t>(kLstmGates + 1) * g.cells;
}

/// Adds the sums of all gates under names that begin with `name`, and returns their initializers.
std::string add_gates(CLayer& layer, const std::string& name,
                      const std::vector<FullyConnectedNumbers>& gates) {
  std::vector<std::string> structures;
  for (std::size_t gate = 0; gate < gates.size(); ++gate) {
    const CSums sums{.numbers = gates[gate], .detail = {}};
    if (sums.numbers.largest_sum > c_most_sum(sums.numbers)) {
      throw InvalidArgument(
          fmt::format("c source: UNIDIRECTIONAL_SEQUENCE_LSTM: expected sums of a gate of at most "
                      "{}, found up to {}; are its biases too large?",
                      c_most_sum(sums.numbers), sums.numbers.largest_sum));
    }
    structures.push_back(
        add_kernel_sums(layer, fmt::format("{}{}", name, gate), sums, CKernel::row));
  }
  return fmt::format("{}", fmt::join(structures, ",\n         "));
}

CLayer make_lstm_layer(const CPlan& plan, const CStep& step) {
  const LstmNumbers n = lstm_numbers(step.source);
  const LstmGeometry& g = n.geometry;
  CLayer layer;
  layer.kernel = CKernel::row;
  layer.is_wide = true;
  layer.lstm = n.step;
  layer.calls = {CFunction::rescale};
  layer.macs = definition(step.source.op.code).multiply_adds(step.source);
  Fillings f = layer_fillings(plan, step);
  f["of_input"] = add_gates(layer, f["layer"] + "_input", n.of_input);
  f["of_hidden"] = add_gates(layer, f["layer"] + "_hidden", n.of_hidden);
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const std::array numbers = {number(g.batch),
                              number(g.steps),
                              number(g.rows_apart()),
                              number(g.steps_apart()),
                              number(n.step.of_cell.factor),
                              number(n.step.of_cell.shift),
                              number(n.step.added.multiplier),
                              number(c_shift(n.step.added)),
                              number(n.step.clip),
                              number(n.step.hidden.multiplier),
                              number(c_shift(n.step.hidden)),
                              number(step.source.output().quantization.zero_point())};
  f["numbers"] = fmt::format("{}", fmt::join(numbers, ", "));
  layer.flash_bytes += 4 * std::ssize(numbers);
  const std::string detail =
      fmt::format("{}{} steps of {} -> {}", g.batch == 1 ? "" : fmt::format("{} times ", g.batch),
                  g.steps, g.inputs, g.cells);
  layer.summary = summary_of(step, sums_detail(plan, layer, detail));
  f["summary"] = layer.summary;
  f["scratch"] = step.scratch;
  f["row_words"] = std::to_string(row_bytes(plan, g) / 4);
  layer.function = fill(kLstmLayer, f);
  return layer;
}

}  // namespace

void onnx_forms::svdf(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no such operator; a layer SVDF is written as the operators that it is made of");
}

/// The plan refuses its state.
COperator c_forms::svdf() { return {.reads_all_inputs = false, .make = nullptr}; }

void onnx_forms::unidirectional_sequence_lstm(OnnxNodes& /*nodes*/, const Operands& /*operands*/) {
  throw InvalidArgument(
      "ONNX has no LSTM of integers; a layer LSTM is written as the operators that it is made of "
      "unless LSTMOptions::fused is set");
}

COperator c_forms::unidirectional_sequence_lstm() {
  return {.reads_all_inputs = false, .make = make_lstm_layer, .scratch_bytes = lstm_scratch};
}

}  // namespace octet::detail
