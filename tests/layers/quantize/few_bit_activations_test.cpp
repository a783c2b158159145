#include <octet/layers/layers.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/layers/quantize/random_convolutions.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/tests/layers/quantize/same_as_shipped.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

// Results of fewer than 8 bits: the highest codes of int8, which a ReLU and saturation clamp to.

namespace octet::test::few_bit_activations_test {
namespace {

constexpr std::array kScales = {Scales::measured, Scales::lsq, Scales::lsq_plus, Scales::pact};

QuantizeOptions options_of(std::uint32_t seed) {
  const Scales scales = kScales[seed / 3 % 4];
  return {.rounding = kContracts[seed % 3],
          .weight_bits = 2 + static_cast<int>(seed / 2 % 7),
          .full_weight_grid = seed % 7 < 4,
          .activation_bits = 2 + static_cast<int>(seed % 6),
          .per_channel = seed % 2 == 0,
          .weight_scales = seed % 5 == 0 ? Scales::lsq : Scales::measured,
          .activation_scales = scales};
}

/// Fails unless the codes of every result on a grid of few bits are its own. Adds the numbers of
/// bits whose highest and lowest code was seen to `seen`.
void expect_codes_on_grids(const Model& model, const Tensor& x, std::set<int>& seen) {
  SimulatedCodes trained(model);
  trained.run(x);
  for (const auto& layer : model.layers()) {
    const Quantizer* result = layer->result_quantizer();
    if (result == nullptr || !result->spec().top_of_int8) continue;
    const QuantParams grid = result->params();
    const int bits = result->spec().num_bits;
    ASSERT_EQ(grid.qmin, 128 - (1 << bits));
    for (std::size_t k = 0; k < trained.layers().size(); ++k) {
      if ("quant_" + trained.layers()[k].name != layer->name()) continue;
      const auto [least, most] = std::ranges::minmax(trained.codes(k));
      ASSERT_GE(least, grid.zero_point());
      if (least == grid.qmin && most == grid.qmax) seen.insert(bits);
    }
  }
}

void expect_ships(Model& model, const Tensor& x, std::set<int>& seen) {
  expect_same_as_shipped(model, x);
  if (::testing::Test::HasFatalFailure()) return;
  expect_codes_on_grids(model, x, seen);
}

TEST(FewBitActivations, OfDenseNetworksShip) {
  std::set<int> seen;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Model model = quantize_model(net.model(), options_of(seed));
    calibrate(model, net.batch(17));
    train_a_little(model, 3, [&] { return net.batch(9); });
    if (HasFatalFailure()) return;
    expect_ships(model, net.batch(11), seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(seen, (std::set{2, 3, 4, 5, 6, 7}));
}

TEST(FewBitActivations, OfConvolutionsShip) {
  std::set<int> seen;
  for_random_convolutions(60, options_of,
                          [&](Model& model, const Tensor& x) { expect_ships(model, x, seen); });
  EXPECT_EQ(seen, (std::set{2, 3, 4, 5, 6, 7}));
}

/// Every kind of layer that reads or passes on such codes.
Model branches() {
  Model model("branches");
  Value x = model.input({8, 8, 3});
  x = model.add(Conv2D(6, 3, Activation::none, {.padding = Padding::same}), x);
  x = model.add(ReLU(), model.add(BatchNorm(), x));
  const Value left = model.add(Conv2D(6, 1, Activation::relu), x);
  const Value right = model.add(DepthwiseConv2D(1, Activation::relu6), x);
  const Value linear = model.add(Conv2D(6, 1), x);
  x = model.add(Add(Activation::relu), {left, linear});
  x = model.add(Multiply(Activation::relu), {x, right});
  x = model.add(Concatenate(), {model.add(MaxPool2D({.size = {2, 2}}), x),
                                model.add(AveragePool2D({.size = {2, 2}}), x)});
  x = model.add(UpSampling2D({2, 2}), model.add(ZeroPadding2D({1, 1}), x));
  x = model.add(GlobalAveragePool2D(), x);
  model.output(model.add(Dense(4, Activation::softmax), model.add(Dropout(0.2F), x)));
  model.build(3);
  return model;
}

TEST(FewBitActivations, OfBranchesShip) {
  std::set<int> seen;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    QuantizeOptions options = options_of(seed);
    // The inputs of a Concatenate share a grid, which cannot be learned.
    options.activation_scales = Scales::measured;
    Model model = quantize_model(branches(), options);
    calibrate(model, images_for(model, 7, seed));
    train_a_little(model, 3, [&] { return images_for(model, 5, seed + 1); });
    if (HasFatalFailure()) return;
    expect_ships(model, images_for(model, 6, seed + 2), seen);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(seen, (std::set{2, 3, 4, 5, 6, 7}));
}

TEST(FewBitActivations, AreThoseBehindAClampAtZero) {
  const auto result = [](Activation f, int bits, Scales scales) {
    const auto layer = built(Dense(2, f), {3});
    return default_8bit({.activation_bits = bits, .activation_scales = scales})
        ->activation_quantizer(*layer)
        ->spec();
  };
  for (const Scales scales : kScales) {
    for (const Activation f : {Activation::relu, Activation::relu6}) {
      for (int bits = 2; bits < 8; ++bits) {
        EXPECT_EQ(result(f, bits, scales), (QuantSpec{.num_bits = bits, .top_of_int8 = true}));
      }
      EXPECT_EQ(result(f, 8, scales), QuantSpec{});
    }
    for (const Activation f : {Activation::none, Activation::softmax, Activation::tanh}) {
      EXPECT_EQ(result(f, 4, scales).num_bits, 8);
      EXPECT_FALSE(result(f, 4, scales).top_of_int8);
    }
  }
  const Model model = quantize_model(branches(), {.activation_bits = 4});
  EXPECT_EQ(model.layers()[1]->result_quantizer()->spec(), QuantSpec{}) << "of the input";
}

TEST(FewBitActivations, OtherBitsAreRefused) {
  for (const int bits : {-1, 0, 1, 9, 15, 17}) {
    expect_throws<InvalidArgument>([&] { default_8bit({.activation_bits = bits}); },
                                   {"2 to 8 activation bits", std::to_string(bits)});
  }
  expect_throws<InvalidArgument>(
      [] { default_8bit({.activation_bits = 4, .activation_calibration = Calibration::entropy}); },
      {"entropy", "4", "mse"});
}

/// Leaves `grid` to results, whatever is in front of them.
class ResultsOn : public Default8BitQuantizeConfig {
 public:
  explicit ResultsOn(QuantSpec spec) : spec_(spec) {}
  std::unique_ptr<Quantizer> activation_quantizer(const Layer& /*layer*/) const override {
    return default_activation_quantizer(options(), spec_);
  }

 private:
  QuantSpec spec_;
};

TEST(FewBitActivations, WithoutAClampAreRefusedByName) {
  for (const Activation f : {Activation::none, Activation::tanh}) {
    Sequential net("m", Input({3}));
    net.add(quantize_annotate_layer(
        Dense(2, f, "linear"),
        std::make_shared<ResultsOn>(QuantSpec{.num_bits = 4, .top_of_int8 = true})));
    net.build(1);
    Model model = quantize_apply(net);
    const Tensor x = Tensor::uniform({5, 3}, Random(1), -1.0F, 1.0F);
    expect_throws<InvalidArgument>([&] { calibrate(model, x); }, {"linear", "112 to 127", "ReLU"});
  }
}

TEST(FewBitActivations, AreKeptInFiles) {
  const std::string plain = describe_options({}).to_json();
  EXPECT_EQ(plain.find("activation_bits"), std::string::npos);
  for (const int bits : {2, 5}) {
    EXPECT_EQ(options_from(describe_options({.activation_bits = bits})).activation_bits, bits);
  }
  for (const int bits : {1, 9}) {
    Description description = describe_options({.activation_bits = 4});
    expect_throws<FormatError>([&] { options_from(description.set("activation_bits", bits)); },
                               {"activation bits"});
  }
  const QuantSpec top{.num_bits = 3, .top_of_int8 = true};
  const MovingAverageQuantizer quantizer(top);
  EXPECT_EQ(make_quantizer(describe(&quantizer))->spec(), top);
  const MovingAverageQuantizer usual(QuantSpec{});
  EXPECT_EQ(describe(&usual).to_json().find("top"), std::string::npos);
}

}  // namespace
}  // namespace octet::test::few_bit_activations_test
