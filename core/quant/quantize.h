#pragma once

#include <cstdint>
#include <span>

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/quant/quant_params.h>

namespace octet {

/// q = clamp(round(f / scale) + zero_point, qmin, qmax), the quotient in float32: TensorFlow Lite's
/// QUANTIZE, which rounds half away from zero; RoundMode::half_to_even is XNNPACK's.
///
/// NaN becomes the zero point, an infinite value the limit on its side. Input and output may not
/// overlap. Throws InvalidArgument if sizes differ, the parameters are unsound
/// (QuantParams::validate), qmin, qmax or a zero point do not fit the integer type, or the mode is
/// half_up.
///
/// Without a shape there must be one scale. With one, the scale of an element is that of its index
/// on params.quantized_dimension (or the only one).
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int8_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::uint8_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int16_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, const QuantParams& params, std::span<std::int32_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int8_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::uint8_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int16_t> out,
              RoundMode mode = RoundMode::half_away);
/// @overload
void quantize(std::span<const float> in, std::span<const std::int64_t> shape,
              const QuantParams& params, std::span<std::int32_t> out,
              RoundMode mode = RoundMode::half_away);

/// f = (q - zero_point) * scale: rounded once from the exact product for one scale, in float32 per
/// channel (TensorFlow Lite's DEQUANTIZE; they differ for int32 only). Errors as for quantize.
void dequantize(std::span<const std::int8_t> in, const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::uint8_t> in, const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::int16_t> in, const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::int32_t> in, const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::int8_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::uint8_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::int16_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out);
/// @overload
void dequantize(std::span<const std::int32_t> in, std::span<const std::int64_t> shape,
                const QuantParams& params, std::span<float> out);

}  // namespace octet
