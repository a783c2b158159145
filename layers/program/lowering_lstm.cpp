// How Lowering appends the operator of a fused LSTM.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/quant/bias.h>
#include <octet/layers/program/lowering.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/int16_sums.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace octet {
namespace {

constexpr std::array<std::string_view, 4> kGateNames = {"i", "f", "c", "o"};
/// The scale of the cell state: int16 then ends at 16, far beyond where tanh does.
constexpr float kCellScale = 1.0F / 2048;

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

/// UNIDIRECTIONAL_SEQUENCE_LSTM of sequences, and behind them the constants of its eight kernels;
/// its states begin at 0.
std::int32_t Lowering::sequence_lstm(const Current& now, std::vector<std::int32_t> operands) {
  if (!now.on_integers) {
    throw InvalidArgument(fmt::format(
        "{}: expected a fused LSTM on integers, found it in float; leave LSTMOptions::fused out",
        now.owner));
  }
  const std::int32_t sequences = operands[0];
  const std::int32_t output = result(now, {&sequences, 1}, "");
  const std::int32_t units = tensor(operands[1]).shape[0];
  const Tensor bias = now.step.weights().bias.detach();
  for (std::size_t gate = 0; gate < kGateNames.size(); ++gate) {
    const std::int32_t weights = operands[1 + gate];
    QuantParams grid = tensor(weights).quantization;
    const float read_scale = tensor(sequences).quantization.scale();
    std::vector<std::int32_t> codes(static_cast<std::size_t>(units));
    quantize_bias(bias.span().subspan(gate * codes.size(), codes.size()),
                  bias_scales(read_scale, grid.scales), codes, now.owner);
    bound_sums(now, weights, codes, sequences);
    bound_sums(now, operands[1 + kGateNames.size() + gate], {}, output);
    grid.scales[0] *= read_scale;
    operands.push_back(integer_bias(now, fmt::format("bias_{}", kGateNames[gate]), std::move(codes),
                                    std::move(grid), is_wide(sequences)));
  }
  const ModelTensor like = tensor(output);
  const QuantParams cell = QuantParams::per_tensor(kCellScale, 0, -32768, 32767);
  const auto state = [&]<class T>(std::string_view name, const QuantParams& params, T zero) {
    const std::string full = fmt::format("{}/{}", like.name, name);
    const std::vector<T> zeros(static_cast<std::size_t>(units), zero);
    operands.push_back(builder_.constant(full, integer_type_of(params), {1, units},
                                         std::span<const T>(zeros), params));
    return builder_.activation(full + "/behind", integer_type_of(params), {units}, params);
  };
  const std::int32_t zero_point = like.quantization.zero_point();
  const std::int32_t hidden_behind =
      like.dtype == DType::int16
          ? state("hidden", like.quantization, static_cast<std::int16_t>(zero_point))
          : state("hidden", like.quantization, static_cast<std::int8_t>(zero_point));
  const std::int32_t cell_behind = state("cell", cell, std::int16_t{0});
  builder_
      .op(OpCode::unidirectional_sequence_lstm, std::move(operands), output, now.step.attributes)
      .outputs = {output, hidden_behind, cell_behind};
  return output;
}

}  // namespace octet
