#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet::test::interpreter_dense_test {
namespace {

IntegerModel make_dense(std::int32_t rows, std::int32_t depth, const DenseSpec& spec, Draw& draw) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {rows, depth}, DType::int8,
                                 quant(draw.uniform(0.003F, 0.05F), draw.between(-128, 127)))};
  b.model.outputs = {add_dense(b, 0, spec, draw)};
  return b.model;
}

TEST(Interpreter, DenseAgreesWithANaiveLoop) {
  Draw draw(17);
  std::size_t inside = 0;
  for (int round = 0; round < 240; ++round) {
    DenseSpec spec;
    spec.units = draw.between(1, 37);
    spec.per_channel = round % 2 == 0;
    spec.weight_zero_point = round % 4 == 1 ? draw.between(-30, 30) : 0;
    spec.bias = round % 5 != 0;
    spec.activation = static_cast<FusedActivation>(draw.between(0, 3));
    spec.output_scale = draw.uniform(0.01F, 0.3F);
    spec.output_zero_point = draw.between(-128, 127);
    const std::int32_t rows = draw.between(1, 5);
    const std::int32_t depth = draw.between(1, 150);
    const IntegerModel model = make_dense(rows, depth, spec, draw);
    const Rounding rounding = kContracts.at(static_cast<std::size_t>(round) % 3);
    const Index batch = draw.between(1, 40);
    Interpreter interpreter(model, {rounding, batch});
    const auto x = random_codes(static_cast<std::size_t>(batch * rows * depth), draw);
    const auto y = run<std::int8_t, std::int8_t>(interpreter, x);
    ASSERT_EQ(y, naive_dense(model, 0, x, rounding)) << "round " << round;
    inside += static_cast<std::size_t>(std::count_if(
        y.begin(), y.end(), [](std::int8_t code) { return code > -128 && code < 127; }));
  }
  EXPECT_GT(inside, 10000U) << "most outputs must not be clamped for this to mean something";
}

TEST(Interpreter, ContractsDiffer) {
  Draw draw(23);
  const IntegerModel model =
      make_dense(1, 60, {.units = 64, .per_channel = true, .output_scale = 0.02F}, draw);
  const auto x = random_codes(60 * 400, draw);
  std::vector<std::vector<std::int8_t>> results;
  for (const Rounding rounding : kContracts) {
    Interpreter interpreter(model, {rounding, 400});
    EXPECT_EQ(interpreter.rounding(), rounding);
    results.push_back(run<std::int8_t, std::int8_t>(interpreter, x));
  }
  EXPECT_NE(results[0], results[2]);
  EXPECT_NE(results[1], results[2]);
}

// The sum of 9 million weights of magnitude 255 is beyond int32 itself.
TEST(Interpreter, SumsOfVeryDeepLayersAreRefused) {
  constexpr std::int32_t kDepth = 9'000'000;
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, kDepth}, DType::int8, quant(0.1F, 0))};
  const std::int32_t w = b.constant("w", {1, kDepth}, DType::int8,
                                    std::vector<std::int8_t>(kDepth, -128), quant(0.1F, 127));
  b.model.outputs = {b.activation("y", {1, 1}, DType::int8, quant(0.1F, 0))};
  b.op(OpCode::fully_connected, {0, w}, b.model.outputs[0]);
  // 9,000,000 * 255 * 128.
  expect_throws<FormatError>([&] { const Interpreter interpreter(b.model); },
                             {"sums could reach 293760000000, beyond int32"});
}

TEST(Interpreter, BatchesAndThreadsGiveTheSameRows) {
  const IntegerModel model = make_mlp(4, {50, 31, 10}, true, false);
  Draw draw(4);
  const auto x = random_codes(50 * 131, draw);
  const KeepThreads keep;
  set_num_threads(1);
  Interpreter one(model);
  std::vector<std::int8_t> expected;
  for (std::size_t i = 0; i < 131; ++i) {
    const auto row =
        run<std::int8_t, std::int8_t>(one, {x.begin() + static_cast<std::ptrdiff_t>(50 * i),
                                            x.begin() + static_cast<std::ptrdiff_t>(50 * (i + 1))});
    expected.insert(expected.end(), row.begin(), row.end());
  }
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    Interpreter all(model, {.batch = 131});
    EXPECT_EQ((run<std::int8_t, std::int8_t>(all, x)), expected);
  }
  one.resize_batch(131);
  EXPECT_EQ(one.batch(), 131);
  EXPECT_EQ((run<std::int8_t, std::int8_t>(one, x)), expected);
  EXPECT_THROW(one.resize_batch(0), InvalidArgument);
  EXPECT_THROW(one.resize_batch(-3), InvalidArgument);
  EXPECT_THROW(one.resize_batch(std::numeric_limits<Index>::max()), InvalidArgument);
  EXPECT_EQ(one.batch(), 131) << "a batch that was refused changes nothing";
  EXPECT_EQ((run<std::int8_t, std::int8_t>(one, x)), expected);
}

TEST(Interpreter, RefusesABatchWhoseTensorsFitOnlyOneByOne) {
  Draw draw(5);
  const auto x = random_codes(50 * 3, draw);
  Interpreter interpreter(make_mlp(5, {50, 50, 50}, true, false),
                          {.batch = 3, .keep_tensors = true});
  const auto expected = run<std::int8_t, std::int8_t>(interpreter, x);
  EXPECT_THROW(interpreter.resize_batch(40'000'000), InvalidArgument);
  EXPECT_EQ(interpreter.batch(), 3) << "a batch that was refused changes nothing";
  EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), expected);
}

TEST(Interpreter, BlocksOfALargeBatchGiveTheSameRows) {
  // Several blocks on one thread and on three, the last of them smaller; tensors kept and shared.
  // Slow and often enough that threads run side by side and would see each other's tensors.
  force_kernels(available_kernels().front());
  const IntegerModel model = make_mlp(7, {20, 150, 170, 10}, true, true);
  constexpr Index kBatch = 32 * 40 + 5;
  Draw draw(7);
  std::vector<float> x(20 * kBatch);
  for (float& value : x) value = draw.uniform(-0.1F, 1.1F);
  Interpreter one(model);
  std::vector<float> expected;
  for (auto row = x.begin(); row != x.end(); row += 20) {
    const auto y = run<float, float>(one, {row, row + 20});
    expected.insert(expected.end(), y.begin(), y.end());
  }
  const KeepThreads keep_threads;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const bool keep : {false, true}) {
      Interpreter all(model, {.batch = kBatch, .keep_tensors = keep});
      for (int time = 0; time < 20; ++time) {
        ASSERT_EQ((run<float, float>(all, x)), expected) << threads << " threads, kept " << keep;
      }
      // Planned for so many threads, run on another number of them.
      set_num_threads(threads % 3 + 1);
      EXPECT_EQ((run<float, float>(all, x)), expected) << threads << " threads, kept " << keep;
      set_num_threads(threads);
    }
  }
  force_kernels(nullptr);
}

TEST(Interpreter, WholeNetworkLayerByLayer) {
  const IntegerModel model = make_mlp(6, {33, 20, 7}, true, true);
  Interpreter interpreter(model, {.batch = 3, .keep_tensors = true});
  Draw draw(6);
  std::vector<float> x(99);
  for (float& value : x) value = draw.uniform(-0.1F, 1.1F);
  const auto y = run<float, float>(interpreter, x);

  const auto codes = [&](std::int32_t tensor) {
    const auto bytes = interpreter.tensor_bytes(tensor);
    std::vector<std::int8_t> result(bytes.size());
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  };
  std::vector<std::int8_t> expected;
  for (const float value : x) {
    const float code = std::nearbyint(value / (1.0F / 255)) - 128;
    expected.push_back(static_cast<std::int8_t>(std::clamp(code, -128.0F, 127.0F)));
  }
  EXPECT_EQ(codes(1), expected);
  expected = naive_dense(model, 1, expected, Rounding::fp32);
  EXPECT_EQ(codes(4), expected);
  expected = naive_dense(model, 2, expected, Rounding::fp32);
  EXPECT_EQ(codes(7), expected);
  const auto p = codes(8);
  ASSERT_EQ(p.size(), y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], static_cast<float>(p[i] + 128) / 256.0F);
    const auto row = expected.begin() + static_cast<std::ptrdiff_t>(i / 7 * 7);
    double sum = 0;
    for (int j = 0; j < 7; ++j) {
      sum += std::exp(double{model.tensors[7].quantization.scale()} * (row[j] - row[i % 7]));
    }
    EXPECT_NEAR(y[i], 1 / sum, 0.51 / 256);
  }
  EXPECT_EQ(interpreter.tensor_bytes(2).size(), 20U * 33U) << "constants are readable";
}

TEST(Interpreter, SumsThatCouldOverflowAreRefused) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 1}, DType::int8, quant(1, -128))};
  const std::int32_t w =
      b.constant("w", {1, 1}, DType::int8, std::vector<std::int8_t>{127}, quant(1, 0));
  const std::int32_t most = std::numeric_limits<std::int32_t>::max() - 127 * 255;
  const std::int32_t bias = b.constant("b", {1}, DType::int32, std::vector<std::int32_t>{most},
                                       quant(1, 0, DType::int32));
  b.model.outputs = {b.activation("y", {1, 1}, DType::int8, quant(2e7F, 0))};
  b.op(OpCode::fully_connected, {0, w, bias}, b.model.outputs[0]);
  Interpreter interpreter(b.model);
  EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, {127})), std::vector<std::int8_t>{107});
  b.model.tensors[2].data = to_bytes(std::vector<std::int32_t>{most + 1});
  EXPECT_THROW(Interpreter{b.model}, FormatError);
  b.model.tensors[2].data = to_bytes(std::vector<std::int32_t>{-most - 1});
  EXPECT_THROW(Interpreter{b.model}, FormatError);
}

}  // namespace
}  // namespace octet::test::interpreter_dense_test
