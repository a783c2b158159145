#include <octet/core/ops/fake_quant.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

// What holds for every quantizer.

namespace octet::test::quantizer_test {
namespace {

using detail::TensorAccess;

std::vector<std::unique_ptr<Quantizer>> every_quantizer(const QuantSpec& spec = {}) {
  std::vector<std::unique_ptr<Quantizer>> all;
  for (const RangeStart start : {RangeStart::first_batch, RangeStart::tfmot}) {
    all.push_back(ready(LastValueQuantizer(spec, start)));
    all.push_back(ready(MovingAverageQuantizer(spec, start)));
    all.push_back(ready(AllValuesQuantizer(spec, start)));
  }
  all.push_back(ready(FixedQuantizer(-2.0F, 3.0F, spec)));
  return all;
}

void expect_true_zero_point(const Quantizer& quantizer) {
  const QuantParams expected =
      choose_quant_params(quantizer.min().item(), quantizer.max().item(), quantizer.spec(), "x");
  EXPECT_EQ(tensor_named(quantizer.state(), "t_zero_point").item(),
            static_cast<float>(expected.zero_point()));
}

TEST(Quantizer, StateIsNamedByItsPrefix) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  EXPECT_EQ(names_of(quantizer->state()),
            (std::vector<std::string>{"t_min", "t_max", "t_zero_point"}));
  EXPECT_EQ(names_of(quantizer->counters()), (std::vector<std::string>{"t_updates", "t_frozen"}));
  LastValueQuantizer hidden(QuantSpec{});
  EXPECT_TRUE(hidden.state().empty());
  EXPECT_TRUE(hidden.counters().empty());
  hidden.build("layer/kernel", "kernel_", {2, 3}, Quantizer::ZeroPoint::hidden);
  EXPECT_EQ(names_of(hidden.state()), (std::vector<std::string>{"kernel_min", "kernel_max"}));
}

TEST(Quantizer, TheZeroPointIsTrueToTheRangeAtAnyTime) {
  for (const auto& quantizer : every_quantizer()) {
    expect_true_zero_point(*quantizer);
    for (const Tensor& batch :
         {vector_of({0.0F, 1.0F}), vector_of({-1.0F, 1.5F}), vector_of({0.0F, 0.0F}),
          vector_of({-9.0F, -8.0F}), random_tensor({9}, 3)}) {
      quantizer->observe(batch);
      expect_true_zero_point(*quantizer);
    }
  }
}

TEST(Quantizer, RefusesNanAndInfinityAndStaysAsItWas) {
  for (const auto& quantizer : every_quantizer()) {
    quantizer->observe(vector_of({-1.0F, 2.0F}));
    const auto before = everything_in(*quantizer);
    for (const float bad : {kNan, kInf, -kInf}) {
      expect_throws<NumericError>(
          [&] {
            quantizer->observe(vector_of({1.0F, bad, 2.0F}));
          },
          {"layer/tensor", "NaN"});
      EXPECT_EQ(everything_in(*quantizer), before);
    }
  }
  const auto per_axis = ready(LastValueQuantizer({.axis = 1}), {2, 2});
  per_axis->observe(Tensor::from({2, 2}, {1, 2, 3, 4}));
  const auto before = everything_in(*per_axis);
  EXPECT_THROW(per_axis->observe(Tensor::from({2, 2}, {1, 2, 3, kInf})), NumericError);
  EXPECT_EQ(everything_in(*per_axis), before);
}

TEST(Quantizer, RefusesARangeBeyondFloat32AndStaysAsItWas) {
  const float huge = std::numeric_limits<float>::max();
  for (const auto& quantizer : every_quantizer()) {
    quantizer->observe(vector_of({-1.0F, 2.0F}));
    const auto before = everything_in(*quantizer);
    try {
      quantizer->observe(vector_of({-huge, huge}));
      quantizer->observe(vector_of({-huge, huge}));
    } catch (const NumericError& error) {
      EXPECT_NE(std::string(error.what()).find("layer/tensor"), std::string::npos);
      EXPECT_EQ(everything_in(*quantizer), before);
    }
    expect_true_zero_point(*quantizer);
    for (const auto& values : everything_in(*quantizer)) {
      for (const float v : values) EXPECT_TRUE(std::isfinite(v));
    }
  }
  const auto last = ready(LastValueQuantizer(QuantSpec{}));
  EXPECT_THROW(last->observe(vector_of({-huge, huge})), NumericError);
  EXPECT_FALSE(last->has_range());
}

TEST(Quantizer, AllZerosGiveSoundParams) {
  for (const QuantSpec& spec : {QuantSpec{}, kSymmetric, kSymmetricNarrow}) {
    for (const auto& quantizer : every_quantizer(spec)) {
      quantizer->observe(Tensor::zeros({5}));
      const QuantParams params = quantizer->params();
      params.validate("zeros");
      expect_tensor(quantizer->quantize_dequantize(Tensor::zeros({3})), {3}, {0, 0, 0});
      expect_tensor(quantizer->fake_quant(Tensor::zeros({3})), {3}, {0, 0, 0});
    }
  }
}

TEST(Quantizer, NothingChangesAnEmptyBatchNothing) {
  for (const auto& quantizer : every_quantizer()) {
    const auto before = everything_in(*quantizer);
    quantizer->observe(Tensor::zeros({0, 4}));
    EXPECT_EQ(everything_in(*quantizer), before);
  }
}

TEST(Quantizer, SaysThatItHasNoRangeYet) {
  const auto quantizer = ready(MovingAverageQuantizer(QuantSpec{}));
  EXPECT_FALSE(quantizer->has_range());
  for (const auto& body : std::vector<std::function<void()>>{
           [&] { quantizer->params(); }, [&] { quantizer->fake_quant(vector_of({1.0F})); },
           [&] { quantizer->quantize_dequantize(vector_of({1.0F})); }}) {
    expect_throws<InvalidArgument>(body, {"layer/tensor", "no range", "calibrate"});
  }
  quantizer->observe(vector_of({1.0F}));
  EXPECT_TRUE(quantizer->has_range());
}

TEST(Quantizer, NeedsToBeBuilt) {
  LastValueQuantizer quantizer(QuantSpec{}, RangeStart::tfmot);
  EXPECT_FALSE(quantizer.built());
  EXPECT_FALSE(quantizer.has_range());
  EXPECT_THROW(quantizer.observe(vector_of({1.0F})), InvalidArgument);
  expect_throws<InvalidArgument>([&] { quantizer.params(); },
                                 {"LastValue quantizer", "found one that was not built"});
  EXPECT_THROW(FixedQuantizer(-1.0F, 1.0F).fake_quant(vector_of({1.0F})), InvalidArgument);
}

TEST(Quantizer, ChangesNothingWhileFrozen) {
  for (const auto& quantizer : every_quantizer()) {
    quantizer->observe(vector_of({-1.0F, 2.0F}));
    quantizer->freeze(true);
    EXPECT_TRUE(quantizer->frozen());
    const auto before = everything_in(*quantizer);
    quantizer->observe(vector_of({-100.0F, 100.0F}));
    EXPECT_EQ(everything_in(*quantizer), before);
    quantizer->freeze(false);
  }
  const auto last = ready(LastValueQuantizer(QuantSpec{}));
  last->freeze(true);
  last->freeze(false);
  last->observe(vector_of({-3.0F, 4.0F}));
  expect_range(*last, -3.0F, 4.0F);
}

TEST(Quantizer, BeingFrozenIsAmongWhatIsSaved) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  const Tensor frozen = tensor_named(quantizer->counters(), "t_frozen");
  EXPECT_EQ(frozen.item(), 0.0F);
  quantizer->freeze(true);
  EXPECT_EQ(frozen.item(), 1.0F);
  // As a checkpoint does it.
  Tensor(frozen).mutable_data()[0] = 0.0F;
  EXPECT_FALSE(quantizer->frozen());
  // Frozen before it is built.
  LastValueQuantizer early{QuantSpec{}};
  early.freeze(true);
  early.build("layer/tensor", "t_", {4}, Quantizer::ZeroPoint::kept);
  EXPECT_EQ(tensor_named(early.counters(), "t_frozen").item(), 1.0F);
}

TEST(Quantizer, BuiltAnewIsNotFrozen) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  quantizer->freeze(true);
  quantizer->build("layer/tensor", "t_", {4}, Quantizer::ZeroPoint::kept);
  EXPECT_FALSE(quantizer->frozen());
  quantizer->observe(vector_of({-1.0F, 2.0F}));
  expect_range(*quantizer, -1.0F, 2.0F);
}

TEST(Quantizer, LetsTensorsPassWhileDisabledButObserves) {
  for (const auto& quantizer : every_quantizer()) {
    quantizer->enable(false);
    quantizer->observe(vector_of({-1.0F, 2.0F}));
    const Tensor x = vector_of({0.123F, -55.0F});
    expect_tensor(quantizer->fake_quant(x), {2}, {0.123F, -55.0F});
    expect_tensor(quantizer->quantize_dequantize(x), {2}, {0.123F, -55.0F});
    EXPECT_EQ(quantizer->quantize_dequantize(x).quantization(), nullptr);
    EXPECT_TRUE(quantizer->has_range());
  }
}

TEST(Quantizer, ParamsAreThoseOfTheConverter) {
  for (const QuantSpec& spec :
       {QuantSpec{}, kSymmetric, kSymmetricNarrow, QuantSpec{.num_bits = 4}}) {
    const auto quantizer = ready(LastValueQuantizer(spec));
    quantizer->observe(vector_of({-1.3F, 2.7F}));
    EXPECT_EQ(quantizer->params(),
              choose_quant_params(quantizer->min().item(), quantizer->max().item(), spec, "x"));
  }
}

TEST(Quantizer, QuantizeDequantizeGoesThroughTheCodes) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  quantizer->observe(vector_of({-1.3F, 2.7F}));
  const QuantParams params = quantizer->params();
  const Tensor x = random_tensor({20001}, 5, -2.0F, 4.0F);
  std::vector<std::int8_t> codes(20001);
  std::vector<float> expected(20001);
  quantize(x.span(), params, codes);
  dequantize(codes, params, expected);
  expect_same_on_any_threads(
      [&] { return std::vector<Tensor>{quantizer->quantize_dequantize(x)}; });
  const Tensor y = quantizer->quantize_dequantize(x);
  expect_tensor(y, {20001}, expected);
  ASSERT_NE(y.quantization(), nullptr);
  EXPECT_EQ(*y.quantization(), params);
}

TEST(Quantizer, QuantizeDequantizePassesTheGradientInsideItsLimitsInclusive) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  // Scale 1, zero point -28: the codes stand for -100 to 155.
  quantizer->observe(vector_of({-100.0F, 155.0F}));
  const float above = std::nextafter(155.0F, 1e9F);
  const float below = std::nextafter(-100.0F, -1e9F);
  const Tensor x = vector_of({-100.0F, below, 155.0F, above, 0.4F, kInf, kNan});
  const Tensor gradient =
      gradient_of([&](const Tensor& t) { return quantizer->quantize_dequantize(t); }, x);
  expect_tensor(gradient, {7}, {1, 0, 1, 0, 1, 0, 0});
}

TEST(Quantizer, FakeQuantIsTheOpOnTheStoredRange) {
  const Tensor x = random_tensor({5, 3}, 8, -4.0F, 4.0F);
  const auto whole = ready(LastValueQuantizer({.num_bits = 5, .narrow_range = true}), {3});
  whole->observe(random_tensor({5, 3}, 9));
  expect_tensor(whole->fake_quant(x), {5, 3},
                values_of(fake_quant_with_min_max_vars(x, whole->min(), whole->max(), 5, true)));
  const auto per_axis = ready(LastValueQuantizer({.narrow_range = true, .axis = 1}), {5, 3});
  per_axis->observe(random_tensor({5, 3}, 9));
  expect_tensor(per_axis->fake_quant(x), {5, 3},
                values_of(fake_quant_with_min_max_vars_per_channel(x, per_axis->min(),
                                                                   per_axis->max(), 8, true)));
  expect_tensor(whole->simulate(x, Simulation::fake_quant), {5, 3},
                values_of(whole->fake_quant(x)));
  expect_tensor(whole->simulate(x, Simulation::integer), {5, 3},
                values_of(whole->quantize_dequantize(x)));
}

TEST(Quantizer, FakeQuantGradientReachesTheInputAlone) {
  const auto quantizer = ready(LastValueQuantizer(QuantSpec{}));
  quantizer->observe(vector_of({-1.0F, 2.0F}));
  const Tensor gradient = gradient_of([&](const Tensor& t) { return quantizer->fake_quant(t); },
                                      vector_of({-5.0F, 0.5F, 5.0F}));
  expect_tensor(gradient, {3}, {0, 1, 0});
  EXPECT_FALSE(quantizer->min().grad().defined());
  EXPECT_FALSE(quantizer->max().grad().defined());
}

TEST(Quantizer, RefusesSpecsThatItCannotKeep) {
  const auto build = [](const QuantSpec& spec, const Shape& shape,
                        Quantizer::ZeroPoint zero_point) {
    LastValueQuantizer(spec).build("layer/tensor", "t_", shape, zero_point);
  };
  constexpr auto kHidden = Quantizer::ZeroPoint::hidden;
  expect_error([&] { build({.num_bits = 1}, {3}, kHidden); }, "layer/tensor");
  expect_error([&] { build({.num_bits = 17}, {3}, kHidden); }, "between 2 and 16");
  expect_error([&] { build({.axis = 2}, {3, 4}, kHidden); }, "an axis of [3, 4], found axis 2");
  // One number cannot be the zero point of several channels.
  expect_error([&] { build({.axis = 1}, {3, 4}, Quantizer::ZeroPoint::kept); }, "axis 1");
  build({.axis = 1}, {3, 4}, kHidden);
  build({.axis = 0}, {3, 4}, kHidden);
}

TEST(Quantizer, ACloneGoesItsOwnWay) {
  for (const auto& quantizer : every_quantizer()) {
    quantizer->observe(vector_of({-1.0F, 2.0F}));
    quantizer->freeze(true);
    const auto clone = quantizer->clone();
    EXPECT_TRUE(clone->frozen());
    EXPECT_EQ(clone->prefix(), "t_");
    EXPECT_EQ(everything_in(*clone), everything_in(*quantizer));
    quantizer->freeze(false);
    clone->freeze(false);
    // Both take the next batch alike, and neither moves the other.
    const auto before = everything_in(*quantizer);
    clone->observe(vector_of({-7.0F, 7.0F}));
    EXPECT_EQ(everything_in(*quantizer), before);
    quantizer->observe(vector_of({-7.0F, 7.0F}));
    EXPECT_EQ(everything_in(*clone), everything_in(*quantizer));
  }
}

}  // namespace
}  // namespace octet::test::quantizer_test
