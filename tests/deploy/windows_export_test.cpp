// Pools, MEAN, DEPTHWISE_CONV_2D, PAD and PADV2 in the exports: versions, nodes, C source
// and warnings. What they compute is in operator_export_test.cpp.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/window_models.h>

namespace octet::test::windows_export_test {
namespace {

/// Models of one operator each.
std::vector<IntegerModel> windows(int count) {
  Draw draw(71);
  std::vector<IntegerModel> models;
  for (int round = 0; round < count; ++round) {
    models.push_back(model_of(draw_pooling(draw)));
    models.push_back(depthwise_model(draw_depthwise(draw)));
    models.push_back(draw_pad(draw));
    models.push_back(draw_pad(draw, OpCode::padv2));
    models.push_back(model_of(draw_mean(draw)));
  }
  return models;
}

// ---- .tflite

TEST(WindowsExport, FloatsHaveTheFirstVersionThatKnowsTheirDilation) {
  const auto version_of = [](const IntegerModel& model) {
    return from_tflite(to_tflite(model)).operators[0].version;
  };
  const QuantParams none{{}, {}, 0, 0, 0};
  Conv c;
  c.filter = {3, 1, 1, 1};
  for (const std::int32_t dilation : {1, 2}) {
    c.attributes.dilation_w = dilation;
    c.weights.assign(3, 0);
    IntegerModel model = depthwise_model(c);
    for (ModelTensor& t : model.tensors) {
      t.dtype = DType::float32;
      t.quantization = none;
    }
    model.tensors[1].data.resize(3 * sizeof(float));
    EXPECT_EQ(version_of(model), dilation);
  }
  EXPECT_EQ(version_of(model_of(Pooling{}, DType::float32)), 1);
  EXPECT_EQ(version_of(pad_model({2}, {{1, 1}}, none, DType::float32)), 1);
}

// ---- ONNX

// What runtimes fuse into one operator of integers.
TEST(WindowsExport, OnnxStyleStandardHasConvolutionsOfUint8WithNothingAround) {
  int convolutions = 0;
  for (const IntegerModel& model : windows(20)) {
    const OnnxFile file(to_onnx(model, {.style = OnnxStyle::standard, .float_io = false}));
    EXPECT_EQ(file.inputs[0].type, OnnxElement::uint8);
    EXPECT_EQ(file.outputs[0].type, OnnxElement::uint8);
    for (const OnnxNode& conv : file.nodes) {
      if (conv.op != "Conv") continue;
      const auto type_of = [&](const std::string& terms) {
        const OnnxNode& node = file.producer_of(terms);
        EXPECT_EQ(node.op, "DequantizeLinear");
        return file.constants.at(node.inputs.at(2)).type;
      };
      EXPECT_EQ(type_of(conv.inputs[0]), OnnxElement::uint8);
      EXPECT_EQ(type_of(conv.inputs[1]), OnnxElement::int8);
      const auto reader = std::ranges::find_if(
          file.nodes, [&](const OnnxNode& node) { return node.inputs.at(0) == conv.output; });
      const bool clamps = model.operators[0].activation() != FusedActivation::none;
      EXPECT_TRUE(reader->op == "QuantizeLinear" || (clamps && reader->op == "Clip")) << reader->op;
      ++convolutions;
    }
  }
  EXPECT_GT(convolutions, 10);
}

TEST(WindowsExport, OnnxOfFloats) {
  Pooling p;
  p.attributes = {
      .padding = Padding::same, .filter_h = 3, .filter_w = 2, .activation = FusedActivation::relu6};
  Draw draw(8);
  for (const OpCode code : {OpCode::average_pool_2d, OpCode::max_pool_2d}) {
    p.code = code;
    const IntegerModel model = model_of(p, DType::float32);
    std::vector<float> x(32);
    for (float& value : x) value = static_cast<float>(draw.between(-9, 9));
    const OnnxFile file(to_onnx(model));
    OnnxEvaluator onnx(file);
    onnx.run({OnnxElement::float32, {1, 4, 4, 2}, {x.begin(), x.end()}});
    Interpreter interpreter(model);
    const auto expected = run<float, float>(interpreter, x);
    EXPECT_EQ(onnx.value("y").values, std::vector<double>(expected.begin(), expected.end()));
  }
}

TEST(WindowsExport, OnnxStyleExactRefusesByName) {
  const auto refuse = [](const IntegerModel& model, const std::string& part) {
    EXPECT_NO_THROW(to_onnx(model, {.style = OnnxStyle::standard}));
    expect_throws<InvalidArgument>([&] { to_onnx(model); }, {part});
  };
  Conv c;
  c.filter = {3, 1, 1, 1};
  c.weights.assign(3, 1);
  refuse(depthwise_model(c), "DEPTHWISE_CONV_2D 'y': style exact computes rounding mode fp32");
  Pooling p;
  p.image = {1, 512, 512, 1};
  p.attributes = {.filter_h = 512, .filter_w = 512};
  refuse(model_of(p), "AVERAGE_POOL_2D 'y': expected sums of at most 16777216");
}

// ---- C

TEST(WindowsExport, CSourceSaysWhatItDoes) {
  Pooling p;
  p.attributes = {.filter_h = 2, .filter_w = 2};
  const CSource pool = to_c_source(model_of(p), "net");
  EXPECT_NE(pool.source.find("/* AVERAGE_POOL_2D \"y\", 4 x 4 x 2, window 2 x 2, stride 1 x 1. */"),
            std::string::npos)
      << pool.source;
  Conv c;
  c.filter = {6, 2, 2, 1};
  c.weights.assign(24, 127);
  c.bias.assign(6, 5);
  const CSource depthwise = to_c_source(depthwise_model(c), "net");
  EXPECT_EQ(depthwise.macs, 4 * 4 * 6 * 4);
  EXPECT_EQ(depthwise.accumulator_bound, 4 * 127 * 131 + 5);
}

TEST(WindowsExport, RuntimeWarningsKnowADeadDepthwiseChannel) {
  Conv c;
  c.filter = {3, 1, 1, 1};
  c.weights.assign(3, 1);
  c.bias.assign(3, 1);
  EXPECT_TRUE(runtime_warnings(depthwise_model(c)).empty());
  c.out = quant(1e-7F, 0);
  const auto warnings = runtime_warnings(depthwise_model(c));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("operator 0 (DEPTHWISE_CONV_2D) 'y': rescale factor"),
            std::string::npos);
}

std::string joined_warnings(const IntegerModel& model) {
  return fmt::format("{}", fmt::join(runtime_warnings(model), "\n"));
}

TEST(WindowsExport, RuntimeWarningsKnowAConvolutionWithoutABias) {
  Conv c;
  c.filter = {3, 1, 1, 3};
  c.weights.assign(9, 1);
  expect_mentions(joined_warnings(model_of(c)),
                  "operator 0 (CONV_2D) 'y': it has no bias; LiteRT, LiteRT.js");
  c.filter = {3, 1, 1, 1};
  c.weights.assign(3, 1);
  expect_mentions(joined_warnings(depthwise_model(c)),
                  "operator 0 (DEPTHWISE_CONV_2D) 'y': it has no bias; TFLite Micro");
  c.bias.assign(3, 0);
  EXPECT_EQ(joined_warnings(depthwise_model(c)), "");
}

/// One axis of a convolution over 8 x 8 pixels.
struct AxisCase {
  std::int32_t kernel;
  std::int32_t stride;
  std::int32_t dilation;
  /// Whether its last window ends before the image does.
  bool leaves_pixels;
};

// LiteRT.js 2.0.0 and tfjs-tflite compute wrong values for 320 of 320 such files, and for none of
// 1,171 others.
TEST(WindowsExport, RuntimeWarningsKnowPaddingSameThatIsMisread) {
  const auto warnings_of = [](const AxisCase& y, const AxisCase& x, bool depthwise) {
    Conv c;
    c.image = {1, 8, 8, 1};
    c.filter = {2, y.kernel, x.kernel, 1};
    c.attributes = {.padding = Padding::same,
                    .stride_h = y.stride,
                    .stride_w = x.stride,
                    .dilation_h = y.dilation,
                    .dilation_w = x.dilation};
    c.weights.assign(static_cast<std::size_t>(2 * y.kernel * x.kernel), 3);
    c.bias.assign(2, 1);
    return joined_warnings(depthwise ? depthwise_model(c) : model_of(c));
  };
  const AxisCase tiling{2, 2, 1, false};
  const AxisCase padded{3, 1, 1, false};
  for (const bool depthwise : {false, true}) {
    const std::string_view who = depthwise ? "(DEPTHWISE_CONV_2D) 'y': with padding same"
                                           : "(CONV_2D) 'y': with padding same";
    for (const AxisCase& one : {AxisCase{3, 4, 1, true},
                                {1, 2, 1, true},
                                {2, 4, 2, true},
                                tiling,
                                AxisCase{3, 3, 1, false}}) {
      for (const auto& [other, advice] : {std::pair(tiling, "Write padding valid"),
                                          std::pair(padded, "by a ZeroPadding2D in front")}) {
        for (const auto& [y, x] : {std::pair(one, other), std::pair(other, one)}) {
          const std::string warnings = warnings_of(y, x, depthwise);
          if (!one.leaves_pixels) {
            EXPECT_EQ(warnings, "");
            continue;
          }
          expect_mentions(warnings, who);
          expect_mentions(warnings, "LiteRT.js 2.0.0 and tfjs-tflite 0.0.1-alpha.10");
          expect_mentions(warnings, advice);
        }
      }
    }
    const AxisCase pixel{1, 3, 1, true};
    EXPECT_EQ(warnings_of(pixel, pixel, depthwise), "");
  }
}

TEST(WindowsExport, RuntimeWarningsKnowDepthwiseWeightsThatOverflow) {
  Conv c;
  c.filter = {3, 1, 1, 1};
  c.bias.assign(3, 1);
  c.weights = {127, -127, -128};
  expect_mentions(joined_warnings(depthwise_model(c)),
                  "operator 0 (DEPTHWISE_CONV_2D) 'y': it has weights of -128");
  c.weights.back() = -127;
  EXPECT_EQ(joined_warnings(depthwise_model(c)), "");
  // In a CONV_2D they are computed rightly.
  c.filter = {1, 1, 1, 3};
  c.bias.assign(1, 1);
  c.weights.back() = -128;
  EXPECT_EQ(joined_warnings(model_of(c)), "");
}

}  // namespace
}  // namespace octet::test::windows_export_test
