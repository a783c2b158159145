#include <octet/core/ops/fake_quant.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

namespace octet::test::quantizers_test {
namespace {

constexpr float kRatio = -254.0F / 256.0F;
const QuantSpec kPerAxis{.narrow_range = true, .symmetric = true, .axis = 1};

TEST(LastValue, TakesTheRangeOfTheLastBatchWidenedToHoldZero) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  quantizer->observe(vector_of({-3.0F, 5.0F}));
  expect_range(*quantizer, -3.0F, 5.0F);
  quantizer->observe(vector_of({2.0F, 4.0F}));
  expect_range(*quantizer, 0.0F, 4.0F);
  quantizer->observe(vector_of({-2.0F, -1.0F}));
  expect_range(*quantizer, -2.0F, 0.0F);
}

TEST(LastValue, MakesTheRangeSymmetric) {
  const auto narrow = ready(LastValueQuantizer(kSymmetricNarrow));
  narrow->observe(vector_of({-3.0F, 5.0F}));
  expect_range(*narrow, -5.0F, 5.0F);
  narrow->observe(vector_of({2.0F, 4.0F}));
  expect_range(*narrow, -4.0F, 4.0F);
  const auto full = ready(LastValueQuantizer(kSymmetric));
  // Both ends come from the raw range: the lower one asks for 3 * 0.9921875 above.
  full->observe(vector_of({-3.0F, 0.5F}));
  expect_range(*full, -3.0F, -3.0F * kRatio);
  full->observe(vector_of({-0.5F, 3.0F}));
  expect_range(*full, 3.0F / kRatio, 3.0F);
}

TEST(LastValue, KeepsARangePerIndexOfTheLastAxis) {
  const auto quantizer = ready(LastValueQuantizer(kPerAxis), {2, 3});
  quantizer->observe(Tensor::from({2, 3}, {1, -2, 0, -4, 1, 0}));
  expect_tensor(quantizer->min(), {3}, {-4, -2, 0});
  expect_tensor(quantizer->max(), {3}, {4, 2, 0});
  const QuantParams params = quantizer->params();
  EXPECT_EQ(params.quantized_dimension, 1);
  EXPECT_EQ(params.scales[0], 4.0F / 127.0F);
  EXPECT_EQ(params.scales[1], 2.0F / 127.0F);
  // A channel of zeros still has a sound scale.
  EXPECT_GT(params.scales[2], 0.0F);
  EXPECT_EQ(params.zero_points, (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(LastValue, PerAxisOfAVectorTakesTheValuesThemselves) {
  const auto quantizer = ready(LastValueQuantizer({.axis = 0}), {3});
  quantizer->observe(vector_of({1, -2, 3}));
  expect_tensor(quantizer->min(), {3}, {0, -2, 0});
  expect_tensor(quantizer->max(), {3}, {1, 0, 3});
}

TEST(MovingAverage, OfTfmotStartsAtSixAndDecaysWithoutCorrection) {
  const auto quantizer = ready(MovingAverageQuantizer(QuantSpec{}, RangeStart::tfmot, 0.999));
  EXPECT_TRUE(quantizer->has_range());
  expect_range(*quantizer, -6.0F, 6.0F);
  const auto weight = static_cast<float>(1.0 - 0.999);
  float low = -6.0F;
  float high = 6.0F;
  for (int step = 0; step < 50; ++step) {
    const float top = 0.1F * static_cast<float>(step);
    quantizer->observe(vector_of({0.5F, top + 0.5F}));
    low = low - (low - 0.0F) * weight;
    high = high - (high - (top + 0.5F)) * weight;
    ASSERT_EQ(quantizer->min().item(), low) << step;
    ASSERT_EQ(quantizer->max().item(), high) << step;
  }
  // A ReLU's minimum: -6 * 0.999^n.
  EXPECT_NEAR(double{low}, -6.0 * std::pow(0.999, 50), 1e-5);
}

/// sum over t of d^(n - t) r_t, divided by the sum of the weights: the average with its bias
/// corrected, in double.
double corrected_average(const std::vector<double>& values, double decay) {
  double sum = 0.0;
  double weights = 0.0;
  for (const double value : values) {
    sum = decay * sum + value;
    weights = decay * weights + 1.0;
  }
  return sum / weights;
}

TEST(MovingAverage, OfOctetStartsAtTheFirstBatchAndCorrectsTheBias) {
  for (const double decay : {0.0, 0.5, 0.99, 0.999}) {
    const auto quantizer =
        ready(MovingAverageQuantizer(QuantSpec{}, RangeStart::first_batch, decay));
    EXPECT_FALSE(quantizer->has_range());
    std::vector<double> lows;
    std::vector<double> highs;
    for (std::uint64_t step = 0; step < 200; ++step) {
      const Tensor batch = random_tensor({7}, step, -3.0F, 5.0F);
      quantizer->observe(batch);
      const auto [low, high] = std::ranges::minmax(batch.span());
      lows.push_back(std::min(double{low}, 0.0));
      highs.push_back(std::max(double{high}, 0.0));
      ASSERT_NEAR(double{quantizer->min().item()}, corrected_average(lows, decay), 1e-5) << step;
      ASSERT_NEAR(double{quantizer->max().item()}, corrected_average(highs, decay), 1e-5) << step;
      // The first range is that of the batch to the bit.
      if (step == 0) {
        expect_range(*quantizer, std::min(low, 0.0F), std::max(high, 0.0F));
      }
    }
  }
}

TEST(MovingAverage, OfSymmetricRangesAveragesTheSymmetricOnes) {
  const auto quantizer =
      ready(MovingAverageQuantizer(kSymmetricNarrow, RangeStart::first_batch, 0.5));
  quantizer->observe(vector_of({-1.0F, 3.0F}));
  expect_range(*quantizer, -3.0F, 3.0F);
  quantizer->observe(vector_of({-6.0F, 3.0F}));
  // Weights 1/3 and 2/3.
  EXPECT_NEAR(quantizer->max().item(), 5.0F, 1e-6F);
  EXPECT_EQ(quantizer->min().item(), -quantizer->max().item());
}

TEST(MovingAverage, RefusesADecayOutsideItsRange) {
  for (const double decay : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(MovingAverageQuantizer(QuantSpec{}, RangeStart::tfmot, decay), InvalidArgument);
  }
}

TEST(AllValues, KeepsTheWidestRangeAndAlwaysHoldsZero) {
  const auto quantizer = ready(AllValuesQuantizer(QuantSpec{}));
  quantizer->observe(vector_of({2.0F, 3.0F}));
  expect_range(*quantizer, 0.0F, 3.0F);
  quantizer->observe(vector_of({-1.0F, 1.0F}));
  expect_range(*quantizer, -1.0F, 3.0F);
  quantizer->observe(vector_of({-4.0F, -2.0F}));
  expect_range(*quantizer, -4.0F, 3.0F);
  quantizer->observe(vector_of({0.5F, 0.25F}));
  expect_range(*quantizer, -4.0F, 3.0F);
}

TEST(AllValues, OfTfmotStartsAtNothingAndMapsAllToZero) {
  const auto quantizer = ready(AllValuesQuantizer(QuantSpec{}, RangeStart::tfmot));
  EXPECT_TRUE(quantizer->has_range());
  expect_range(*quantizer, 0.0F, 0.0F);
  expect_tensor(quantizer->fake_quant(vector_of({-1.0F, 0.0F, 7.0F})), {3}, {0, 0, 0});
}

TEST(AllValues, MakesSymmetricBoundsOneAfterTheOther) {
  const auto quantizer = ready(AllValuesQuantizer(kSymmetric, RangeStart::tfmot));
  quantizer->observe(vector_of({-0.5F, 3.0F}));
  // low = 3 / ratio first, then high = max(3, low * ratio), which may be an ulp above 3.
  const float low = 3.0F / kRatio;
  expect_range(*quantizer, low, std::max(3.0F, low * kRatio));
  // Where the new lower bound asks for more above than the raw one did.
  const auto other = ready(AllValuesQuantizer(kSymmetric, RangeStart::tfmot));
  for (int i = 1; i < 400; ++i) {
    const float high = 0.01F * static_cast<float>(i);
    other->observe(vector_of({-0.001F, high}));
    EXPECT_EQ(other->min().item(), high / kRatio);
    EXPECT_EQ(other->max().item(), std::max(high, high / kRatio * kRatio)) << i;
  }
  // That takes a bound whose quotient lies beyond the next power of two.
  int raised = 0;
  for (int i = 0; i < 400; ++i) {
    const float high = 1.985F + 3e-5F * static_cast<float>(i);
    const auto each = ready(AllValuesQuantizer(kSymmetric, RangeStart::tfmot));
    each->observe(vector_of({-0.001F, high}));
    const float wider = high / kRatio * kRatio;
    EXPECT_EQ(each->max().item(), std::max(high, wider)) << i;
    raised += wider > high ? 1 : 0;
  }
  EXPECT_GT(raised, 0);
}

TEST(Fixed, NeverChangesItsRange) {
  const auto quantizer = ready(FixedQuantizer(-1.0F, 3.0F));
  EXPECT_TRUE(quantizer->has_range());
  quantizer->observe(vector_of({-100.0F, 100.0F}));
  expect_range(*quantizer, -1.0F, 3.0F);
  EXPECT_THROW(quantizer->observe(vector_of({kNan})), NumericError);
}

TEST(Fixed, FakeQuantizesWithConstantLimits) {
  // [-6, 6] and 2: the quotient of the Args form is a tie that goes up, that of Vars is not.
  const Tensor x = vector_of({2.0F, -7.0F, 0.0F});
  const auto fixed = ready(FixedQuantizer(-6.0F, 6.0F));
  const Tensor expected = fake_quant_with_min_max_args(x, -6.0F, 6.0F);
  expect_tensor(fixed->fake_quant(x), {3}, values_of(expected));
  EXPECT_NEAR(expected.at({0}), 2.0235295F, 1e-6F);
  const auto last = ready(LastValueQuantizer(QuantSpec{}, RangeStart::tfmot));
  EXPECT_NEAR(last->fake_quant(x).data()[0], 1.9764706F, 1e-6F);
}

TEST(Fixed, RefusesARangeThatIsNone) {
  for (const auto& [min, max] : {std::pair{1.0F, 1.0F}, {2.0F, 1.0F}, {kNan, 1.0F}, {0.0F, kNan}}) {
    EXPECT_THROW(FixedQuantizer(min, max), InvalidArgument);
  }
  EXPECT_THROW(ready(FixedQuantizer(0.0F, kInf)), NumericError);
}

}  // namespace
}  // namespace octet::test::quantizers_test
