#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/runtime/window_models.h>
#include <octet_test_paths.h>

#include <fstream>

namespace octet::test::depthwise_conv_2d_test {
namespace {

using nlohmann::json;

std::vector<std::int8_t> computed(const Conv& c, Rounding rounding,
                                  const std::vector<std::int8_t>& x, Index batch = 1) {
  Interpreter interpreter(depthwise_model(c), {.rounding = rounding, .batch = batch});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

std::size_t size_of_image(const Conv& c) {
  std::size_t size = 1;
  for (const std::int32_t extent : c.image) size *= static_cast<std::size_t>(extent);
  return size;
}

TEST(DepthwiseConv2D, IsTheOracleForAnyWindow) {
  Draw draw(43);
  for (int round = 0; round < 300; ++round) {
    const Conv c = draw_depthwise(draw);
    const auto x = random_codes(size_of_image(c), draw);
    const Rounding rounding = kContracts[round % 3];
    ASSERT_EQ(computed(c, rounding, x), naive_codes(c, x, depthwise_contract(c, rounding)))
        << round;
  }
}

class DepthwiseConv2DPaths : public octet::test::KernelTest {};

void expect_oracle(const Conv& c, Draw& draw, const std::string& what) {
  const auto x = random_codes(size_of_image(c), draw);
  ASSERT_EQ(computed(c, Rounding::fp32, x),
            naive_codes(c, x, depthwise_contract(c, Rounding::fp32)))
      << what;
}

TEST_P(DepthwiseConv2DPaths, IsTheOracleOnRandomShapes) {
  Draw draw(44);
  for (int round = 0; round < 80; ++round) {
    const octet::test::Forced forced(GetParam(), draw.between(1, 2));
    ASSERT_NO_FATAL_FAILURE(expect_oracle(draw_depthwise(draw), draw, std::to_string(round)));
  }
}

/// Channels off the vector width; odd and even numbers of taps; lines with and without padding, of
/// which most would be padding, and where taps lie several pixels apart. Extreme codes.
TEST_P(DepthwiseConv2DPaths, IsTheOracleAtTheEdges) {
  const octet::test::Forced forced(GetParam());
  Draw draw(45);
  for (const std::int32_t channels : {1, 3, 7, 8, 17, 33, 64}) {
    for (const auto& [height, width, kernel, dilation] :
         {std::array{5, 9, 3, 1}, {1, 1, 3, 1}, {3, 4, 5, 1}, {6, 6, 2, 1}, {2, 13, 4, 3}}) {
      for (const std::int32_t stride : {1, 2}) {
        Conv c;
        c.image = {1, height, width, channels};
        c.filter = {channels * stride, kernel, kernel, 1};
        c.attributes.padding = Padding::same;
        c.attributes.stride_h = c.attributes.stride_w = dilation == 1 ? stride : 1;
        c.attributes.dilation_h = c.attributes.dilation_w = dilation;
        c.in = quant(0.05F, stride == 1 ? -128 : 127);
        const std::int32_t weights = c.units() * kernel * kernel;
        c.weights = random_codes(static_cast<std::size_t>(weights), draw);
        std::fill_n(c.weights.begin(), kernel * kernel, std::int8_t{-128});
        ASSERT_NO_FATAL_FAILURE(
            expect_oracle(c, draw,
                          fmt::format("{} channels, stride {}, {} x {}, {} x {}", channels, stride,
                                      kernel, kernel, height, width)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseConv2DPaths, ::testing::ValuesIn(available_kernels()),
                         octet::test::isa_name);

/// Two rows of outputs, of many channels each, are more sums than are made at once.
TEST(DepthwiseConv2D, ThreadsBatchesAndBlocksChangeNothing) {
  const KeepThreads keep;
  Conv c;
  c.image = {1, 30, 40, 300};
  c.filter = {300, 3, 3, 1};
  c.attributes.padding = Padding::same;
  Draw draw(2);
  c.weights = random_codes(300 * 9, draw);
  c.bias.assign(300, 17);
  const auto x = random_codes(3 * size_of_image(c), draw);
  std::vector<std::int8_t> first;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto y = computed(c, Rounding::fp32, x, 3);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first);
  }
  c.image[0] = 3;
  EXPECT_EQ(first, naive_codes(c, x, Rounding::fp32));
}

TEST(DepthwiseConv2D, OfFloats) {
  Draw draw(6);
  for (int round = 0; round < 60; ++round) {
    const Conv c = draw_depthwise(draw);
    IntegerModel model = depthwise_model(c);
    std::vector<float> weights;
    const auto to_floats = [](ModelTensor& t) {
      t.dtype = DType::float32;
      t.quantization = QuantParams{{}, {}, 0, 0, 0};
    };
    for (const std::uint8_t byte : model.tensors[1].data) {
      weights.push_back(static_cast<float>(static_cast<std::int8_t>(byte)) / 8);
    }
    for (ModelTensor& t : model.tensors) to_floats(t);
    model.tensors[1].data = to_bytes(weights);
    if (!c.bias.empty()) {
      model.tensors[2].data = to_bytes(std::vector<float>(c.bias.begin(), c.bias.end()));
    }
    std::vector<float> x(size_of_image(c));
    for (float& value : x) value = static_cast<float>(draw.between(-20, 20));
    const RealLimits limits = real_limits(c.attributes.activation);
    std::vector<float> expected;
    double sum = 0;
    naive_conv(
        c, [&](std::int32_t u) { sum = c.bias.empty() ? 0 : c.bias[static_cast<std::size_t>(u)]; },
        [&](std::size_t i, std::size_t k) { sum += double{x[i]} * c.weights[k] / 8; },
        [&](std::int32_t) {
          expected.push_back(std::clamp(static_cast<float>(sum), limits.lo, limits.hi));
        });
    Interpreter interpreter(model);
    // Eighths: no sum is rounded.
    ASSERT_EQ((run<float, float>(interpreter, x)), expected) << round;
  }
}

TEST(DepthwiseConv2D, KeepsNoMoreThanItsDefinitionSays) {
  Draw draw(9);
  for (int round = 0; round < 30; ++round) {
    const IntegerModel model = depthwise_model(draw_depthwise(draw));
    for (const Rounding rounding : kContracts) {
      const auto kernel = detail::make_kernel({model, model.operators[0], rounding});
      EXPECT_LE(kernel->bytes(), detail::kernel_bytes({model, model.operators[0]}));
      EXPECT_GE(kernel->bytes(), model.tensors[1].data.size());
    }
  }
}

// ---- Bytes of real runtimes

TEST(DepthwiseConv2DVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  int compared = 0;
  for_vectors(root, "DEPTHWISE_CONV_2D",
              [&](const json& v, Rounding rounding, const auto& expected) {
                Conv c = conv_of(v);
                // From [1, kh, kw, units] to [units, kh, kw, 1].
                const auto of_taps = c.weights;
                c.filter = {c.filter[3], c.filter[1], c.filter[2], 1};
                const std::int32_t units = c.units();
                const std::int32_t taps = c.filter[1] * c.filter[2];
                for (std::int32_t i = 0; i < units * taps; ++i) {
                  const std::int32_t place = i % units * taps + i / units;
                  c.weights[static_cast<std::size_t>(place)] = of_taps[static_cast<std::size_t>(i)];
                }
                EXPECT_EQ(computed(c, rounding, input_of(v)), expected) << v.at("id");
                ++compared;
              });
  // TFLite Micro ends a program without a bias.
  EXPECT_EQ(compared, 2 * 17 - 1);
}

// ---- Bad operands

TEST(DepthwiseConv2D, RefusesOperandsByName) {
  Conv c;
  c.filter = {6, 2, 3, 1};
  c.weights.assign(6 * 6, 1);
  c.weight_scales.assign(6, 0.01F);
  c.bias.assign(6, 1);
  const IntegerModel good = depthwise_model(c);
  const auto attributes = [](IntegerModel& m) -> DepthwiseConv2DAttributes& {
    return m.operators[0].as<DepthwiseConv2DAttributes>();
  };
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  refuse([&](IntegerModel& m) { attributes(m).stride_h = 0; }, "a stride");
  refuse([&](IntegerModel& m) { attributes(m).dilation_w = -2; }, "a dilation");
  refuse([&](IntegerModel& m) { attributes(m).dilation_w = 3; }, "fits into the image");
  refuse([&](IntegerModel& m) { attributes(m).stride_w = 2; }, "expected output shape");
  refuse([&](IntegerModel& m) { attributes(m).depth_multiplier = 1; },
         "3 channels times a depth multiplier of 1, found one of 6");
  refuse([&](IntegerModel& m) { attributes(m).depth_multiplier = 0; }, "multiplier of 0");
  refuse([](IntegerModel& m) { m.tensors[0].shape = {5, 5, 3}; }, "expected images");
  refuse([](IntegerModel& m) { m.tensors[1].shape = {2, 3, 1, 6}; }, "[1, height, width, units]");
  refuse([](IntegerModel& m) { m.tensors[1].quantization.zero_points[2] = 1; }, "zero point");
  refuse(
      [](IntegerModel& m) {
        m.tensors[1].quantization.quantized_dimension = 0;
        m.tensors[1].quantization.scales.resize(1);
        m.tensors[1].quantization.zero_points.resize(1);
        m.tensors[2].quantization = {};
        m.tensors[2].shape = {1};
        m.tensors[2].data.resize(4);
      },
      "a constant bias of 6 values");
}

TEST(DepthwiseConv2D, RefusesSumsBeyondInt32ByChannel) {
  Conv c;
  c.filter = {3, 1, 1, 1};
  c.weights.assign(3, 127);
  c.bias = {0, 2147483000, 0};
  try {
    Interpreter interpreter(depthwise_model(c));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("channel 1: sums could reach"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace octet::test::depthwise_conv_2d_test
