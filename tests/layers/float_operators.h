#pragma once

#include <octet/layers/lower.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/layers/layer_testing.h>

#include <utility>
#include <vector>

namespace octet::test {

/// Fails unless a float model becomes these operators, which compute what it computes.
inline void expect_same_in_floats(Model& model, const std::vector<OpCode>& operators) {
  model.build(2);
  const IntegerModel lowered = lower_float(model);
  std::vector<OpCode> found;
  for (const Operator& op : lowered.operators) found.push_back(op.code);
  EXPECT_EQ(found, operators);
  Interpreter interpreter(lowered, {.batch = 3});
  const Tensor x = random_tensor(model.input_shape().with_batch(3), 8);
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  const Tensor y = model.forward(x);
  const auto values = std::as_const(interpreter).output<float>();
  ASSERT_EQ(static_cast<std::size_t>(y.size()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], y.span()[i], 1e-5F) << i;
}

}  // namespace octet::test
