#include <octet/core/ops/fake_quant.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/layers/quantize/quantizer_testing.h>

#include <array>

// Quantizers that share a grid.

namespace octet::test::quantizer_tie_test {
namespace {

class QuantizerTie : public ::testing::Test {
 protected:
  QuantizerTie() : a_(made("a")), b_(made("b")), c_(made("c")) {}

  static std::unique_ptr<Quantizer> made(const std::string& name, const QuantSpec& spec = {}) {
    auto quantizer = std::make_unique<LastValueQuantizer>(spec);
    quantizer->build("layer/" + name, name + "_", {4}, Quantizer::ZeroPoint::kept);
    return quantizer;
  }
  static void tie(std::initializer_list<Quantizer*> quantizers) {
    Quantizer::tie(std::vector<Quantizer*>(quantizers));
  }
  static float zero_point_of(const Quantizer& quantizer) {
    return tensor_named(quantizer.state(), quantizer.prefix() + "zero_point").item();
  }
  /// Expects that each has the scale and zero point of the range [min, max].
  static void expect_grid(std::initializer_list<const Quantizer*> quantizers, float min,
                          float max) {
    const QuantParams expected = choose_quant_params(min, max, QuantSpec{}, "x");
    for (const Quantizer* quantizer : quantizers) {
      EXPECT_TRUE(quantizer->has_range());
      EXPECT_EQ(quantizer->params(), expected);
      EXPECT_EQ(zero_point_of(*quantizer), static_cast<float>(expected.zero_point()));
    }
  }

  std::unique_ptr<Quantizer> a_;
  std::unique_ptr<Quantizer> b_;
  std::unique_ptr<Quantizer> c_;
};

TEST_F(QuantizerTie, TheGridSpansAllRangesAndEachKeepsItsOwn) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  EXPECT_FALSE(a_->tied());
  tie({a_.get(), b_.get()});
  EXPECT_TRUE(a_->tied());
  EXPECT_TRUE(b_->tied());
  EXPECT_FALSE(c_->tied());
  expect_range(*a_, -1.0F, 2.0F);
  expect_range(*b_, -3.0F, 1.0F);
  expect_grid({a_.get(), b_.get()}, -3.0F, 2.0F);
  // Whoever observes, the grid and the zero points of both follow.
  a_->observe(vector_of({-0.5F, 7.0F}));
  expect_grid({a_.get(), b_.get()}, -3.0F, 7.0F);
  b_->observe(vector_of({-0.25F, 0.5F}));
  expect_grid({a_.get(), b_.get()}, -0.5F, 7.0F);
  expect_range(*a_, -0.5F, 7.0F);
  expect_range(*b_, -0.25F, 0.5F);
}

TEST_F(QuantizerTie, OneWithoutARangeUsesThatOfTheOthersAndAddsNothing) {
  tie({a_.get(), b_.get(), c_.get()});
  EXPECT_FALSE(a_->has_range());
  EXPECT_THROW(static_cast<void>(a_->params()), InvalidArgument);
  b_->observe(vector_of({0.5F, 4.0F}));
  expect_grid({a_.get(), b_.get(), c_.get()}, 0.0F, 4.0F);
}

TEST_F(QuantizerTie, BothWaysToTheGridUseTheCommonRange) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  tie({a_.get(), b_.get()});
  const Tensor x = random_tensor({50}, 3, -4.0F, 4.0F);
  const Tensor expected =
      fake_quant_with_min_max_vars(x, Tensor::scalar(-3.0F), Tensor::scalar(2.0F));
  expect_tensor(a_->fake_quant(x), {50}, values_of(expected));
  const Tensor y = a_->quantize_dequantize(x);
  ASSERT_NE(y.quantization(), nullptr);
  EXPECT_EQ(*y.quantization(), b_->params());
  FixedQuantizer fixed(-6.0F, 1.0F);
  fixed.build("layer/fixed", "fixed_", {4}, Quantizer::ZeroPoint::kept);
  tie({a_.get(), &fixed});
  expect_tensor(fixed.fake_quant(x), {50}, values_of(fake_quant_with_min_max_args(x, -6.0F, 2.0F)));
}

TEST_F(QuantizerTie, GroupsThatShareAMemberBecomeOne) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  c_->observe(vector_of({-2.0F, 9.0F}));
  const auto d = made("d");
  tie({a_.get(), b_.get()});
  tie({c_.get(), d.get()});
  tie({b_.get(), d.get(), d.get()});
  expect_grid({a_.get(), b_.get(), c_.get(), d.get()}, -3.0F, 9.0F);
  d->observe(vector_of({-11.0F, 1.0F}));
  expect_grid({a_.get(), b_.get(), c_.get(), d.get()}, -11.0F, 9.0F);
  tie({a_.get(), c_.get()});
  expect_grid({a_.get(), b_.get(), c_.get(), d.get()}, -11.0F, 9.0F);
}

TEST_F(QuantizerTie, OutlivesItsMembersAndSeesThemRebuilt) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  c_->observe(vector_of({-2.0F, 9.0F}));
  tie({a_.get(), b_.get(), c_.get()});
  b_.reset();
  expect_grid({a_.get(), c_.get()}, -3.0F, 9.0F);
  c_->build("layer/c", "c_", {4}, Quantizer::ZeroPoint::kept);
  expect_grid({a_.get(), c_.get()}, -3.0F, 2.0F);
  c_->observe(vector_of({-5.0F, 1.0F}));
  expect_grid({a_.get(), c_.get()}, -5.0F, 2.0F);
}

TEST_F(QuantizerTie, ALoadedStateIsTheGridOfAll) {
  tie({a_.get(), b_.get()});
  const std::array<float, 3> loaded{-4.0F, 8.0F, 1.0F};
  Tensor(a_->min()).mutable_data()[0] = loaded[0];
  Tensor(a_->max()).mutable_data()[0] = loaded[1];
  tensor_named(a_->counters(), "a_updates").mutable_data()[0] = loaded[2];
  EXPECT_EQ(b_->params(), choose_quant_params(-4.0F, 8.0F, QuantSpec{}, "x"));
}

TEST_F(QuantizerTie, ACloneIsTiedToNone) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  tie({a_.get(), b_.get()});
  const auto clone = a_->clone();
  EXPECT_FALSE(clone->tied());
  expect_grid({clone.get()}, -1.0F, 2.0F);
  clone->observe(vector_of({-50.0F, 50.0F}));
  expect_grid({a_.get(), b_.get()}, -3.0F, 2.0F);
}

TEST_F(QuantizerTie, AFrozenMemberKeepsItsRangeWhileTheGridFollowsTheOthers) {
  a_->observe(vector_of({-1.0F, 2.0F}));
  tie({a_.get(), b_.get()});
  a_->freeze(true);
  a_->observe(vector_of({-9.0F, 9.0F}));
  b_->observe(vector_of({-3.0F, 1.0F}));
  EXPECT_FALSE(b_->frozen());
  expect_range(*a_, -1.0F, 2.0F);
  expect_grid({a_.get(), b_.get()}, -3.0F, 2.0F);
}

TEST_F(QuantizerTie, ACommonRangeBeyondFloat32IsRefusedAndLeavesNoTrace) {
  const float huge = std::numeric_limits<float>::max();
  tie({a_.get(), b_.get()});
  a_->observe(vector_of({-huge, 1.0F}));
  const auto before = everything_in(*b_);
  expect_throws<NumericError>([&] { b_->observe(vector_of({-1.0F, huge})); }, {"layer/b"});
  EXPECT_EQ(everything_in(*b_), before);
  c_->observe(vector_of({-1.0F, huge}));
  EXPECT_THROW(tie({a_.get(), c_.get()}), NumericError);
  EXPECT_FALSE(c_->tied());
}

TEST_F(QuantizerTie, RefusesWhatCannotShareAGrid) {
  const auto refused = [&](Quantizer* other, const std::vector<std::string>& parts) {
    expect_throws<InvalidArgument>([&] { tie({a_.get(), b_.get(), other}); }, parts);
    EXPECT_FALSE(a_->tied());
    EXPECT_FALSE(b_->tied());
  };
  refused(nullptr, {"null"});
  LastValueQuantizer unbuilt{QuantSpec{}};
  refused(&unbuilt, {"build()"});
  const auto other = made("other", {.num_bits = 4});
  refused(other.get(), {"layer/other", "layer/a", "bits"});
  const auto per_channel = ready(LastValueQuantizer({.axis = 0}));
  refused(per_channel.get(), {"layer/tensor", "layer/a", "per channel"});
  const auto learned = ready(LsqQuantizer(std::make_unique<LastValueQuantizer>(QuantSpec{})));
  refused(learned.get(), {"layer/tensor", "Lsq", "learned"});
  tie({a_.get()});
  tie({});
  EXPECT_FALSE(a_->tied());
}

}  // namespace
}  // namespace octet::test::quantizer_tie_test
