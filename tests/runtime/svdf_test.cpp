// SVDF beside its definition, which operator_cases.h compares step by step, and the bytes of
// runtimes, which runtime_vectors_test.cpp compares.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/svdf_models.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace octet::test::svdf_test {
namespace {

TEST(Svdf, RemembersStepsUntilAReset) {
  Draw draw(5);
  const Svdf s = with_weights({.batch = 2, .memory = 4, .attributes = {.rank = 3}}, draw);
  const IntegerModel model = svdf_model(s);
  StreamingInterpreter stream(model, kept_states(model).states);
  for (int sequence = 0; sequence < 2; ++sequence) {
    std::vector<std::int16_t> state(stream.interpreter().input<std::int16_t>(1).size());
    for (int step = 0; step < 6; ++step) {
      const auto to = stream.interpreter().input<std::int8_t>();
      const std::vector<std::int8_t> x = random_codes(to.size(), draw);
      std::ranges::copy(x, to.begin());
      stream.step();
      auto [y, next] = naive_svdf(s, x, state);
      EXPECT_EQ(copy(std::as_const(stream).interpreter().output<std::int8_t>()), y);
      state = std::move(next);
    }
    stream.reset();
  }
  EXPECT_EQ(operator_cost(model, 0).multiply_adds, 2 * 6 * (4 + 4));
}

TEST(Svdf, NamesAFactorBeyondFloat32) {
  Draw draw(5);
  Svdf s = with_weights({}, draw);
  s.x = quant(1e20F, 0);
  s.state_scale = 1e-30F;
  expect_throws<FormatError>([&] { Interpreter interpreter(svdf_model(s)); },
                             {"operator 0 (SVDF)", "factor inf"});
}

}  // namespace
}  // namespace octet::test::svdf_test
