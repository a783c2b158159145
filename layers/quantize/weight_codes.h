#pragma once

#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/quant_params.h>
#include <octet/layers/layer.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// The integers of a layer with weights: what training computes with and what export writes.
struct WeightCodes {
  /// [units, inputs of a unit]; unpack() gives what FULLY_CONNECTED, CONV_2D and TRANSPOSE_CONV
  /// store.
  PackedS8 weights;
  /// One scale, or one per unit; zero points 0; quantized_dimension 0.
  QuantParams weight_params;
  /// One per unit, of scale input_scale * weight_scale; empty without bias.
  std::vector<std::int32_t> bias;
};

/// Weights [units, taps] as DEPTHWISE_CONV_2D stores them: [taps, units].
std::vector<std::int8_t> taps_first(std::span<const std::int8_t> weights, Index units);

/// w_q = clamp(round_half_away(w / scale)), b_q = round_half_away(b / (input_scale * scale)).
/// `kernel_params` are those of the kernel's quantizer (per channel along the units). Scales
/// grow where a bias would not fit int32 otherwise. `owner` names the layer in errors.
/// Throws InvalidArgument unless the kernel's codes are int8 with zero point 0, and its scales one
/// or as many as it has units.
WeightCodes make_weight_codes(const LayerWeights& layer, const QuantParams& kernel_params,
                              float input_scale, const std::string& owner);

/// The largest value that any sum can reach for any input: the maximum over the units of
/// sum |w_q| * max |x_q - zero_point| + |b_q|. Throws InvalidArgument that names `owner` and the
/// unit where that is above 2^31 - 1; on an input of int16 codes there is no such limit.
std::int64_t accumulator_bound(const WeightCodes& codes, const QuantParams& input,
                               const std::string& owner);

}  // namespace octet
