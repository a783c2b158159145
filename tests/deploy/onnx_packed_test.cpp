// ONNX files with packed weights: the nodes that make codes of them, and what they compute.

#include <gtest/gtest.h>
#include <octet/core/quant/packed_codes.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/packed_models.h>

namespace octet::test::onnx_packed_test {
namespace {

using Ops = std::vector<std::string>;

constexpr OpCode kCodes[] = {OpCode::fully_connected, OpCode::conv_2d, OpCode::depthwise_conv_2d};
constexpr OnnxStyle kStyles[] = {OnnxStyle::exact, OnnxStyle::standard};

std::vector<double> interpreted(const IntegerModel& model, std::span<const std::int8_t> x) {
  Interpreter interpreter(model, {.rounding = Rounding::fp32});
  std::ranges::copy(x, interpreter.input<std::int8_t>().begin());
  interpreter.invoke();
  const auto y = interpreter.output<std::int8_t>();
  return {y.begin(), y.end()};
}

std::vector<std::int8_t> random_input(const IntegerModel& model, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<std::int8_t> codes(static_cast<std::size_t>(model.tensors[0].size()));
  for (std::int8_t& code : codes) code = static_cast<std::int8_t>(draw.between(-128, 127));
  return codes;
}

/// The int8 codes that the file makes of its weights "w".
std::vector<double> weights_in(const OnnxFile& file, const IntegerModel& model) {
  OnnxEvaluator onnx(file);
  onnx.run(code_input(file, model.tensors[0].shape, random_input(model, 1)));
  EXPECT_EQ(onnx.value("w").type, OnnxElement::int8);
  return onnx.value("w").values;
}

TEST(OnnxPacked, FormsOfEveryWidthComputeTheSame) {
  for (const OpCode code : kCodes) {
    for (int bits = 2; bits < 8; ++bits) {
      for (const std::int32_t depth : {5, 8}) {
        const IntegerModel model = few_bits_model({code, bits, depth, depth == 5}, 7);
        const auto x = random_input(model, 2);
        for (const OnnxWeights weights : {OnnxWeights::planes, OnnxWeights::int4}) {
          const OnnxOptions exact{.weights = weights, .float_io = false};
          EXPECT_EQ(onnx_codes(model, exact, x), interpreted(model, x));
          for (const OnnxStyle style : kStyles) {
            OnnxOptions options{.style = style, .float_io = false};
            const OnnxFile plain(to_onnx(model, options));
            options.weights = weights;
            const OnnxFile packed(to_onnx(model, options));
            EXPECT_EQ(weights_in(packed, model), plain.constants.at("w").values);
          }
        }
      }
    }
  }
}

TEST(OnnxPacked, FourBitsAreInt4AndACast) {
  const IntegerModel model = few_bits_model({OpCode::fully_connected, 4, 7, true}, 3);
  const OnnxFile file(to_onnx(model, {.weights = OnnxWeights::int4}));
  EXPECT_EQ(file.opset, 21);
  EXPECT_EQ(file.ir_version, 10);
  EXPECT_EQ(file.constants.at("w/int4").type, OnnxElement::int4);
  const OnnxNode& cast = file.producer_of("w");
  EXPECT_EQ(cast.op, "Cast");
  EXPECT_EQ(cast.inputs, Ops{"w/int4"});
  EXPECT_EQ(cast.attributes.at("to"), 3);
}

TEST(OnnxPacked, OtherWidthsArePlanes) {
  const Ops all{"BitShift", "BitwiseAnd", "Cast",    "Mul", "ReduceSum",
                "Reshape",  "Slice",      "Reshape", "Cast"};
  const Ops whole{"BitShift", "BitwiseAnd", "Cast", "Mul", "ReduceSum", "Reshape", "Cast"};
  for (int bits = 2; bits < 8; ++bits) {
    for (const std::int32_t depth : {7, 8}) {
      const IntegerModel model = few_bits_model({OpCode::fully_connected, bits, depth, true}, 3);
      const OnnxFile file(to_onnx(model, {.weights = OnnxWeights::planes}));
      EXPECT_EQ(file.opset, 18);
      EXPECT_EQ(file.ir_version, 8);
      const OnnxTensor& planes = file.constants.at("w/planes");
      EXPECT_EQ(planes.shape, (std::vector<std::int64_t>{bits, (5 * depth + 7) / 8, 1}));
      Ops made;
      for (const OnnxNode& node : file.nodes) {
        if (node.op == "DequantizeLinear") continue;
        if (node.output == "w" || node.output.starts_with("w/")) made.push_back(node.op);
      }
      EXPECT_EQ(made, depth == 8 ? whole : all);
    }
  }
}

TEST(OnnxPacked, FilesAreAsSmallAsTheirCodes) {
  const auto size = [](int bits, OnnxWeights weights) {
    const IntegerModel model = few_bits_model({OpCode::fully_connected, bits, 4000, true}, 5);
    return static_cast<double>(to_onnx(model, {.weights = weights}).size());
  };
  constexpr double kCount = 20000.0;
  for (int bits = 2; bits < 8; ++bits) {
    const double saved = kCount - kCount * bits / 8;
    const double plain = size(bits, OnnxWeights::int8);
    EXPECT_NEAR(plain - size(bits, OnnxWeights::planes), saved, 1200.0);
    EXPECT_NEAR(plain - size(bits, OnnxWeights::int4), saved, 1200.0);
  }
}

TEST(OnnxPacked, LeavesWeightsOfEightBits) {
  const IntegerModel model = few_bits_model({OpCode::fully_connected, 8, 6, true}, 3);
  for (const OnnxWeights weights : {OnnxWeights::planes, OnnxWeights::int4}) {
    const OnnxFile file(to_onnx(model, {.weights = weights}));
    const OnnxFile plain(to_onnx(model));
    EXPECT_EQ(file.ops(), plain.ops());
    EXPECT_EQ(file.constants.at("w").values, plain.constants.at("w").values);
  }
}

/// ReduceMean of ONNX 18 reads its axes.
TEST(OnnxPacked, MeansAreWrittenForTheVersion) {
  const IntegerModel model = model_of(Mean{});
  const auto x = random_input(model, 3);
  for (const OnnxStyle style : kStyles) {
    const auto codes = [&](OnnxWeights weights) {
      return onnx_codes(model, {.style = style, .weights = weights, .float_io = false}, x);
    };
    EXPECT_EQ(codes(OnnxWeights::planes), codes(OnnxWeights::int8));
    EXPECT_EQ(codes(OnnxWeights::int4), codes(OnnxWeights::int8));
  }
}

}  // namespace
}  // namespace octet::test::onnx_packed_test
