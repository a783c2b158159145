// What real runtimes computed of windows, pads and means: tests/data/vectors_conv.json.

#include <gtest/gtest.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/transposed_models.h>
#include <octet_test_paths.h>

#include <fstream>
#include <ostream>

namespace octet::test::window_vectors_test {
namespace {

using nlohmann::json;

struct WindowVectors {
  std::string op;
  /// Vectors times the runtimes that have them.
  int count;
  IntegerModel (*model)(const json& vector);
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const WindowVectors& row, std::ostream* out) { *out << row.op; }

QuantParams quant_of(const json& tensor) {
  return quant(tensor.at("scale"), tensor.at("zero_point"));
}

IntegerModel conv_model(const json& v) { return model_of(conv_of(v)); }

IntegerModel depthwise_conv_model(const json& v) {
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
  return depthwise_model(c);
}

IntegerModel transpose_conv_model(const json& v) { return transposed_model(transposed_of(v)); }

IntegerModel pool_model(const json& v) {
  const json& a = v.at("attributes");
  const json& x = v.at("inputs")[0];
  Pooling p;
  p.code = v.at("op") == "MAX_POOL_2D" ? OpCode::max_pool_2d : OpCode::average_pool_2d;
  p.image = x.at("shape").get<std::vector<std::int32_t>>();
  p.grid = quant_of(x);
  p.attributes = {.padding = a.at("padding") == "SAME" ? Padding::same : Padding::valid,
                  .stride_h = a.at("stride")[0],
                  .stride_w = a.at("stride")[1],
                  .filter_h = a.at("filter")[0],
                  .filter_w = a.at("filter")[1],
                  .activation = activation_of(a)};
  return model_of(p);
}

IntegerModel mean_model(const json& v) {
  Mean m;
  m.image = v.at("inputs")[0].at("shape").get<std::vector<std::int32_t>>();
  m.axes = v.at("attributes").at("axes").get<std::vector<std::int32_t>>();
  m.keep_dims = v.at("attributes").at("keep_dims");
  m.in = quant_of(v.at("inputs")[0]);
  m.out = quant_of(v.at("output"));
  return model_of(m);
}

IntegerModel padding_model(const json& v) {
  const json& x = v.at("inputs")[0];
  const json& a = v.at("attributes");
  std::optional<float> border;
  if (v.at("op") == "PADV2") border = a.at("value").get<float>();
  return pad_model(x.at("shape"), a.at("paddings"), quant_of(x), DType::int8, border);
}

class WindowVectorsOf : public ::testing::TestWithParam<WindowVectors> {};

TEST_P(WindowVectorsOf, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  int compared = 0;
  for_vectors(root, GetParam().op, [&](const json& v, Rounding rounding, const auto& expected) {
    Interpreter interpreter(GetParam().model(v), {.rounding = rounding});
    EXPECT_EQ((run<std::int8_t, std::int8_t>(interpreter, input_of(v))), expected)
        << v.at("id") << " " << to_string(rounding);
    ++compared;
  });
  EXPECT_EQ(compared, GetParam().count);
}

INSTANTIATE_TEST_SUITE_P(, WindowVectorsOf,
                         ::testing::Values(
                             // LiteRT.js refuses a convolution without bias; TFLite Micro ends a
                             // program without one in a depthwise convolution.
                             WindowVectors{"CONV_2D", 2 * 25 - 1, conv_model},
                             WindowVectors{"DEPTHWISE_CONV_2D", 2 * 17 - 1, depthwise_conv_model},
                             WindowVectors{"TRANSPOSE_CONV", 2 * 8, transpose_conv_model},
                             WindowVectors{"AVERAGE_POOL_2D", 2 * 11, pool_model},
                             WindowVectors{"MAX_POOL_2D", 2 * 6, pool_model},
                             WindowVectors{"MEAN", 2 * 18, mean_model},
                             WindowVectors{"PAD", 2 * 5, padding_model},
                             WindowVectors{"PADV2", 2 * 5, padding_model}),
                         [](const auto& test) { return test.param.op; });

}  // namespace
}  // namespace octet::test::window_vectors_test
