#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operator_cost.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/transposed_models.h>
#include <octet_test_paths.h>

#include <fstream>

namespace octet::test::transpose_conv_test {
namespace {

using nlohmann::json;

std::vector<std::int8_t> computed(const Transposed& t, Rounding rounding,
                                  const std::vector<std::int8_t>& x, Index batch = 1) {
  Interpreter interpreter(transposed_model(t), {.rounding = rounding, .batch = batch});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

std::size_t size_of_image(const Transposed& t) {
  std::size_t size = 1;
  for (const std::int32_t extent : t.conv.image) size *= static_cast<std::size_t>(extent);
  return size;
}

TEST(TransposeConv, IsTheOracleForAnyWindow) {
  Draw draw(91);
  for (int round = 0; round < 300; ++round) {
    const Transposed t = draw_transposed(draw);
    const auto x = random_codes(size_of_image(t), draw);
    const Rounding rounding = kContracts[round % 3];
    ASSERT_EQ(computed(t, rounding, x), naive_codes(t, x, rounding)) << round;
  }
}

/// A line of 70 pixels times 3 x 90 numbers is more products than are made at once.
TEST(TransposeConv, ThreadsBatchesAndBlocksChangeNothing) {
  const KeepThreads keep;
  Transposed t;
  t.conv.image = {1, 9, 70, 5};
  t.conv.filter = {90, 3, 3, 5};
  t.conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 1};
  t.output = {18, 70};
  Draw draw(2);
  t.conv.weights = random_codes(std::size_t{90} * 9 * 5, draw);
  t.conv.bias.assign(90, 17);
  const auto x = random_codes(3 * size_of_image(t), draw);
  std::vector<std::int8_t> first;
  for (const int threads : {1, 2, 3, 4}) {
    set_num_threads(threads);
    const auto y = computed(t, Rounding::fp32, x, 3);
    if (first.empty()) first = y;
    EXPECT_EQ(y, first);
  }
  t.conv.image[0] = 3;
  EXPECT_EQ(first, naive_codes(t, x, Rounding::fp32));
}

TEST(TransposeConv, OfFloats) {
  Draw draw(6);
  for (int round = 0; round < 60; ++round) {
    const Transposed t = draw_transposed(draw);
    const Conv& c = t.conv;
    IntegerModel model = transposed_model(t);
    std::vector<float> weights;
    for (const std::int8_t code : c.weights) weights.push_back(static_cast<float>(code) / 8);
    for (ModelTensor& tensor : model.tensors) {
      if (tensor.name == "shape") continue;
      tensor.dtype = DType::float32;
      tensor.quantization = QuantParams{{}, {}, 0, 0, 0};
    }
    model.tensors[1].data = to_bytes(weights);
    if (!c.bias.empty()) {
      model.tensors[2].data = to_bytes(std::vector<float>(c.bias.begin(), c.bias.end()));
    }
    std::vector<float> x(size_of_image(t));
    for (float& value : x) value = static_cast<float>(draw.between(-20, 20));
    std::vector<float> expected(outputs_of(t));
    for (std::size_t i = 0; i < expected.size() && !c.bias.empty(); ++i) {
      expected[i] = static_cast<float>(c.bias[i % c.bias.size()]);
    }
    // Eighths: no sum is rounded.
    naive_transposed(t, [&](std::size_t to, std::size_t, std::size_t i, std::size_t k) {
      expected[to] += x[i] * weights[k];
    });
    const RealLimits limits = real_limits(c.attributes.activation);
    for (float& value : expected) value = std::clamp(value, limits.lo, limits.hi);
    Interpreter interpreter(model);
    ASSERT_EQ((run<float, float>(interpreter, x)), expected) << round;
  }
}

TEST(TransposeConv, KeepsNoMoreThanItsDefinitionSays) {
  Draw draw(9);
  for (int round = 0; round < 30; ++round) {
    const IntegerModel model = transposed_model(draw_transposed(draw));
    for (const Rounding rounding : kContracts) {
      const auto kernel = detail::make_kernel({model, model.operators[0], rounding});
      EXPECT_LE(kernel->bytes(), detail::kernel_bytes({model, model.operators[0]}));
      EXPECT_GE(kernel->bytes(), model.tensors[1].data.size());
    }
  }
}

TEST(TransposeConv, CostsTheWholeKernelForEveryPixel) {
  Transposed t;
  t.conv.image = {1, 4, 5, 3};
  t.conv.filter = {7, 3, 2, 3};
  t.conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 2};
  t.conv.weights.assign(7 * 6 * 3, 1);
  t.output = {8, 10};
  EXPECT_EQ(operator_cost(transposed_model(t), 0).multiply_adds, (4 * 5 * 3) * (3 * 2 * 7));
}

// ---- Bytes of real runtimes

TEST(TransposeConvVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  int compared = 0;
  for_vectors(root, "TRANSPOSE_CONV", [&](const json& v, Rounding rounding, const auto& expected) {
    EXPECT_EQ(computed(transposed_of(v), rounding, input_of(v)), expected) << v.at("id");
    ++compared;
  });
  EXPECT_EQ(compared, 2 * 8);
}

// ---- Bad operands

TEST(TransposeConv, RefusesOperandsByName) {
  Transposed t;
  t.conv.image = {1, 3, 4, 2};
  t.conv.filter = {6, 2, 3, 2};
  t.conv.weights.assign(6 * 6 * 2, 1);
  t.conv.weight_scales.assign(6, 0.01F);
  t.conv.bias.assign(6, 1);
  t.conv.attributes = {.stride_h = 2, .stride_w = 1};
  t.output = {6, 6};
  const IntegerModel good = transposed_model(t);
  const auto attributes = [](IntegerModel& m) -> TransposeConvAttributes& {
    return m.operators[0].as<TransposeConvAttributes>();
  };
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  refuse([&](IntegerModel& m) { attributes(m).stride_h = 0; }, "a stride");
  refuse([&](IntegerModel& m) { attributes(m).stride_h = 1; },
         "a kernel of 2, a stride of 1 and padding valid leads back to the 3 of axis 1, found 6");
  refuse([&](IntegerModel& m) { attributes(m).padding = Padding::same; },
         "leads back to the 4 of axis 2, found 6");
  refuse([](IntegerModel& m) { m.tensors[0].shape = {3, 4, 2}; }, "expected images");
  refuse(
      [](IntegerModel& m) {
        m.tensors[0].shape = {1, 3, 2, 4};
      },
      "expected images [n, height, width, 2]");
  refuse(
      [](IntegerModel& m) {
        m.tensors[1].shape = {6, 6, 2};
      },
      "[units, height, width, channels]");
  refuse([](IntegerModel& m) { m.tensors[4].shape = {1, 6, 3, 12}; }, "expected an output");
  refuse([](IntegerModel& m) { m.tensors[1].quantization.zero_points[2] = 1; },
         "its weights have a zero point other than 0");
  refuse([](IntegerModel& m) { m.operators[0].inputs.pop_back(); }, "its output's shape");
  refuse([](IntegerModel& m) { m.operators[0].inputs[3] = -1; }, "its output's shape");
  refuse([](IntegerModel& m) { m.tensors[3].data[4] = 7; }, "as an int32 constant, found 'shape'");
}

TEST(TransposeConv, RefusesSumsBeyondInt32ByChannel) {
  Transposed t;
  t.conv.image = {1, 2, 2, 1};
  t.conv.filter = {3, 1, 1, 1};
  t.conv.weights.assign(3, 127);
  t.conv.bias = {0, 2147483000, 0};
  t.output = {2, 2};
  try {
    Interpreter interpreter(transposed_model(t));
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("channel 1: sums could reach"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace octet::test::transpose_conv_test
