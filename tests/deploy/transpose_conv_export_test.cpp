// TRANSPOSE_CONV in the exports: the interpreter's codes.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/export_testing.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/transposed_models.h>

namespace octet::test::transpose_conv_export_test {
namespace {

/// 2 x 2 pixels of 1 channel, to 4 x 4 of 3.
Transposed small() {
  Transposed t;
  t.conv.image = {1, 2, 2, 1};
  t.conv.filter = {3, 2, 2, 1};
  t.conv.weights.assign(12, 1);
  t.conv.bias.assign(3, 1);
  t.conv.attributes = {.stride_h = 2, .stride_w = 2};
  t.output = {4, 4};
  return t;
}

// ---- .tflite

TEST(TransposeConvExport, TfliteFilesComeBackAsTheyWere) {
  Draw draw(3);
  for (int round = 0; round < 40; ++round) {
    const Transposed t = draw_transposed(draw);
    const IntegerModel model = transposed_model(t);
    const auto bytes = to_tflite(model);
    const IntegerModel file = from_tflite(bytes);
    EXPECT_EQ(to_tflite(file), bytes);
    EXPECT_EQ(file.operators[0].attributes, model.operators[0].attributes);
    EXPECT_EQ(file.operators[0].inputs, model.operators[0].inputs);
    const auto x = codes_for(model, draw);
    for (const Rounding rounding : kContracts) {
      EXPECT_EQ(interpreted(file, rounding, x), interpreted(model, rounding, x));
    }
  }
}

TEST(TransposeConvExport, TfliteFilesHaveTheFirstVersionThatKnowsBiasAndActivation) {
  Transposed t = small();
  const auto version = [&] {
    return from_tflite(to_tflite(transposed_model(t))).operators[0].version;
  };
  EXPECT_EQ(version(), 3);
  t.conv.attributes.activation = FusedActivation::relu;
  EXPECT_EQ(version(), 4);
  t.conv.bias.clear();
  EXPECT_EQ(version(), 4);
  t.conv.attributes.activation = FusedActivation::none;
  EXPECT_EQ(version(), 2);
}

/// The format's own order: output_shape, weights, image, bias.
TEST(TransposeConvExport, TfliteFilesHaveTheOperandsInTheirOrder) {
  Transposed t = small();
  const auto in_file = [&] {
    const auto bytes = to_tflite(transposed_model(t));
    const RawTable graph = RawTable::root(bytes).tables(model_field::subgraphs)[0];
    return graph.tables(graph_field::operators)[0].values<std::int32_t>(operator_field::inputs);
  };
  // x, w, bias, shape are tensors 0 to 3.
  EXPECT_EQ(in_file(), (std::vector<std::int32_t>{3, 1, 0, 2}));
  t.conv.bias.clear();
  // x, w, shape.
  EXPECT_EQ(in_file(), (std::vector<std::int32_t>{2, 1, 0}));
}

TEST(TransposeConvExport, AFileOfAnotherShapeThanItsOutputHasIsRefused) {
  auto bytes = to_tflite(transposed_model(small()));
  const RawTable graph = RawTable::root(bytes).tables(model_field::subgraphs)[0];
  const RawTable op = graph.tables(graph_field::operators)[0];
  // TransposeConvOptions: padding 0, stride_w 1, stride_h 2.
  const std::int32_t stride = 1;
  std::memcpy(bytes.data() + op.table(operator_field::options).place(1), &stride, sizeof stride);
  try {
    from_tflite(bytes);
    FAIL() << "was taken";
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("operator 0 (TRANSPOSE_CONV): expected an output"),
              std::string::npos)
        << error.what();
  }
}

// ---- ONNX

TEST(TransposeConvExport, OnnxStyleExactGivesTheInterpretersCodes) {
  Draw draw(4);
  int compared = 0;
  for (int round = 0; round < 80; ++round) {
    const Transposed t = draw_transposed(draw);
    if (transposed_contract(t, Rounding::fp32) != Rounding::fp32) continue;
    const IntegerModel model = transposed_model(t);
    const auto x = codes_for(model, draw);
    const auto expected = interpreted(model, Rounding::fp32, x);
    ASSERT_EQ(onnx_codes(model, {.float_io = false}, x),
              std::vector<double>(expected.begin(), expected.end()))
        << round;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST(TransposeConvExport, OnnxStyleStandardIsACodeOffAtMost) {
  Draw draw(5);
  for (int round = 0; round < 40; ++round) {
    const IntegerModel model = transposed_model(draw_transposed(draw));
    const auto x = codes_for(model, draw);
    const auto expected = interpreted(model, Rounding::fp32, x);
    const auto found = onnx_codes(model, {.style = OnnxStyle::standard, .float_io = false}, x);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1.0) << round;
  }
}

TEST(TransposeConvExport, OnnxStyleExactRefusesByName) {
  Transposed t = small();
  t.conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 3};
  t.output = {4, 6};
  const IntegerModel model = transposed_model(t);
  EXPECT_NO_THROW(to_onnx(model, {.style = OnnxStyle::standard}));
  try {
    to_onnx(model);
    FAIL() << "nothing thrown";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("TRANSPOSE_CONV 'y': padding same with a stride"),
              std::string::npos)
        << error.what();
  }
}

// ---- C

TEST_F(CompiledC, TransposedConvolutionsEqualTheInterpreter) {
  Draw draw(72);
  std::vector<CCase> cases;
  for (std::uint64_t seed = 0; seed < 18; ++seed) {
    const IntegerModel model = transposed_model(draw_transposed(draw));
    cases.push_back({model, kContracts[seed % 3], random_codes(model, 3, seed)});
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O0"})), 0U);
    EXPECT_EQ(driver.differing(compiler, {"-O3", "-ffast-math"}), 0U);
    EXPECT_EQ(driver.differing(compiler, joined(kTrapUndefined, {"-O1"})), 0U);
  }
}

TEST(TransposeConvExport, CSourceSaysWhatItDoes) {
  const CSource source = to_c_source(transposed_model(small()), "net");
  EXPECT_NE(source.source.find("/* TRANSPOSE_CONV \"y\", 2 x 2 x 1 -> 4 x 4 x 3, filters 2 x 2, "
                               "stride 2 x 2. */"),
            std::string::npos)
      << source.source;
  EXPECT_EQ(source.macs, 2 * 2 * 4 * 3);
  EXPECT_EQ(source.accumulator_bound, 4 * 131 + 1);
}

// ---- Warnings

TEST(TransposeConvExport, RuntimeWarningsKnowWhatRuntimesDoOtherwise) {
  Transposed t = small();
  EXPECT_TRUE(runtime_warnings(transposed_model(t)).empty());
  t.conv.out = quant(1e-7F, 0);
  const auto dead = runtime_warnings(transposed_model(t));
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_NE(dead[0].find("operator 0 (TRANSPOSE_CONV) 'y': rescale factor"), std::string::npos);
  t = small();
  t.conv.attributes.activation = FusedActivation::relu;
  IntegerModel model = transposed_model(t);
  EXPECT_TRUE(runtime_warnings(model).empty());
  model.metadata["octet.rounding"] = "double";
  const auto lost = runtime_warnings(model);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NE(lost[0].find("leave out the fused activation"), std::string::npos);
}

}  // namespace
}  // namespace octet::test::transpose_conv_export_test
