// CONV_2D of any window in the exports: the interpreter's codes.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/export_testing.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/conv_models.h>

namespace octet::test::conv_2d_export_test {
namespace {

std::vector<std::int8_t> image_of(const Conv& c, Draw& draw) {
  const std::int32_t size = c.image[0] * c.image[1] * c.image[2] * c.image[3];
  return random_codes(static_cast<std::size_t>(size), draw);
}

TEST(Conv2DExport, FilesHoldTheWindow) {
  Draw draw(3);
  for (int round = 0; round < 60; ++round) {
    const Conv c = draw_conv(draw);
    const IntegerModel model = model_of(c);
    const IntegerModel file = from_tflite(to_tflite(model));
    EXPECT_EQ(file.operators[0].attributes, OperatorAttributes(c.attributes));
    const bool grouped = c.image[3] != c.filter[3];
    EXPECT_EQ(file.operators[0].version, grouped ? 6 : 3);
    const auto x = image_of(c, draw);
    EXPECT_EQ(interpreted(file, Rounding::fp32, x), interpreted(model, Rounding::fp32, x));
  }
}

TEST(Conv2DExport, AFileOfAnotherWindowThanItsOutputHasIsRefused) {
  Conv c;
  c.weights.assign(4 * 3 * 3 * 3, 1);
  c.attributes.activation = FusedActivation::relu;
  const auto file = to_tflite(model_of(c));
  // Conv2DOptions: padding 0, stride_w 1, stride_h 2, activation 3.
  for (const int field : {1, 2}) {
    for (const std::int32_t stride : {0, 2, -1}) {
      auto bytes = file;
      const RawTable op =
          RawTable::root(bytes).tables(model_field::subgraphs)[0].tables(graph_field::operators)[0];
      std::memcpy(bytes.data() + op.table(operator_field::options).place(field), &stride,
                  sizeof stride);
      try {
        from_tflite(bytes);
        FAIL() << "stride " << stride << " was taken";
      } catch (const FormatError& error) {
        EXPECT_NE(std::string(error.what()).find("operator 0 (CONV_2D): "), std::string::npos)
            << error.what();
      }
    }
  }
}

TEST(Conv2DExport, OnnxStyleExactGivesTheInterpretersCodes) {
  Draw draw(9);
  for (int round = 0; round < 40; ++round) {
    const Conv c = draw_conv(draw);
    const IntegerModel model = model_of(c);
    const auto x = image_of(c, draw);
    const auto expected = interpreted(model, Rounding::fp32, x);
    ASSERT_EQ(onnx_codes(model, {.float_io = false}, x),
              std::vector<double>(expected.begin(), expected.end()))
        << round;
  }
}

TEST_F(CompiledC, Conv2DEqualsTheInterpreter) {
  std::vector<CCase> cases;
  Draw draw(27);
  for (int round = 0; round < 24; ++round) {
    const Conv c = draw_conv(draw);
    const auto x = image_of(c, draw);
    cases.push_back({model_of(c), kContracts[round % 3], to_bytes(x)});
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O0"})), 0U);
    EXPECT_EQ(driver.differing(compiler, {"-O3", "-ffast-math"}), 0U);
    EXPECT_EQ(driver.differing(compiler, joined(kTrapUndefined, {"-O1"})), 0U);
  }
}

}  // namespace
}  // namespace octet::test::conv_2d_export_test
