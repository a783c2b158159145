#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/runtime/conv_models.h>
#include <octet_test_paths.h>

#include <array>
#include <fstream>
#include <string>

namespace octet::test::conv_2d_test {
namespace {

using nlohmann::json;

TEST(Conv2D, IsTheOracleUnderEveryContractOnRandomShapes) {
  const KeepThreads keep;
  Draw draw(41);
  for (int round = 0; round < 120; ++round) {
    const Conv c = draw_conv(draw);
    const Rounding rounding = kContracts[round % 3];
    const Index batch = draw.between(1, 3);
    set_num_threads(draw.between(1, 3));
    Interpreter interpreter(model_of(c), {.rounding = rounding, .batch = batch});
    const auto x = random_codes(interpreter.input<std::int8_t>().size(), draw);
    Conv all = c;
    all.image[0] *= static_cast<std::int32_t>(batch);
    ASSERT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)),
              naive_codes(all, x, conv_2d_contract(c, rounding)))
        << "round " << round;
  }
}

/// Many blocks of patches, some of which end inside an image.
TEST(Conv2D, BlocksOfPatchesDoNotShow) {
  const KeepThreads keep;
  Draw draw(5);
  for (const std::int32_t channels : {1, 40}) {
    Conv c;
    c.image = {3, 31, 29, channels};
    c.filter = {5, 3, 3, channels};
    c.attributes.padding = Padding::same;
    c.weights = random_codes(static_cast<std::size_t>(5 * 9 * channels), draw);
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      Interpreter interpreter(model_of(c), {.rounding = Rounding::fp32});
      const auto x = random_codes(interpreter.input<std::int8_t>().size(), draw);
      EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), naive_codes(c, x, Rounding::fp32));
    }
  }
}

class Conv2DPaths : public octet::test::KernelTest {};

void expect_oracle(const Conv& c, Draw& draw, const std::string& what) {
  Interpreter interpreter(model_of(c), {.rounding = Rounding::fp32});
  const auto x = random_codes(interpreter.input<std::int8_t>().size(), draw);
  ASSERT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)), naive_codes(c, x, Rounding::fp32))
      << what;
}

TEST_P(Conv2DPaths, IsTheOracleOnRandomShapes) {
  Draw draw(53);
  for (int round = 0; round < 80; ++round) {
    const octet::test::Forced forced(GetParam(), draw.between(1, 2));
    Conv c = draw_conv(draw);
    // Lines of several tiles, too.
    if (round % 2 == 0 && c.attributes.padding == Padding::same) c.image[2] = draw.between(12, 40);
    ASSERT_NO_FATAL_FAILURE(expect_oracle(c, draw, "round " + std::to_string(round)));
  }
}

/// Channels and filters off the vector width, kernels larger than the image, images of one pixel.
TEST_P(Conv2DPaths, IsTheOracleAtTheEdges) {
  const octet::test::Forced forced(GetParam());
  Draw draw(54);
  for (const std::int32_t channels : {1, 2, 3, 4, 7, 17, 33}) {
    for (const std::int32_t units : {1, 6, 8, 9, 16, 17, 31, 33, 65}) {
      for (const auto& [height, width, kernel] :
           {std::array{5, 9, 3}, {1, 1, 3}, {2, 4, 5}, {3, 25, 1}, {1, 12, 2}}) {
        Conv c;
        c.image = {1, height, width, channels};
        c.filter = {units, kernel, kernel, channels};
        c.attributes.padding = Padding::same;
        c.attributes.stride_w = width == 9 ? 2 : 1;
        c.in = quant(0.05F, draw.between(-128, 127));
        c.weights =
            random_codes(static_cast<std::size_t>(units * kernel * kernel * channels), draw);
        ASSERT_NO_FATAL_FAILURE(
            expect_oracle(c, draw,
                          fmt::format("{} channels, {} filters of {} x {}, {} x {}", channels,
                                      units, kernel, kernel, height, width)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Conv2DPaths, ::testing::ValuesIn(available_kernels()),
                         octet::test::isa_name);

TEST(Conv2D, OfFloatsIsTheSumOfProducts) {
  Draw draw(17);
  for (int round = 0; round < 40; ++round) {
    Conv c = draw_conv(draw);
    const auto floats = [&](std::size_t count) {
      std::vector<float> values(count);
      for (float& value : values) value = draw.uniform(-2, 2);
      return values;
    };
    const auto w = floats(c.weights.size());
    const auto bias = floats(static_cast<std::size_t>(c.units()));
    RawModelBuilder b;
    const std::int32_t in = b.activation("x", c.image, DType::float32);
    const std::int32_t out = b.activation("y", c.result(), DType::float32);
    b.op(OpCode::conv_2d,
         {in, b.constant("w", c.filter, DType::float32, w),
          b.constant("bias", {c.units()}, DType::float32, bias)},
         out, c.attributes);
    b.model.inputs = {in};
    b.model.outputs = {out};
    Interpreter interpreter(b.model);
    const auto x = floats(interpreter.input<float>().size());
    const RealLimits limits = real_limits(c.attributes.activation);
    std::vector<float> expected;
    double sum = 0;
    naive_conv(
        c, [&](std::int32_t u) { sum = bias[static_cast<std::size_t>(u)]; },
        [&](std::size_t i, std::size_t k) { sum += double{x[i]} * double{w[k]}; },
        [&](std::int32_t) {
          expected.push_back(std::clamp(static_cast<float>(sum), limits.lo, limits.hi));
        });
    const auto y = run<float, float>(interpreter, x);
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected[i], 1e-4F) << round;
  }
}

// ---- Bytes of real runtimes

TEST(Conv2DVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  const std::map<std::string, Rounding> contracts{
      {"LiteRT.js 2.5.3", Rounding::fp32},
      {"TFLite Micro reference kernels (double rounding)", Rounding::double_rounding}};
  std::map<std::string, int> compared;
  for (const json& vector : root.at("vectors")) {
    if (vector.at("op") != "CONV_2D") continue;
    const Conv c = conv_of(vector);
    const auto x = vector.at("inputs")[0].at("data").get<std::vector<std::int8_t>>();
    for (const json& expected : vector.at("expected")) {
      for (const std::string runtime : expected.at("runtimes")) {
        const auto contract = contracts.find(runtime);
        if (contract == contracts.end()) continue;
        Interpreter interpreter(model_of(c), {.rounding = contract->second});
        EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, x)),
                  expected.at("data").get<std::vector<std::int8_t>>())
            << vector.at("id") << " " << runtime;
        ++compared[runtime];
      }
    }
  }
  // LiteRT.js refuses a convolution without bias.
  EXPECT_EQ(compared["LiteRT.js 2.5.3"], 24);
  EXPECT_EQ(compared["TFLite Micro reference kernels (double rounding)"], 25);
}

// ---- Bad operands

TEST(Conv2D, RefusesOperandsByName) {
  Conv good;
  good.weights.assign(4 * 3 * 3 * 3, 1);
  EXPECT_NO_THROW(model_of(good).validate());
  const auto refuse = [](const Conv& from, auto&& change, const std::string& part) {
    IntegerModel model = model_of(from);
    change(model);
    try {
      model.validate();
      FAIL() << "nothing thrown, expected: " << part;
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find("operator 0 (CONV_2D): "), std::string::npos);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const auto attributes = [](IntegerModel& m) -> Conv2DAttributes& {
    return m.operators[0].as<Conv2DAttributes>();
  };
  refuse(
      good, [&](IntegerModel& m) { attributes(m).stride_h = 0; }, "a stride");
  refuse(
      good, [&](IntegerModel& m) { attributes(m).dilation_w = -2; }, "a dilation");
  refuse(
      good, [&](IntegerModel& m) { attributes(m).dilation_h = 3; }, "fits into the image");
  refuse(
      good, [&](IntegerModel& m) { attributes(m).stride_w = 2; }, "shape");
  refuse(
      good,
      [](IntegerModel& m) {
        m.tensors[0].shape = {5, 5, 3};
      },
      "images");
  refuse(
      good,
      [](IntegerModel& m) {
        m.tensors[0].shape = {1, 5, 5, 4};
      },
      "over 3 channels");
  refuse(
      good,
      [](IntegerModel& m) {
        m.tensors[1].shape = {4, 9, 3};
      },
      "a filter");
  refuse(
      good, [](IntegerModel& m) { m.tensors[1].quantization.zero_points = {1}; }, "zero point");
  Conv uneven = good;
  uneven.image = {1, 5, 5, 6};
  uneven.filter = {3, 3, 3, 3};
  uneven.weights.assign(3 * 3 * 3 * 3, 1);
  refuse(
      uneven, [](IntegerModel&) {}, "3 filters");
}

}  // namespace
}  // namespace octet::test::conv_2d_test
