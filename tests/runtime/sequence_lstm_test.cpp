// UNIDIRECTIONAL_SEQUENCE_LSTM beside the bytes of runtimes, which runtime_vectors_test.cpp
// compares.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/lstm_models.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace octet::test::sequence_lstm_test {
namespace {

/// All outputs of one call, on random codes and states.
std::vector<std::byte> run(const SequenceLstm& of, Rounding rounding, Index samples) {
  Interpreter interpreter(lstm_model(of), {.rounding = rounding, .batch = samples});
  Draw draw(3);
  for (std::size_t k = 0; k < 3; ++k) {
    // Codes that no saturation hides.
    for (std::byte& b : interpreter.input_bytes(k)) b = static_cast<std::byte>(draw.between(0, 31));
  }
  interpreter.invoke();
  std::vector<std::byte> all;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto bytes = std::as_const(interpreter).output_bytes(k);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

TEST(SequenceLstm, StepsGiveWhatSequencesDo) {
  // Two sequences at once in either order, as one of six steps and as six of one.
  for (const bool time_major : {false, true}) {
    for (const Rounding rounding : {Rounding::double_rounding, Rounding::fp32, Rounding::q15}) {
      SequenceLstm of{.batch = 2, .steps = 6, .attributes = {0.9F, time_major}};
      if (rounding == Rounding::q15) of.dtype = DType::int16;
      const IntegerModel whole = lstm_model(of);
      StreamingInterpreter at_once(whole, kept_states(whole).states, {.rounding = rounding});
      of.steps = 1;
      const IntegerModel one = lstm_model(of);
      StreamingInterpreter steps(one, kept_states(one).states, {.rounding = rounding});
      const auto x = at_once.interpreter().input_bytes();
      Draw draw(5);
      for (std::byte& b : x) b = static_cast<std::byte>(draw.between(0, 255));
      at_once.step();
      const auto y = std::as_const(at_once).interpreter().output_bytes();
      // Where the values of a sequence at a step begin.
      const auto place = [&](std::size_t sequence, std::size_t step, std::size_t size) {
        return size * (time_major ? step * 2 + sequence : sequence * 6 + step);
      };
      for (std::size_t step = 0; step < 6; ++step) {
        const auto x1 = steps.interpreter().input_bytes();
        for (std::size_t sequence = 0; sequence < 2; ++sequence) {
          const std::size_t size = x1.size() / 2;
          std::memcpy(x1.data() + sequence * size, x.data() + place(sequence, step, size), size);
        }
        steps.step();
        const auto y1 = std::as_const(steps).interpreter().output_bytes();
        for (std::size_t sequence = 0; sequence < 2; ++sequence) {
          const std::size_t size = y1.size() / 2;
          EXPECT_EQ(std::memcmp(y1.data() + sequence * size, y.data() + place(sequence, step, size),
                                size),
                    0);
        }
      }
    }
  }
}

TEST(SequenceLstm, SamplesDoNotMixAndContractsDiffer) {
  const auto of_double = run({}, Rounding::double_rounding, 5);
  EXPECT_NE(of_double, run({}, Rounding::fp32, 5));
  EXPECT_EQ(run({}, Rounding::single_rounding, 5), run({}, Rounding::fp32, 5));
  // Five samples of 3 steps and 2 cells; the same values in each give the same results.
  Interpreter interpreter(lstm_model({}), {.rounding = Rounding::double_rounding, .batch = 5});
  for (std::size_t k = 0; k < 3; ++k) {
    const auto bytes = interpreter.input_bytes(k);
    const std::size_t size = bytes.size() / 5;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % size);
  }
  interpreter.invoke();
  for (std::size_t k = 0; k < 3; ++k) {
    const auto bytes = std::as_const(interpreter).output_bytes(k);
    const std::size_t size = bytes.size() / 5;
    for (std::size_t i = size; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], bytes[i - size]);
  }
  EXPECT_EQ(operator_cost(lstm_model({}), 0).multiply_adds, 4 * 3 * 2 * (4 + 2));
}

TEST(SequenceLstm, CountsTheWeightsThatItKeeps) {
  const IntegerModel model = lstm_model({.inputs = 200});
  const auto kernel = detail::make_kernel({model, model.operators[0], Rounding::fp32});
  EXPECT_GE(kernel->bytes(), 4U * 2U * (200U + 2U));
}

TEST(SequenceLstm, TheCellIsClipped) {
  // The largest magnitude of a cell behind six steps, in units of 2^-11.
  const auto largest = [](float clip, Rounding rounding) {
    Interpreter interpreter(lstm_model({.steps = 6, .attributes = {.cell_clip = clip}}),
                            {.rounding = rounding});
    std::ranges::fill(interpreter.input_bytes(0), std::byte{127});
    for (const std::size_t state : {1U, 2U}) {
      std::ranges::fill(interpreter.input_bytes(state), std::byte{0});
    }
    interpreter.invoke();
    const auto bytes = std::as_const(interpreter).output_bytes(2);
    std::vector<std::int16_t> cells(bytes.size() / sizeof(std::int16_t));
    std::memcpy(cells.data(), bytes.data(), bytes.size());
    int most = 0;
    for (const std::int16_t cell : cells) most = std::max(most, std::abs(int{cell}));
    return most;
  };
  for (const Rounding rounding : {Rounding::double_rounding, Rounding::fp32}) {
    EXPECT_GT(largest(0.0F, rounding), 400);
    EXPECT_EQ(largest(0.125F, rounding), 256);
  }
}

TEST(SequenceLstm, NamesWhatItsContractsDoNotTake) {
  const auto expect = [](IntegerModel model, Rounding rounding, const char* says) {
    expect_throws<FormatError>([&] { Interpreter(std::move(model), {.rounding = rounding}); },
                               {"operator 0 (UNIDIRECTIONAL_SEQUENCE_LSTM)", says});
  };
  IntegerModel coarse = lstm_model({});
  coarse.tensors[14].quantization.scales = coarse.tensors[17].quantization.scales = {1.0F / 64};
  EXPECT_NO_THROW(Interpreter(coarse, {.rounding = Rounding::double_rounding}));
  expect(coarse, Rounding::fp32, "expected a scale of the cell state from 2^-15 to 2^-9");
  IntegerModel far = lstm_model({});
  const std::int32_t most = 2147483647;
  std::memcpy(far.tensors[9].data.data(), &most, sizeof(most));
  expect(far, Rounding::fp32, "beyond int32");
  IntegerModel wide = lstm_model({.dtype = DType::int16});
  expect(wide, Rounding::fp32, "expected rounding mode q15 for int16");
  const std::int64_t least = INT64_MIN;
  std::memcpy(wide.tensors[9].data.data(), &least, sizeof(least));
  expect(wide, Rounding::q15, "weights1");
}

}  // namespace
}  // namespace octet::test::sequence_lstm_test
