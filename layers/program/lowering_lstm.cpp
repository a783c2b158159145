// How Lowering appends the operator of a fused LSTM.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/bias.h>
#include <octet/layers/lstm.h>
#include <octet/layers/program/lowering.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/int16_sums.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace octet {
namespace {

constexpr std::array<std::string_view, detail::kLstmGates> kGateNames = {"i", "f", "c", "o"};
/// How many tensors a step reads in front of the states.
constexpr std::size_t kStates = 1 + 2 * detail::kLstmGates;

std::vector<std::int64_t> row_magnitudes(const ModelTensor& weights) {
  const std::vector<std::int8_t> values = detail::values_of<std::int8_t>(weights);
  const auto depth = static_cast<std::size_t>(weights.shape[1]);
  std::vector<std::int64_t> sums;
  for (std::size_t i = 0; i < values.size(); i += depth) {
    sums.push_back(detail::magnitude_of(std::span(values).subspan(i, depth), 0));
  }
  return sums;
}

}  // namespace

/// Takes down how far sums of the weights of values like `read` reach with their bias.
void Lowering::bound_sums(const Current& now, std::int32_t weights,
                          std::span<const std::int32_t> bias, std::int32_t read) {
  const std::vector<std::int64_t> magnitudes = row_magnitudes(tensor(weights));
  const std::int64_t bound =
      is_wide(read)
          ? detail::int16_bound(magnitudes, std::vector<std::int64_t>(bias.begin(), bias.end()))
          : detail::accumulator_bound(magnitudes, bias,
                                      detail::farthest_from_zero_point(tensor(read).quantization),
                                      now.owner);
  bound_ = std::max(bound_, bound);
}

/// The constants of the biases of all gates, for sums of the tensors `read` of a fused LSTM.
std::vector<std::int32_t> Lowering::lstm_biases(const Current& now,
                                                std::span<const std::int32_t> read,
                                                std::int32_t output) {
  const Tensor bias = now.step.weights().bias.detach();
  const auto units = static_cast<std::size_t>(tensor(read[1]).shape[0]);
  const float read_scale = tensor(read[0]).quantization.scale();
  std::vector<std::int32_t> constants;
  for (std::size_t gate = 0; gate < kGateNames.size(); ++gate) {
    const std::int32_t weights = read[1 + gate];
    QuantParams params = tensor(weights).quantization;
    std::vector<std::int32_t> values(units);
    quantize_bias(bias.span().subspan(gate * units, units), bias_scales(read_scale, params.scales),
                  values, now.owner);
    bound_sums(now, weights, values, read[0]);
    bound_sums(now, read[1 + kGateNames.size() + gate], {}, output);
    params.scales[0] *= read_scale;
    constants.push_back(integer_bias(now, fmt::format("bias_{}", kGateNames[gate]),
                                     std::move(values), std::move(params), is_wide(read[0])));
  }
  return constants;
}

/// UNIDIRECTIONAL_SEQUENCE_LSTM of sequences and the constants of its eight kernels, and behind
/// them the states that it begins with; 0 where there are none. Returns its three results.
std::vector<std::int32_t> Lowering::append_lstm(const Current& now,
                                                std::span<const std::int32_t> read) {
  const auto [kernels, first] = std::pair(read.first(kStates), read.subspan(kStates));
  // The step of the cell state has no quantizer: the first state has the scale of the others.
  const std::int32_t output =
      now.step.output == 0
          ? result(now, read.first(1), "")
          : builder_.activation(now.result.name() + "/sequence", tensor(first[0]).dtype,
                                {tensor(read[0]).shape[1], now.result.shape[0]},
                                tensor(first[0]).quantization);
  const std::int32_t units = tensor(read[1]).shape[0];
  std::vector<std::int32_t> operands(kernels.begin(), kernels.end());
  std::ranges::copy(lstm_biases(now, read, output), std::back_inserter(operands));
  const ModelTensor like = tensor(output);
  const auto zeros = [&](std::string_view name, const QuantParams& params) {
    const auto zero_point = static_cast<std::int16_t>(params.zero_point());
    const DType type = integer_type_of(params);
    const std::vector<std::int16_t> wide(static_cast<std::size_t>(units), zero_point);
    const std::vector<std::int8_t> narrow(wide.begin(), wide.end());
    const std::string full = fmt::format("{}/{}", like.name, name);
    return type == DType::int16
               ? builder_.constant(full, type, {1, units}, std::span(wide), params)
               : builder_.constant(full, type, {1, units}, std::span(narrow), params);
  };
  const QuantParams cell = QuantParams::per_tensor(kLstmCellScale, 0, -32768, 32767);
  operands.push_back(first.empty() ? zeros("hidden", like.quantization) : first[0]);
  operands.push_back(first.empty() ? zeros("cell", cell) : first[1]);
  std::vector<std::int32_t> results = {
      output,
      builder_.activation(like.name + "/hidden_behind", like.dtype, {units}, like.quantization),
      builder_.activation(like.name + "/cell_behind", DType::int16, {units}, cell)};
  builder_
      .op(OpCode::unidirectional_sequence_lstm, std::move(operands), output, now.step.attributes)
      .outputs = results;
  return results;
}

/// The result of a step of a fused LSTM: its steps are one operator.
std::int32_t Lowering::sequence_lstm(const Current& now, std::vector<std::int32_t> read) {
  if (!now.on_integers) {
    throw InvalidArgument(fmt::format(
        "{}: expected a fused LSTM on integers, found it in float; leave LSTMOptions::fused out",
        now.owner));
  }
  const auto [at, is_new] = lstms_.try_emplace(std::move(read));
  if (is_new) at->second = append_lstm(now, at->first);
  return at->second[now.step.output];
}

}  // namespace octet
