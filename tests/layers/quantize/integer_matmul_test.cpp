#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/layers/matmul.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// BATCH_MATMUL on int8 in training: what its range is measured of, and its gradients. That its
// integers are those of the file, the equality tests of graphs say.

namespace octet::test::integer_matmul_test {
namespace {

struct Products {
  std::array<Shape, 2> examples;
  MatMulOptions options;
};

class IntegerMatmul : public ::testing::TestWithParam<Products> {};

constexpr std::array kScales = {0.011F, 0.017F};
constexpr std::array kZeroPoints = {7, 0};

/// Drawn quantized values of operand i up to `most`, less their zero point.
Tensor drawn(const Shape& example, std::size_t i, float most) {
  Tensor x = random_tensor(example.with_batch(3), i, -most, most);
  for (float& value : x.mutable_span()) value = std::round(value);
  return x;
}

TEST_P(IntegerMatmul, ItsRangeAndGradientsAreThoseOfTheExactProduct) {
  const std::array<Shape, 2>& examples = GetParam().examples;
  const MatMulOptions& options = GetParam().options;
  QuantizeWrapper wrapper(std::make_unique<MatMul>(options), default_8bit({}));
  wrapper.build_all(examples, Random(1));
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return batch_matmul(a, b, transpose_of(options.transpose_first),
                        transpose_of(options.transpose_second));
  };
  const auto leaves_of = [](const std::array<Tensor, 2>& whole) {
    std::array<Tensor, 2> result;
    for (std::size_t i = 0; i < 2; ++i) {
      result[i] = leaf(on_grid(whole[i] * kScales[i], kScales[i], kZeroPoints[i]));
    }
    return result;
  };
  const auto real_of = [&](const std::array<Tensor, 2>& whole) {
    // Floats hold the sums of whole numbers.
    return product(whole[0], whole[1]) * (kScales[0] * kScales[1]);
  };
  const std::array small = {drawn(examples[0], 0, 40.0F), drawn(examples[1], 1, 40.0F)};
  wrapper.forward_all(leaves_of(small), training());
  const auto [low, high] = std::ranges::minmax(real_of(small).span());
  const Quantizer& result = *wrapper.activation_quantizer();
  EXPECT_EQ(result.min().item(), std::min(low, 0.0F));
  EXPECT_EQ(result.max().item(), std::max(high, 0.0F));

  // Its range follows slowly, so that values of these are clipped.
  const std::array large = {drawn(examples[0], 2, 120.0F), drawn(examples[1], 3, 120.0F)};
  const std::array<Tensor, 2> leaves = leaves_of(large);
  Tensor y = wrapper.forward_all(leaves, training());
  const Tensor g = random_tensor(y.shape(), 3);
  const RealLimits limits = real_limits(result.params());
  const Tensor passed =
      inside_window(real_of(large), g, {limits.lo, limits.hi, -kUnbounded, kUnbounded});
  EXPECT_GT(std::ranges::count(passed.span(), 0.0F), 0);
  EXPECT_LT(std::ranges::count(passed.span(), 0.0F), passed.size());
  y.backward(g.clone());
  const std::array<Tensor, 2> in_floats = leaves_of(large);
  product(in_floats[0], in_floats[1]).backward(passed);
  for (std::size_t i = 0; i < 2; ++i) {
    expect_tensor(leaves[i].grad(), leaves[i].shape(), values_of(in_floats[i].grad()));
  }
}

TEST_P(IntegerMatmul, SameBytesOnAnyNumberOfThreads) {
  const std::array<Shape, 2>& examples = GetParam().examples;
  const MatMulOptions& options = GetParam().options;
  expect_same_on_any_threads([&] {
    QuantizeWrapper wrapper(std::make_unique<MatMul>(options), default_8bit({}));
    wrapper.build_all(examples, Random(1));
    std::array<Tensor, 2> x;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor whole = drawn(examples[i], i, 100.0F);
      x[i] = leaf(on_grid(whole * kScales[i], kScales[i], kZeroPoints[i]));
    }
    Tensor y = wrapper.forward_all(x, training());
    y.backward(Tensor::ones(y.shape()));
    const Quantizer& result = *wrapper.activation_quantizer();
    return std::vector<Tensor>{y.detach(), x[0].grad(), x[1].grad(), result.min(), result.max()};
  });
}

TEST(IntegerMatmul, RefusesAResultOfOtherIntegers) {
  const std::vector<std::pair<QuantSpec, std::string>> specs = {
      {{.num_bits = 4}, "found -8 to 7"},
      {{.narrow_range = true}, "found -127 to 127"},
      {{.num_bits = 16, .symmetric = true}, "(int8, int8) -> int16 are not supported"}};
  for (const auto& [spec, found] : specs) {
    auto config = std::make_shared<CustomConfig>();
    config->output = fixed(-3.0F, 3.0F, spec);
    QuantizeWrapper wrapper(std::make_unique<MatMul>(), config);
    const std::array examples = {Shape{5, 7}, Shape{7, 3}};
    wrapper.build_all(examples, Random(1));
    const std::array<Tensor, 2> x = {
        on_grid(drawn(examples[0], 0, 9.0F) * kScales[0], kScales[0], 0),
        on_grid(drawn(examples[1], 1, 9.0F) * kScales[1], kScales[1], 0)};
    try {
      wrapper.forward_all(x, training());
      ADD_FAILURE() << "nothing was thrown where " << found << " was expected";
    } catch (const Error& error) {
      expect_mentions(error.what(), found);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, IntegerMatmul,
    ::testing::Values(Products{{Shape{5, 7}, Shape{7, 3}}, {}},
                      Products{{Shape{2, 5, 7}, Shape{2, 3, 7}}, {.transpose_second = true}},
                      Products{{Shape{2, 2, 7, 5}, Shape{2, 2, 7, 3}}, {.transpose_first = true}},
                      // More products than floats sum exactly.
                      Products{{Shape{4, 301}, Shape{301, 6}}, {}}));

}  // namespace
}  // namespace octet::test::integer_matmul_test
