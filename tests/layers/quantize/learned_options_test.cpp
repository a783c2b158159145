#include <octet/layers/concatenate.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantizer_registry.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <string>

// What QuantizeOptions say about learned scales.

namespace octet::test::learned_options_test {
namespace {

std::string start_of(const Quantizer& quantizer) {
  return describe(&quantizer).part("start").text("type");
}

TEST(LearnedOptions, ChooseTheQuantizers) {
  const auto relu = built(Dense(2, Activation::relu), {3});
  const auto linear = built(Dense(2), {3});
  const auto config = [](int bits, Scales activations) {
    return default_8bit(
        {.weight_bits = bits, .weight_scales = Scales::lsq, .activation_scales = activations});
  };
  for (int bits = 2; bits <= 8; ++bits) {
    const auto kernel = config(bits, Scales::lsq)->kernel_quantizer(*relu);
    EXPECT_EQ(kernel->type(), "Lsq");
    EXPECT_EQ(kernel->spec().num_bits, bits);
    EXPECT_EQ(start_of(*kernel), bits <= 4 ? "Mse" : "LastValue");
  }
  const auto result = [&](Scales scales, const Layer& layer) {
    return config(8, scales)->activation_quantizer(layer);
  };
  for (const bool from_zero : {false, true}) {
    const Layer& layer = from_zero ? *relu : *linear;
    EXPECT_EQ(result(Scales::measured, layer)->type(), "MovingAverage");
    EXPECT_EQ(result(Scales::lsq, layer)->type(), "Lsq");
    EXPECT_EQ(result(Scales::lsq, layer)->spec().symmetric, !from_zero);
    EXPECT_EQ(result(Scales::lsq_plus, layer)->type(), "LsqPlus");
    EXPECT_EQ(result(Scales::pact, layer)->type(), from_zero ? "Pact" : "MovingAverage");
  }
  for (const Scales scales : {Scales::lsq_plus, Scales::pact}) {
    expect_throws<InvalidArgument>([&] { default_8bit({.weight_scales = scales}); },
                                   {std::string(to_string(scales)), "activation_scales"});
  }
}

TEST(LearnedOptions, FullGridsAreOfSevenBitsAndFewer) {
  const auto dense = built(Dense(2), {3});
  for (const Scales scales : {Scales::measured, Scales::lsq}) {
    for (int bits = 2; bits <= 8; ++bits) {
      const auto lowest = [&](bool full) {
        return default_8bit(
                   {.weight_bits = bits, .full_weight_grid = full, .weight_scales = scales})
            ->kernel_quantizer(*dense)
            ->spec()
            .qmin();
      };
      EXPECT_EQ(lowest(false), 1 - (1 << (bits - 1)));
      EXPECT_EQ(lowest(true), bits == 8 ? -127 : -(1 << (bits - 1)));
    }
  }
}

TEST(LearnedOptions, AreKeptInFilesAndLeftOutWhereTheyAreNotAsked) {
  const std::string plain = describe_options({}).to_json();
  EXPECT_EQ(plain.find("scales"), std::string::npos);
  EXPECT_EQ(plain.find("oscillations"), std::string::npos);
  EXPECT_EQ(plain.find("grid"), std::string::npos);
  EXPECT_TRUE(options_from(describe_options({.full_weight_grid = true})).full_weight_grid);
  const QuantizeOptions options{.weight_scales = Scales::lsq,
                                .activation_scales = Scales::pact,
                                .count_oscillations = true,
                                .freeze_oscillations_above = 0.1F};
  Description description = describe_options(options);
  const QuantizeOptions read = options_from(description);
  EXPECT_EQ(read.weight_scales, Scales::lsq);
  EXPECT_EQ(read.activation_scales, Scales::pact);
  EXPECT_TRUE(read.count_oscillations);
  EXPECT_EQ(read.freeze_oscillations_above, 0.1F);
  expect_throws<FormatError>([&] { options_from(description.set("weight_scales", "magic")); },
                             {"magic", "lsq_plus"});
}

TEST(LearnedOptions, AreRefusedForWhatSharesAGrid) {
  Model net("m");
  const Value x = net.input({4});
  const Value a = net.add(Dense(3, Activation::relu, "a"), x);
  const Value b = net.add(Dense(3, Activation::relu, "b"), x);
  net.output(net.add(Concatenate(), {a, b}));
  net.build(1);
  expect_throws<InvalidArgument>([&] { quantize_model(net, {.activation_scales = Scales::lsq}); },
                                 {"quant_a", "learned", "Lsq"});
}

}  // namespace
}  // namespace octet::test::learned_options_test
