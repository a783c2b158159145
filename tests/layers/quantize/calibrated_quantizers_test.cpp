// Ranges that leave outliers out: Mse, Percentile and those of histograms.

#include <octet/core/ops/elementwise.h>
#include <octet/core/quant/histogram.h>
#include <octet/core/quant/range_search.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

#include <filesystem>
#include <functional>

namespace octet::test::calibrated_quantizers_test {
namespace {

constexpr QuantSpec kFourBits{.num_bits = 4, .narrow_range = true, .symmetric = true};

/// Values of which few are large, of another size on each index of `axis`.
Tensor with_outliers(const Shape& shape, std::uint64_t seed, int axis = -1) {
  Tensor x = random_tensor(shape, seed, -1.0F, 1.0F);
  Index inner = 1;
  for (int i = axis + 1; axis >= 0 && i < shape.rank(); ++i) inner *= shape.dim(i);
  for (Index i = 0; i < x.size(); ++i) {
    const Index channel = axis < 0 ? 0 : i / inner % shape.dim(axis);
    float& value = x.mutable_data()[i];
    value *= value * value * (1.0F + 3.0F * static_cast<float>(channel));
    if (channel % 2 == 1) value = std::abs(value);
  }
  return x;
}

/// The values of channel c of `axis`.
Tensor channel_of(const Tensor& x, int axis, Index c) {
  Index inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.dim(i);
  std::vector<float> values;
  for (Index i = 0; i < x.size(); ++i) {
    if (i / inner % x.dim(axis) == c) values.push_back(x.data()[i]);
  }
  const auto size = static_cast<Index>(values.size());
  return Tensor::from({size}, values);
}

using MakeQuantizer = std::function<std::unique_ptr<Quantizer>(QuantSpec)>;

const std::vector<MakeQuantizer>& of_weights() {
  static const std::vector<MakeQuantizer> all = {
      [](QuantSpec spec) { return std::make_unique<MseQuantizer>(spec); },
      [](QuantSpec spec) { return std::make_unique<PercentileQuantizer>(spec, 97.0); }};
  return all;
}

const std::vector<MakeQuantizer>& of_activations() {
  static const std::vector<MakeQuantizer> all = {
      [](QuantSpec spec) { return std::make_unique<HistogramMseQuantizer>(spec); },
      [](QuantSpec spec) { return std::make_unique<HistogramPercentileQuantizer>(spec, 97.0); },
      [](QuantSpec spec) { return std::make_unique<HistogramEntropyQuantizer>(spec); }};
  return all;
}

std::unique_ptr<Quantizer> built_for(const MakeQuantizer& make, const Shape& shape,
                                     QuantSpec spec) {
  auto quantizer = make(spec);
  quantizer->build("layer/tensor", "t_", shape,
                   spec.axis < 0 ? Quantizer::ZeroPoint::kept : Quantizer::ZeroPoint::hidden);
  return quantizer;
}

TEST(ClippedWeights, OfAChannelAreThoseOfItAlone) {
  const Shape shape{3, 4, 5, 6};
  for (const MakeQuantizer& make : of_weights()) {
    for (const int axis : {0, 1, 3}) {
      const Tensor x = with_outliers(shape, 3, axis);
      QuantSpec spec = kFourBits;
      spec.axis = axis;
      const auto whole = built_for(make, shape, spec);
      whole->calibrate(x);
      for (Index c = 0; c < shape.dim(axis); ++c) {
        const Tensor channel = channel_of(x, axis, c);
        const auto alone = built_for(make, channel.shape(), kFourBits);
        alone->calibrate(channel);
        EXPECT_EQ(whole->min().data()[c], alone->min().item()) << whole->type() << axis << c;
        EXPECT_EQ(whole->max().data()[c], alone->max().item()) << whole->type() << axis << c;
      }
    }
  }
}

TEST(ClippedWeights, HaveTheRangeThatTheSearchFinds) {
  const Tensor x = with_outliers({20, 30}, 5);
  const float largest = magnitude(min_max(x.span()));
  const auto mse = ready(MseQuantizer(kFourBits), x.shape());
  mse->calibrate(x);
  const float clip = mse_clip(x.span(), kFourBits, "x");
  EXPECT_LT(clip, 0.95F);
  expect_range(*mse, -clip * largest, clip * largest);
  const auto percentile = ready(PercentileQuantizer(kFourBits, 97.0), x.shape());
  percentile->calibrate(x);
  const float kth = percentile_magnitude(x.span(), 97.0, "x");
  EXPECT_FLOAT_EQ(percentile->max().item(), kth);
  EXPECT_LT(kth, largest);
}

TEST(ClippedWeights, FollowTheLargestInTrainingWithTheClipThatCalibrationFound) {
  const Tensor x = with_outliers({200}, 7);
  const Tensor flat = random_tensor({200}, 8, -1.0F, 1.0F);
  for (const MakeQuantizer& make : of_weights()) {
    const auto quantizer = built_for(make, x.shape(), kFourBits);
    quantizer->observe(x);
    EXPECT_TRUE(quantizer->has_range());
    const float max = quantizer->max().item();
    const auto calibrated = built_for(make, x.shape(), kFourBits);
    calibrated->calibrate(x);
    EXPECT_EQ(calibrated->max().item(), max) << "the first batch is calibration";
    quantizer->observe(x * 2.0F);
    EXPECT_EQ(quantizer->max().item(), 2.0F * max);
    // Observed twice is observed once: what is scored is what is saved.
    const auto once = everything_in(*quantizer);
    quantizer->observe(x * 2.0F);
    EXPECT_EQ(everything_in(*quantizer), once);
    // Values without outliers are clipped as much as those with, until the next calibration.
    quantizer->observe(flat);
    const float kept = quantizer->max().item();
    quantizer->calibrate(flat);
    EXPECT_GT(quantizer->max().item(), kept);
  }
}

TEST(ClippedWeights, AreSearchedAnewWhereverTheStateComesFrom) {
  const Tensor x = with_outliers({200}, 7);
  for (const MakeQuantizer& make : of_weights()) {
    const auto quantizer = built_for(make, x.shape(), kFourBits);
    quantizer->calibrate(x);
    const auto expected = everything_in(*quantizer);
    // As a file writes it that was saved with another clip.
    tensor_named(quantizer->counters(), "t_clip").mutable_data()[0] = 0.125F;
    quantizer->calibrate(x);
    EXPECT_EQ(everything_in(*quantizer), expected);
    Tensor changed = x.clone();
    changed.mutable_data()[3] = 50.0F;
    quantizer->calibrate(changed);
    EXPECT_NE(everything_in(*quantizer), expected);
    quantizer->calibrate(x);
    EXPECT_EQ(everything_in(*quantizer), expected);
    quantizer->clone()->calibrate(changed);
    EXPECT_EQ(everything_in(*quantizer), expected);
  }
}

TEST(ClippedWeights, OfZerosAreNotClippedLater) {
  for (const MakeQuantizer& make : of_weights()) {
    const auto quantizer = built_for(make, {4}, kFourBits);
    quantizer->calibrate(vector_of({0, 0, 0, 0}));
    quantizer->observe(vector_of({0, 1, -2, 0}));
    expect_range(*quantizer, -2.0F, 2.0F);
  }
  // The 97th percentile of mostly zeros is 0.
  const auto sparse = ready(PercentileQuantizer(kFourBits, 50.0), {4});
  sparse->calibrate(vector_of({0, 0, 0, 1}));
  expect_range(*sparse, -1.0F, 1.0F);
}

TEST(ClippedWeights, DoNotDependOnThreads) {
  const test::KeepThreads keep;
  const Tensor x = with_outliers({64, 500}, 9, 1);
  for (const MakeQuantizer& make : of_weights()) {
    for (const int axis : {-1, 1}) {
      QuantSpec spec = kFourBits;
      spec.axis = axis;
      std::vector<std::vector<std::vector<float>>> found;
      for (const int threads : {1, 2, 5}) {
        set_num_threads(threads);
        const auto quantizer = built_for(make, x.shape(), spec);
        quantizer->calibrate(x);
        found.push_back(everything_in(*quantizer));
      }
      EXPECT_EQ(found[1], found[0]);
      EXPECT_EQ(found[2], found[0]);
    }
  }
}

TEST(HistogramRanges, AreThoseTheSearchesFind) {
  const Tensor x = with_outliers({40, 50}, 11);
  MagnitudeHistogram histogram;
  histogram.add(x.span());
  const MinMax limits = min_max(x.span());
  const std::vector<float> thresholds = {mse_clip(histogram, limits, {}, "x") * magnitude(limits),
                                         percentile_magnitude(histogram, limits, 97.0, "x"),
                                         entropy_magnitude(histogram, limits, {}, "x")};
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    const auto quantizer = built_for(of_activations()[i], {50}, {});
    quantizer->calibrate(x);
    expect_range(*quantizer, std::max(limits.min, -thresholds[i]),
                 std::min(limits.max, thresholds[i]));
  }
}

TEST(HistogramRanges, DoNotDependOnTheOrderOfBatches) {
  std::vector<Tensor> batches;
  for (std::uint64_t i = 0; i < 5; ++i) {
    batches.push_back(with_outliers({30, 10}, i) * static_cast<float>(i * i + 1));
  }
  for (const MakeQuantizer& make : of_activations()) {
    const auto forwards = built_for(make, {10}, {});
    const auto backwards = built_for(make, {10}, {});
    for (std::size_t i = 0; i < batches.size(); ++i) {
      forwards->calibrate(batches[i]);
      backwards->calibrate(batches[batches.size() - 1 - i]);
    }
    EXPECT_EQ(everything_in(*forwards), everything_in(*backwards)) << forwards->type();
  }
}

TEST(HistogramRanges, StayInTraining) {
  for (const MakeQuantizer& make : of_activations()) {
    const auto quantizer = built_for(make, {10}, {});
    // Without calibration the first batch is what there is.
    quantizer->observe(with_outliers({30, 10}, 1));
    EXPECT_TRUE(quantizer->has_range());
    const auto before = everything_in(*quantizer);
    quantizer->observe(with_outliers({30, 10}, 2) * 5.0F);
    EXPECT_EQ(everything_in(*quantizer), before);
    quantizer->calibrate(with_outliers({30, 10}, 2) * 5.0F);
    EXPECT_NE(everything_in(*quantizer), before);
  }
}

TEST(HistogramRanges, GoOnFromSavedCounts) {
  const Tensor first = with_outliers({30, 10}, 1);
  const Tensor second = with_outliers({30, 10}, 2) * 3.0F;
  for (const MakeQuantizer& make : of_activations()) {
    const auto whole = built_for(make, {10}, {});
    whole->calibrate(first);
    const auto resumed = built_for(make, {10}, {});
    const auto copy = [](const std::vector<NamedTensor>& from, const std::vector<NamedTensor>& to) {
      for (std::size_t i = 0; i < from.size(); ++i) fill(to[i].tensor, values_of(from[i].tensor));
    };
    copy(whole->state(), resumed->state());
    copy(whole->counters(), resumed->counters());
    const auto cloned = whole->clone();
    for (Quantizer* quantizer : {whole.get(), resumed.get(), cloned.get()}) {
      quantizer->calibrate(second);
    }
    EXPECT_EQ(everything_in(*resumed), everything_in(*whole));
    EXPECT_EQ(everything_in(*cloned), everything_in(*whole));
  }
}

TEST(CalibratedQuantizers, RefuseWhatIsNotFiniteAndLeaveNoTrace) {
  for (const auto& list : {of_weights(), of_activations()}) {
    for (const MakeQuantizer& make : list) {
      const auto quantizer = built_for(make, {3}, {});
      quantizer->calibrate(vector_of({-1, 2, 3}));
      const auto before = everything_in(*quantizer);
      for (const float x : {kNan, kInf}) {
        const Tensor broken = vector_of({1, x, 2});
        expect_throws<NumericError>([&] { quantizer->calibrate(broken); }, {"layer/tensor"});
        expect_throws<NumericError>([&] { quantizer->observe(broken); }, {"layer/tensor"});
      }
      EXPECT_EQ(everything_in(*quantizer), before);
      quantizer->freeze(true);
      quantizer->calibrate(vector_of({-9, 9, 9}));
      quantizer->freeze(false);
      EXPECT_EQ(everything_in(*quantizer), before);
    }
  }
}

TEST(CalibratedQuantizers, RefuseByNameWhatTheyCannotDo) {
  for (const MakeQuantizer& make : of_activations()) {
    expect_throws<InvalidArgument>(
        [&] {
          built_for(make, {3, 4}, {.axis = 1});
        },
        {"layer/tensor", "axis 1", "MseQuantizer"});
  }
  expect_throws<InvalidArgument>([] { HistogramEntropyQuantizer({.num_bits = 4}); },
                                 {"HistogramEntropyQuantizer", "8 bits", "found 4"});
  for (const double percentile : {0.0, 101.0}) {
    expect_throws<InvalidArgument>([&] { PercentileQuantizer({}, percentile); },
                                   {"PercentileQuantizer", "percentile"});
    expect_throws<InvalidArgument>([&] { HistogramPercentileQuantizer({}, percentile); },
                                   {"HistogramPercentileQuantizer", "percentile"});
  }
}

TEST(CalibratedQuantizers, RefuseADamagedHistogram) {
  for (const MakeQuantizer& make : of_activations()) {
    const auto quantizer = built_for(make, {3}, {});
    quantizer->calibrate(vector_of({-1, 2, 3}));
    tensor_named(quantizer->counters(), "t_histogram").mutable_data()[7] = 0.5F;
    expect_throws<NumericError>(
        [&] {
          quantizer->calibrate(vector_of({1, 2, 3}));
        },
        {"layer/tensor", "histogram"});
  }
}

}  // namespace
}  // namespace octet::test::calibrated_quantizers_test
