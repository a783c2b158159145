// What real runtimes computed: tests/data/vectors_operators.json.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/binary.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet_test_paths.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace octet::test::operator_vectors_test {
namespace {

using detail::QuantizedAdd;
using detail::SecondSign;

using nlohmann::json;

const json& vectors() {
  static const json root =
      json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_operators.json"));
  return root.at("vectors");
}

ModelTensor tensor_of(const json& from, const std::string& name) {
  return {name,
          DType::int8,
          from.at("shape").get<std::vector<std::int32_t>>(),
          {},
          quant(from.at("scale"), from.at("zero_point")),
          {}};
}

FusedActivation activation_named(const std::string& name) {
  if (name == "RELU") return FusedActivation::relu;
  if (name == "RELU6") return FusedActivation::relu6;
  EXPECT_EQ(name, "NONE");
  return FusedActivation::none;
}

IntegerModel model_of(const json& vector) {
  RawModelBuilder b;
  for (const json& input : vector.at("inputs")) {
    b.model.inputs.push_back(b.add(tensor_of(input, "input")));
  }
  b.model.outputs = {b.add(tensor_of(vector.at("output"), "output"))};
  const json& attributes = vector.at("attributes");
  if (vector.at("op") == "ADD") {
    b.op(OpCode::add, b.model.inputs, b.model.outputs[0],
         BinaryAttributes{.activation = activation_named(attributes.at("activation"))});
  } else {
    b.op(OpCode::concatenation, b.model.inputs, b.model.outputs[0],
         ConcatenationAttributes{.axis = attributes.at("axis")});
  }
  return b.model;
}

/// The contract of a runtime of the vectors; ONNX Runtime has one of its own for ADD.
std::optional<Rounding> contract_of(const std::string& runtime) {
  if (runtime.starts_with("LiteRT.js") || runtime.starts_with("tfjs")) return Rounding::fp32;
  if (runtime.starts_with("TFLite Micro")) return Rounding::double_rounding;
  return std::nullopt;
}

TEST(OperatorVectors, AreTheBytesOfRealRuntimes) {
  int compared = 0;
  for (const json& vector : vectors()) {
    for (const json& expected : vector.at("expected")) {
      for (const std::string runtime : expected.at("runtimes")) {
        const auto rounding = contract_of(runtime);
        if (!rounding) continue;
        Interpreter interpreter(model_of(vector), {.rounding = *rounding});
        for (std::size_t i = 0; i < vector.at("inputs").size(); ++i) {
          const auto codes = vector.at("inputs")[i].at("data").get<std::vector<std::int8_t>>();
          std::ranges::copy(codes, interpreter.input<std::int8_t>(i).begin());
        }
        interpreter.invoke();
        EXPECT_EQ(copy(std::as_const(interpreter).output<std::int8_t>()),
                  expected.at("data").get<std::vector<std::int8_t>>())
            << vector.at("id") << " " << runtime;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 3 * 26);
}

TEST(QuantizedAdd, IsTheOracleOnAllPairsOfCodes) {
  Draw draw(21);
  for (int round = 0; round < 48; ++round) {
    const auto grid = [&] {
      // Also scales a thousand times the output's, where fp32 is the other form.
      const float scale = std::ldexp(draw.uniform(0.5F, 1.0F), draw.between(-8, 4));
      return quant(scale, draw.between(-128, 127));
    };
    const QuantParams a = grid();
    const QuantParams b = grid();
    const QuantParams out = quant(round % 4 == 0 ? 2 * a.scale() : std::ldexp(1.0F, -6), 3);
    const auto activation = static_cast<FusedActivation>(round % 4);
    const Rounding rounding = kContracts[round % 3];
    const bool subtracts = round % 8 >= 4;
    const QuantizedAdd adder = QuantizedAdd::make(a, b, out, activation, rounding,
                                                  subtracts ? SecondSign::minus : SecondSign::plus);
    const oracle::Quant qa{a.scale(), a.zero_point()};
    const oracle::Quant qb{b.scale(), b.zero_point()};
    const oracle::Quant qo{out.scale(), out.zero_point()};
    for (int first = -128; first <= 127; ++first) {
      for (int second = -128; second <= 127; ++second) {
        const auto x = static_cast<std::int8_t>(first);
        const auto y = static_cast<std::int8_t>(second);
        const std::int8_t expected =
            naive_sum(x, qa, y, qb, qo, oracle_clamp(activation), rounding, subtracts ? -1 : 1);
        ASSERT_EQ(adder.apply(first, second), expected) << round << " " << first << " " << second;
        std::int8_t run = 0;
        adder.run({&x, 1}, {&y, 1}, {&run, 1});
        ASSERT_EQ(run, expected);
      }
    }
  }
}

/// XNNPACK takes 2^-10 and leaves 2^8 to another kernel.
TEST(QuantizedAdd, RoundsOnceWhereXnnpackTakesBothScales) {
  const auto rounds_once = [](float first, float second) {
    return QuantizedAdd::make(quant(first, 0), quant(second, 0), quant(1.0F, 0),
                              FusedActivation::none, Rounding::fp32)
        .rounds_once();
  };
  constexpr float kLeast = 0x1p-10F;
  constexpr float kTooMuch = 0x1p8F;
  EXPECT_TRUE(rounds_once(kLeast, 1.0F));
  EXPECT_TRUE(rounds_once(1.0F, std::nextafter(kTooMuch, 0.0F)));
  EXPECT_FALSE(rounds_once(std::nextafter(kLeast, 0.0F), 1.0F));
  EXPECT_FALSE(rounds_once(1.0F, kTooMuch));
}

/// TFLite Micro's kernel of SUB alone.
TEST(QuantizedAdd, QuotientsAreFloatsInSubUnderContractDouble) {
  const QuantParams small = quant(0.1F, 0);
  const QuantParams large = quant(0.3F, 0);
  const QuantParams out = quant(0.7F, 0);
  const auto factors = [&](SecondSign sign, Rounding rounding) {
    const QuantizedAdd adder =
        QuantizedAdd::make(small, large, out, FusedActivation::none, rounding, sign);
    return std::array{adder.input_factor(0), adder.factor()};
  };
  const auto of_floats = std::array{quantize_multiplier(double{0.1F / 0.6F}),
                                    quantize_multiplier(std::ldexp(double{0.6F / 0.7F}, -20))};
  const auto of_doubles =
      std::array{quantize_multiplier(double{0.1F} / double{0.6F}),
                 quantize_multiplier(std::ldexp(double{0.6F} / double{0.7F}, -20))};
  EXPECT_NE(of_floats[0], of_doubles[0]);
  EXPECT_NE(of_floats[1], of_doubles[1]);
  EXPECT_EQ(factors(SecondSign::minus, Rounding::double_rounding), of_floats);
  EXPECT_EQ(factors(SecondSign::minus, Rounding::single_rounding), of_doubles);
  EXPECT_EQ(factors(SecondSign::plus, Rounding::double_rounding), of_doubles);
}

TEST(QuantizedAdd, FitsAGridWhoseScaleIsNextToNothing) {
  const auto fitted = [](float scale) {
    return QuantizedAdd::fitting_params(quant(0.5F, 0), quant(0.25F, 0), quant(scale, 3));
  };
  const float least = std::nextafter(0.5F / 256, 1.0F);
  EXPECT_EQ(fitted(least).scale(), least);
  EXPECT_EQ(fitted(0.5F / 256).scale(), 0.5F / 128);
  EXPECT_EQ(fitted(1e-30F).scale(), 0.5F / 128);
  EXPECT_EQ(fitted(1e-30F).zero_point(), 3);
}

TEST(QuantizedAdd, SaturatesWhereTheOutputsScaleIsNextToNothing) {
  const QuantParams one = quant(1.0F, 0);
  for (const float scale : {2e-6F, 1e-7F, 1e-20F, 1e-38F}) {
    for (const Rounding rounding : kContracts) {
      const QuantizedAdd adder =
          QuantizedAdd::make(one, one, quant(scale, 3), FusedActivation::none, rounding);
      EXPECT_EQ(adder.apply(1, 0), 127);
      EXPECT_EQ(adder.apply(-100, 100), 3);
      EXPECT_EQ(adder.apply(0, -1), -128);
      const std::array<std::int8_t, 3> x = {1, -100, 0};
      const std::array<std::int8_t, 3> y = {0, 100, -1};
      std::array<std::int8_t, 3> sums{};
      adder.run(x, y, sums);
      EXPECT_EQ(sums, (std::array<std::int8_t, 3>{127, 3, -128}));
    }
  }
}

TEST(QuantizedAdd, RefusesGridsThatAddDoesNotHave) {
  const QuantParams one = quant(1.0F, 0);
  QuantParams two = one;
  two.scales.push_back(1.0F);
  two.zero_points.push_back(0);
  EXPECT_THROW(
      static_cast<void>(QuantizedAdd::make(two, one, one, FusedActivation::none, Rounding::fp32)),
      InvalidArgument);
}

}  // namespace
}  // namespace octet::test::operator_vectors_test
