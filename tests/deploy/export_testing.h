#pragma once

#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/naive.h>

#include <cstdint>
#include <vector>

// What tests of exports hold a file against: the interpreter's codes.

namespace octet::test {

inline std::vector<std::int8_t> interpreted(const IntegerModel& model, Rounding rounding,
                                            const std::vector<std::int8_t>& codes) {
  Interpreter interpreter(model, {.rounding = rounding});
  return run<std::int8_t, std::int8_t>(interpreter, codes);
}

/// Codes for the first input of a model.
inline std::vector<std::int8_t> codes_for(const IntegerModel& model, Draw& draw) {
  const auto input = static_cast<std::size_t>(model.inputs[0]);
  return random_codes(static_cast<std::size_t>(model.tensors[input].size()), draw);
}

}  // namespace octet::test
