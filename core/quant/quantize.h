#pragma once

#include <cstdint>
#include <span>

#include <octet/core/arithmetic/round_mode.h>
#include <octet/core/quant/quant_params.h>

namespace octet {

/// Computes q = clamp(round(f / scale) + zero_point, qmin, qmax) with the quotient in float32, as
/// TensorFlow Lite's QUANTIZE, which rounds half away from zero, or XNNPACK (half_to_even).
///
/// NaN becomes the zero point; infinities become qmin or qmax. Input and output must not overlap.
/// Throws InvalidArgument if sizes differ, the parameters are invalid
/// (QuantParams::validate), or qmin, qmax or a zero point do not fit the integer type.
///
/// Without a shape there must be one scale. With a shape, an element has the scale of its index on
/// params.quantized_dimension, or the only scale.
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

/// Computes f = (q - zero_point) * scale as TensorFlow Lite's DEQUANTIZE: per tensor, the exact
/// product is rounded once; per channel, in float32 (they differ for int32 only). Errors as for
/// quantize.
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
