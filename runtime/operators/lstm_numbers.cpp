#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/gate_sums.h>
#include <octet/runtime/operators/lstm_numbers.h>

#include <cstddef>
#include <limits>

namespace octet::detail {
namespace {

/// The sums of one gate: FULLY_CONNECTED with weights `weights`, and a bias where that is not 0.
FullyConnectedNumbers gate_numbers(const KernelSource& source, std::size_t values,
                                   std::size_t weights, std::size_t bias) {
  const auto& inputs = source.op.inputs;
  Operator op{.code = OpCode::fully_connected,
              .inputs = {inputs[values], inputs[weights]},
              .outputs = source.op.outputs,
              .attributes = FullyConnectedAttributes{}};
  if (bias > 0) op.inputs.push_back(inputs[bias]);
  const Requantizer requantizer =
      gate_requantizer(source, source.input(values), weights, source.rounding);
  FullyConnectedNumbers numbers = dense_numbers({source.model, op, source.rounding}, requantizer);
  using Limits = std::numeric_limits<std::int16_t>;
  numbers.epilogue.zero_point = 0;
  numbers.epilogue.range = {.lo = Limits::min(), .hi = Limits::max()};
  return numbers;
}

}  // namespace

LstmGeometry lstm_geometry(const Operands& o) {
  const bool time_major = o.op.as<SequenceLstmAttributes>().time_major;
  const auto& x = o.input().shape;
  return {.batch = x[time_major ? 1 : 0],
          .steps = x[time_major ? 0 : 1],
          .inputs = x[2],
          .cells = o.input(1).shape[0],
          .time_major = time_major};
}

LstmNumbers lstm_numbers(const KernelSource& source) {
  if (source.input().dtype != DType::int8 || source.rounding != Rounding::double_rounding) {
    throw InvalidArgument(fmt::format(
        "UNIDIRECTIONAL_SEQUENCE_LSTM '{}': expected int8 and rounding mode double, "
        "whose functions are those of TensorFlow Lite Micro, found {} and {}",
        source.output().name, to_string(source.input().dtype), to_string(source.rounding)));
  }
  LstmNumbers numbers{lstm_geometry(source), {}, {}, TableStep(source).numbers()};
  for (std::size_t gate = 0; gate < kLstmGates; ++gate) {
    numbers.of_input.push_back(
        gate_numbers(source, 0, kLstmInputWeights + gate, kLstmBiases + gate));
    numbers.of_hidden.push_back(gate_numbers(source, kLstmHidden, kLstmHiddenWeights + gate, 0));
  }
  return numbers;
}

}  // namespace octet::detail
