#pragma once

#include <octet/core/kernels/code_loops.h>
#include <octet/core/kernels/passes.h>

#include <cstddef>
#include <cstdint>

// The loops of an LSTM on integers, as simple as those of code_loops.h, so that compilers make
// vectors of them.

namespace octet::passes {

[[gnu::always_inline]] static inline std::int32_t saturated_16(std::int64_t x) {
  return static_cast<std::int32_t>(clamped(x, -32768, 32767));
}

static void lstm_gates(const std::int32_t* __restrict of_input,
                       const std::int32_t* __restrict of_hidden, std::size_t size,
                       const QuantizedMultiplier& input_factor,
                       const QuantizedMultiplier& hidden_factor, std::int16_t* __restrict gates) {
  const QuantizedMultiplier by_input = input_factor;
  const QuantizedMultiplier by_hidden = hidden_factor;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t sum = saturated_16(rounded_twice(of_input[i], by_input)) +
                             saturated_16(rounded_twice(of_hidden[i], by_hidden));
    gates[i] = static_cast<std::int16_t>(saturated_16(sum));
  }
}

/// The line between the points beside `magnitude`, which lie 2^bits apart; behind the last `most`.
template <int bits>
[[gnu::always_inline]] static inline std::int32_t on_curve(const std::int32_t* points,
                                                           std::int32_t magnitude,
                                                           std::int32_t most) {
  const std::int32_t point = magnitude >> bits;
  const std::int32_t i = point < 254 ? point : 254;
  const std::int32_t place = magnitude & ((1 << bits) - 1);
  const std::int32_t line = (points[i] << bits) + place * (points[i + 1] - points[i]);
  return point >= 255 ? most << bits : line;
}

[[gnu::always_inline]] static inline std::int32_t place_on_curve(std::int32_t q,
                                                                 const SigmoidNumbers& by) {
  const std::int32_t half = static_cast<std::int32_t>((std::uint32_t{1} << by.shift) >> 1U);
  return (q * by.factor + half) >> by.shift;
}

[[gnu::always_inline]] static inline std::int32_t logistic_16(std::int32_t q,
                                                              const SigmoidNumbers& by) {
  const std::int32_t v = place_on_curve(q, by);
  const std::int32_t line = on_curve<9>(by.points, v < 0 ? -v : v, 0x7FFF << 1);
  return (v >= 0 ? line + (1 << 9) : (1 << 25) - line + (1 << 9) - 1) >> 10;
}

[[gnu::always_inline]] static inline std::int32_t tanh_16(std::int32_t q,
                                                          const SigmoidNumbers& by) {
  const std::int32_t v = place_on_curve(q, by);
  const std::int32_t line = on_curve<8>(by.points, v < 0 ? -v : v, 0xFFFF);
  return (v >= 0 ? line - (1 << 23) + (1 << 7) : -line + (1 << 23) + (1 << 7) - 1) >> 8;
}

static void logistic_in_place(std::int16_t* __restrict x, std::size_t size,
                              const SigmoidNumbers& numbers) {
  const SigmoidNumbers by = numbers;
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<std::int16_t>(logistic_16(x[i], by));
}

static void tanh_in_place(std::int16_t* __restrict x, std::size_t size,
                          const SigmoidNumbers& numbers) {
  const SigmoidNumbers by = numbers;
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<std::int16_t>(tanh_16(x[i], by));
}

/// The next cell state and its tanh, from the functions of the gates.
static void next_cells(const LstmStep& step) {
  const std::size_t units = step.units;
  const std::int16_t* const __restrict input = step.gates;
  const std::int16_t* const __restrict forget = input + units;
  const std::int16_t* const __restrict candidate = input + 2 * units;
  std::int16_t* const __restrict cell = step.cell;
  std::int16_t* const __restrict tanh_of_cell = step.tanh_of_cell;
  const QuantizedMultiplier kept = step.kept;
  const QuantizedMultiplier added = step.added;
  const std::int64_t clip = step.clip;
  for (std::size_t i = 0; i < units; ++i) {
    const std::int32_t sum = saturated_16(rounded_twice(forget[i] * cell[i], kept)) +
                             saturated_16(rounded_twice(input[i] * candidate[i], added));
    cell[i] = static_cast<std::int16_t>(clamped(saturated_16(sum), -clip, clip));
  }
  const SigmoidNumbers by = step.of_cell;
  for (std::size_t i = 0; i < units; ++i) {
    tanh_of_cell[i] = static_cast<std::int16_t>(tanh_16(cell[i], by));
  }
}

static void lstm_cells(const LstmStep& step) {
  const std::size_t units = step.units;
  logistic_in_place(step.gates, 2 * units, step.gate);
  tanh_in_place(step.gates + 2 * units, units, step.gate);
  logistic_in_place(step.gates + 3 * units, units, step.gate);
  next_cells(step);
  const std::int16_t* const __restrict output = step.gates + 3 * units;
  const std::int16_t* const __restrict tanh_of_cell = step.tanh_of_cell;
  std::int32_t* const __restrict result = step.result;
  const QuantizedMultiplier hidden = step.hidden;
  for (std::size_t i = 0; i < units; ++i) {
    result[i] = static_cast<std::int32_t>(rounded_twice(output[i] * tanh_of_cell[i], hidden));
  }
}

}  // namespace octet::passes
