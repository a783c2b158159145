#include <octet/core/error.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/random.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/train/training.h>
#include <octet/train/evaluate.h>
#include <octet/train/layer_differences.h>

#include <functional>

namespace octet::test::evaluate_test {
namespace {

/// More rows than are evaluated at once, and no multiple of a batch.
constexpr std::size_t kRows = 2113;

TEST(Evaluate, AFloatModelIsItsArgmax) {
  const Dataset data = clouds(kRows, 1, 6, 3, 0.8F);
  const Sequential model = small_mlp();
  const Evaluation result = evaluate(model, data);
  const Labels expected = argmax(model.forward_logits(data.features(0, kRows)));
  EXPECT_EQ(result.predictions, expected);
  EXPECT_EQ(predict(model, data.features(0, kRows)), expected);
  std::size_t right = 0;
  for (std::size_t i = 0; i < kRows; ++i) right += expected[i] == data.labels()[i] ? 1U : 0U;
  EXPECT_DOUBLE_EQ(result.accuracy, static_cast<double>(right) / kRows);
}

TEST(Evaluate, IntegersAreRunSampleBySample) {
  const Dataset data = clouds(kRows, 1, 6, 3, 0.8F);
  Sequential model = quantize_model(small_mlp());
  calibrate(model, data.features(0, 100));
  refresh_kernel_ranges(model);
  const IntegerModel lowered = lower(model);
  const Evaluation result = evaluate(lowered, data);
  Interpreter one_by_one(lowered);
  for (std::size_t i = 0; i < kRows; i += 97) {
    EXPECT_EQ(one_by_one.predict(data.features(i, i + 1).span())[0], result.predictions[i]);
  }
  EXPECT_EQ(result.predictions.size(), kRows);
  EXPECT_EQ(count_differing(evaluate(model, data), result), 0U);
}

TEST(Evaluate, PixelsAreScoredAsTheirFloats) {
  std::vector<std::uint8_t> pixels(kRows * 6);
  std::vector<std::int32_t> labels(kRows);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(Random(3).bits(i));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = pixels[6 * i] % 3;
  const Dataset data = Dataset::from_bytes("pixels", {6}, pixels, labels, 3);
  Sequential model = quantize_model(small_mlp());
  calibrate(model, data.features(0, 100));
  refresh_kernel_ranges(model);
  const Evaluation result = evaluate(lower(model), data);
  Interpreter interpreter(lower(model));
  EXPECT_EQ(result.predictions, interpreter.predict(data.features(0, kRows).span()));
  EXPECT_EQ(count_differing(evaluate(model, data), result), 0U);
}

TEST(Evaluate, ChangesNothing) {
  const Dataset data = clouds(50);
  Sequential model = quantize_model(small_mlp());
  calibrate(model, data.features(0, 50));
  // Nor after the kernels have moved on from the ranges that were observed.
  for (const float factor : {1.0F, 3.0F}) {
    for (float& w : model.layer("quant_dense").parameters()[0].tensor.mutable_span()) w *= factor;
    const Bytes before = bytes_of(model);
    static_cast<void>(evaluate(model, data));
    static_cast<void>(predict(model, data.features(0, 50)));
    static_cast<void>(measure(model, data, {{"first output", [](const Tensor& y, auto) {
                                               return static_cast<double>(y.data()[0]);
                                             }}}));
    static_cast<void>(compare_networks(model, Trainer(model, Adam()).lower(), data));
    EXPECT_EQ(bytes_of(model), before);
  }
}

TEST(Evaluate, TakesTheKernelRangeOfTheKernelAsItIs) {
  const Dataset data = clouds(200, 1, 6, 3, 0.8F);
  Sequential model = quantize_model(small_mlp());
  calibrate(model, data.features(0, 50));
  for (float& w : model.layer("quant_dense").parameters()[0].tensor.mutable_span()) w *= 3.0F;
  const Labels stale = argmax(model.forward(data.features(0, 200)));
  const Labels fresh = evaluate(model, data).predictions;
  refresh_kernel_ranges(model);
  EXPECT_EQ(fresh, evaluate(lower(model), data).predictions);
  EXPECT_NE(stale, fresh);
}

TEST(Evaluate, NoRowsAndOtherSizes) {
  Sequential model = quantize_model(small_mlp());
  calibrate(model, clouds(10).features(0, 10));
  refresh_kernel_ranges(model);
  const IntegerModel lowered = lower(model);
  const Dataset none = clouds(5).head(0);
  Interpreter interpreter(lowered);
  for (const auto& evaluate_none : {std::function([&] { evaluate(model, none); }),
                                    std::function([&] { evaluate(lowered, none); }),
                                    std::function([&] { evaluate(interpreter, none); })}) {
    expect_mentions(message_of<InvalidArgument>(evaluate_none),
                    "evaluate: expected examples, found an empty data set, '" + none.name() + "'");
  }
  // Examples of 3 and of 12 values fill samples of 6 values as well.
  for (const Index size : {3, 5, 12}) {
    const Dataset other = clouds(1200, 1, size);
    EXPECT_THROW(evaluate(lowered, other), InvalidArgument) << size;
    EXPECT_THROW(evaluate(model, other), InvalidArgument) << size;
  }
}

TEST(Evaluate, FitToInputReshapesOnly) {
  const Sequential model = small_mlp();
  const Tensor x = Tensor::arange(12);
  EXPECT_EQ(fit_to_input(model, x.reshape({2, 2, 3})).shape(), (Shape{2, 6}));
  EXPECT_EQ(fit_to_input(model, x.reshape({2, 6})).data(), x.reshape({2, 6}).data());
  EXPECT_EQ(fit_to_input(model, x.reshape({2, 2, 3})).at({1, 0}), 6.0F);
  expect_mentions(message_of<InvalidArgument>([&] {
                    fit_to_input(model, x.reshape({3, 4}));
                  }),
                  "model \"small\" takes examples of shape [6] (6 values), found [4] (4 values)");
}

TEST(CountDiffering, CountsRows) {
  EXPECT_EQ(count_differing({{1, 2, 0}, 0.0}, {{1, 0, 3}, 1.0}), 2U);
  EXPECT_EQ(count_differing({{}, 0.0}, {{}, 0.0}), 0U);
  EXPECT_THROW(count_differing({{1}, 0.0}, {{1, 2}, 0.0}), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::evaluate_test
