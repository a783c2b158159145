#pragma once

#include <cstdint>

namespace octet {

// Functions of gemmlowp's fixed-point numbers: an int32 with i integer bits stands for
// raw / 2^(31 - i).

/// exp(a) with 0 integer bits, for a <= 0 with `integer_bits` of them (0..29).
[[nodiscard]] std::int32_t exp_on_negative_values(std::int32_t a, int integer_bits) noexcept;

/// 1 / (1 + a) with 0 integer bits, for 0 <= a < 1 with 0 integer bits; three Newton steps.
[[nodiscard]] std::int32_t one_over_one_plus_x(std::int32_t a) noexcept;

/// (1 - a) / (1 + a) with 0 integer bits, for 0 <= a < 1 with 0 integer bits; three Newton steps.
[[nodiscard]] std::int32_t one_minus_x_over_one_plus_x(std::int32_t a) noexcept;

/// 1 / (1 + exp(-a)) with 0 integer bits, for a with `integer_bits` of them (0..29).
[[nodiscard]] std::int32_t fixed_point_logistic(std::int32_t a, int integer_bits) noexcept;

/// tanh(a) with 0 integer bits, for a with `integer_bits` of them (0..28).
[[nodiscard]] std::int32_t fixed_point_tanh(std::int32_t a, int integer_bits) noexcept;

/// 1 / (1 + exp(-a)) and tanh(a) of numbers of 16 bits, which stand for raw / 2^(15 - i), in
/// arithmetic of that width; i is at most 13 and 12.
[[nodiscard]] std::int16_t fixed_point_logistic_16(std::int16_t a, int integer_bits) noexcept;
[[nodiscard]] std::int16_t fixed_point_tanh_16(std::int16_t a, int integer_bits) noexcept;

}  // namespace octet
