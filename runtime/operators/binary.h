#pragma once

#include <octet/core/quant/activation_range.h>
#include <octet/core/quant/fixed_point.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/rounding.h>
#include <octet/runtime/operators/definitions.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// ADD, SUB, MUL and PRELU, element by element: y = f(a + b), f(a - b) and f(a b), f a fused
// activation, and y = max(a, 0) + b min(a, 0). An operand may be a constant. Shapes broadcast as in
// numpy: aligned at the last axis, an extent of 1 is repeated.

namespace octet::detail {

/// An axis of the output: its extent, and how many elements each operand goes on with a step along
/// it, 0 where the operand repeats.
struct BinaryAxis {
  std::size_t extent;
  std::array<std::size_t, 2> steps;
};

/// The axes of one sample of the output; those along which both operands go on as the output does
/// are one. At least one axis.
std::vector<BinaryAxis> binary_axes(const Operands& operands);

/// Whether the second operand is added, as in ADD, or taken off, as in SUB.
enum class SecondSign { plus, minus };

/// The arithmetic of an int8 ADD or SUB whose operands have scales and zero points of their own,
/// with d_i = q_i - zero_point_i and a fused activation as a clamp of the quantized result.
///
/// Contract fp32, where 1/1024 <= scale_i / scale_out < 256 for both (XNNPACK, LiteRT.js):
///   r_i = scale_i / scale_out in float32, shift = 20 - floor(log2(max r)), m_i = rint(r_i
///   2^shift), out = clamp(((d_1 m_1 +- d_2 m_2 + 2^(shift - 1)) >> shift) + zero_point).
/// All else, contract single too (LiteRT's own kernels, TFLite Micro, CMSIS-NN):
///   out = clamp(M(M(d_1 << 20, scale_1 / t) +- M(d_2 << 20, scale_2 / t), t / (2^20 scale_out)) +
///   zero_point), t = 2 max(scale_1, scale_2), M the multiplication with two roundings. The
///   quotients are doubles, but floats in SUB under contract double, as in TFLite Micro.
class QuantizedAdd {
 public:
  /// Throws InvalidArgument unless all three have one sound scale and int8 zero points. Where
  /// t / (2^20 scale_out) is 1 or more, as in a network whose sum is dead, results saturate; LiteRT
  /// refuses such an operator, of which runtime_warnings() tells.
  [[nodiscard]] static QuantizedAdd make(const QuantParams& first, const QuantParams& second,
                                         const QuantParams& out, FusedActivation activation,
                                         Rounding rounding, SecondSign sign = SecondSign::plus);

  /// `out`, or where an input's scale is 256 times out's or more, one with 1/128 of that input's:
  /// a sum whose measured range is next to nothing (all results 0 after a relu). XNNPACK uses
  /// another kernel for such ratios, which refuses them from 2^19 on.
  [[nodiscard]] static QuantParams fitting_params(const QuantParams& first,
                                                  const QuantParams& second, QuantParams out);

  [[nodiscard]] std::int32_t apply(std::int32_t first, std::int32_t second) const noexcept;
  /// Computes apply() for each pair. Throws InvalidArgument where sizes differ.
  void run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
           std::span<std::int8_t> out) const;

  /// Whether the sum is rounded once, by a shift (the first form above).
  [[nodiscard]] bool rounds_once() const noexcept { return rounds_once_; }
  /// What each value of operand i (0 or 1) adds to the sum, from -128 up: d_i m_i, or
  /// M(d_i << 20, scale_i / t), and the negative of that for an operand that is taken off.
  [[nodiscard]] std::span<const std::int32_t, 256> terms(std::size_t i) const noexcept {
    return terms_[i];
  }
  /// scale_i / t of operand i where the sum is rounded twice.
  [[nodiscard]] QuantizedMultiplier input_factor(std::size_t i) const noexcept {
    return input_factors_[i];
  }
  /// The sum's shift where it is rounded once.
  [[nodiscard]] int shift() const noexcept { return shift_; }
  /// The sum's factor otherwise.
  [[nodiscard]] QuantizedMultiplier factor() const noexcept { return factor_; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return zero_point_; }
  [[nodiscard]] ActivationRange limits() const noexcept { return limits_; }

 private:
  [[nodiscard]] std::int32_t rescale(std::int32_t sum) const noexcept;

  bool rounds_once_ = true;
  std::array<std::array<std::int32_t, 256>, 2> terms_{};
  int shift_ = 0;
  std::array<QuantizedMultiplier, 2> input_factors_{};
  QuantizedMultiplier factor_;
  std::int32_t zero_point_ = 0;
  ActivationRange limits_;
};

/// The arithmetic of an int8 MUL whose operands have scales and zero points of their own, with
/// d_i = q_i - zero_point_i, p = d_1 d_2 and a fused activation as a clamp of the quantized result.
///
/// r = float32(float32(scale_1 scale_2) / scale_out). Contract fp32, where 2^-16 <= r < 256
/// (XNNPACK, LiteRT.js; its kernel for Arm NEON may round a near-tie to the other side):
///   out = clamp(rint(float32(float32(p) r)) + zero_point).
/// All else: out = clamp(M(p, factor) + zero_point), M the multiplication with two roundings; the
/// factor is r in LiteRT's own kernel (contracts fp32 and single), and computed in double in TFLite
/// Micro and CMSIS-NN (contract double).
class QuantizedMul {
 public:
  /// Throws InvalidArgument unless all three have one sound scale and int8 zero points, and
  /// NumericError for a factor beyond float32.
  [[nodiscard]] static QuantizedMul make(const QuantParams& first, const QuantParams& second,
                                         const QuantParams& out, FusedActivation activation,
                                         Rounding rounding);

  /// `out`, or where r is 256 or more, one with 1/128 of scale_1 scale_2: a product whose measured
  /// range is next to nothing.
  [[nodiscard]] static QuantParams fitting_params(const QuantParams& first,
                                                  const QuantParams& second, QuantParams out);

  [[nodiscard]] std::int32_t apply(std::int32_t first, std::int32_t second) const noexcept;
  /// Computes apply() for each pair. Throws InvalidArgument where sizes differ.
  void run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
           std::span<std::int8_t> out) const;

  /// Whether the product is rescaled in float32 (the first form above).
  [[nodiscard]] bool rescales_in_float() const noexcept { return in_float_; }
  /// r, for that form.
  [[nodiscard]] float float_factor() const noexcept { return float_factor_; }
  /// The factor of the other form.
  [[nodiscard]] QuantizedMultiplier factor() const noexcept { return factor_; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return zero_point_; }
  [[nodiscard]] ActivationRange limits() const noexcept { return limits_; }

 private:
  bool in_float_ = true;
  float float_factor_ = 0.0F;
  QuantizedMultiplier factor_;
  std::int32_t first_zero_point_ = 0;
  std::int32_t second_zero_point_ = 0;
  std::int32_t zero_point_ = 0;
  ActivationRange limits_;
};

/// The arithmetic of an int8 PRELU whose operands, x and the slopes alpha, have scales and zero
/// points of their own, with d = q_x - zero_point_x and p = d (q_alpha - zero_point_alpha):
///   out = clamp(M(d, scale_x / scale_out) + zero_point) where d >= 0,
///   out = clamp(M(p, scale_x scale_alpha / scale_out) + zero_point) elsewhere,
/// M the multiplication with two roundings, in every rounding mode: XNNPACK does not take it. The
/// factors are float32 in LiteRT's kernel (fp32 and single), and computed in double in
/// TFLite Micro (double).
class QuantizedPrelu {
 public:
  /// Throws InvalidArgument unless all three have one sound scale and int8 zero points, and
  /// NumericError for a factor beyond float32.
  [[nodiscard]] static QuantizedPrelu make(const QuantParams& x, const QuantParams& alpha,
                                           const QuantParams& out, Rounding rounding);

  [[nodiscard]] std::int32_t apply(std::int32_t x, std::int32_t alpha) const noexcept;
  /// Computes apply() for each pair. Throws InvalidArgument where sizes differ.
  void run(std::span<const std::int8_t> x, std::span<const std::int8_t> alpha,
           std::span<std::int8_t> out) const;

  /// The factor where d >= 0.
  [[nodiscard]] QuantizedMultiplier factor_above() const noexcept { return above_; }
  /// The factor elsewhere.
  [[nodiscard]] QuantizedMultiplier factor_below() const noexcept { return below_; }
  [[nodiscard]] std::int32_t zero_point() const noexcept { return zero_point_; }

 private:
  QuantizedMultiplier above_;
  QuantizedMultiplier below_;
  std::int32_t x_zero_point_ = 0;
  std::int32_t alpha_zero_point_ = 0;
  std::int32_t zero_point_ = 0;
};

/// The arithmetic of an int8 MAXIMUM or MINIMUM, whose inputs and output have one scale and zero
/// point: the larger or the smaller quantized value.
class QuantizedExtreme {
 public:
  explicit QuantizedExtreme(bool takes_larger) : takes_larger_(takes_larger) {}

  [[nodiscard]] std::int32_t apply(std::int32_t first, std::int32_t second) const noexcept {
    return (first > second) == takes_larger_ ? first : second;
  }
  /// Computes apply() for each pair. Throws InvalidArgument where sizes differ.
  void run(std::span<const std::int8_t> first, std::span<const std::int8_t> second,
           std::span<std::int8_t> out) const;

  [[nodiscard]] bool takes_larger() const noexcept { return takes_larger_; }

 private:
  bool takes_larger_;
};

QuantizedExtreme quantized_extreme(const KernelSource& source);

/// The arithmetic of an int16 ADD or SUB, that of TFLite Micro: the second form of QuantizedAdd
/// with 2^15 in place of 2^20, the quotients of a SUB in float32. Zero points are 0.
class Int16Add {
 public:
  Int16Add(const QuantParams& first, const QuantParams& second, const QuantParams& out,
           FusedActivation activation, SecondSign sign);

  std::int16_t operator()(std::int16_t first, std::int16_t second) const noexcept;

 private:
  std::array<QuantizedMultiplier, 2> input_factors_;
  QuantizedMultiplier factor_;
  std::int32_t sign_;
  ActivationRange limits_;
};

/// The arithmetic of an int16 MUL, that of TFLite Micro: clamp(M(q_1 q_2, scale_1 scale_2 /
/// scale_out)), the factor computed in double. Zero points are 0.
class Int16Mul {
 public:
  Int16Mul(const QuantParams& first, const QuantParams& second, const QuantParams& out,
           FusedActivation activation);

  std::int16_t operator()(std::int16_t first, std::int16_t second) const noexcept;

 private:
  QuantizedMultiplier factor_;
  ActivationRange limits_;
};

/// The arithmetic of an int8 ADD or SUB, of an int8 MUL, and of an int8 PRELU. All throw
/// InvalidArgument unless inputs and output have one normal, positive scale each.
QuantizedAdd quantized_add(const KernelSource& source);
QuantizedMul quantized_mul(const KernelSource& source);
QuantizedPrelu quantized_prelu(const KernelSource& source);

}  // namespace octet::detail
