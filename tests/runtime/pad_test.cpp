#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/runtime/window_models.h>
#include <octet_test_paths.h>

#include <fstream>

namespace octet::test::pad_test {
namespace {

using nlohmann::json;
using Paddings = std::vector<std::array<std::int32_t, 2>>;

std::vector<std::int8_t> padded(const IntegerModel& model, const std::vector<std::int8_t>& x,
                                Index batch = 1) {
  Interpreter interpreter(model, {.batch = batch});
  return run<std::int8_t, std::int8_t>(interpreter, x);
}

TEST(Pad, IsTheOracleForAnyRank) {
  Draw draw(11);
  for (int round = 0; round < 200; ++round) {
    const IntegerModel model = draw_pad(draw, round % 2 == 0 ? OpCode::pad : OpCode::padv2);
    const auto size = static_cast<std::size_t>(model.tensors[0].size());
    const auto x = random_codes(2 * size, draw);
    std::vector<std::int8_t> expected;
    for (std::size_t sample = 0; sample < 2; ++sample) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(sample * size);
      const auto y = naive_pad(model, {first, first + static_cast<std::ptrdiff_t>(size)});
      expected.insert(expected.end(), y.begin(), y.end());
    }
    ASSERT_EQ(padded(model, x, 2), expected) << round;
  }
}

TEST(Pad, OfFloatsIsZero) {
  const IntegerModel model =
      pad_model({1, 2}, {{0, 0}, {1, 2}}, QuantParams{{}, {}, 0, 0, 0}, DType::float32);
  Interpreter interpreter(model);
  EXPECT_EQ((run<float, float>(interpreter, {3, -4})), (std::vector<float>{0, 3, -4, 0, 0}));
}

TEST(PadV2, OfFloatsIsItsValue) {
  const IntegerModel model =
      pad_model({1, 2}, {{0, 0}, {1, 2}}, QuantParams{{}, {}, 0, 0, 0}, DType::float32, 0.3F);
  Interpreter interpreter(model);
  EXPECT_EQ((run<float, float>(interpreter, {3, -4})),
            (std::vector<float>{0.3F, 3, -4, 0.3F, 0.3F}));
}

TEST(PadVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  for (const std::string op : {"PAD", "PADV2"}) {
    int compared = 0;
    for_vectors(root, op, [&](const json& v, Rounding /*rounding*/, const auto& expected) {
      const json& x = v.at("inputs")[0];
      const json& a = v.at("attributes");
      std::optional<float> border;
      if (op == "PADV2") border = a.at("value").get<float>();
      const IntegerModel model =
          pad_model(x.at("shape"), a.at("paddings"), quant(x.at("scale"), x.at("zero_point")),
                    DType::int8, border);
      EXPECT_EQ(padded(model, input_of(v)), expected) << v.at("id");
      ++compared;
    });
    EXPECT_EQ(compared, 2 * 5) << op;
  }
}

TEST(PadV2, RefusesAValueByName) {
  const IntegerModel good = pad_model({1, 3}, {{0, 0}, {1, 2}}, quant(0.5F, 3), DType::int8, 5.0F);
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  refuse([](IntegerModel& m) { m.operators[0].inputs[2] = 0; },
         "expected its value as a constant of one int8, found 'x' of int8, shape [1, 3]");
  refuse([](IntegerModel& m) { m.operators[0].inputs[2] = 1; }, "found 'paddings' of int32");
  refuse(
      [](IntegerModel& m) {
        m.tensors[3].shape = {2};
        m.tensors[3].data.resize(2);
      },
      "shape [2]");
  refuse([](IntegerModel& m) { m.tensors[3].quantization.zero_points = {4}; },
         "value 'value' and output need the same scale and zero point");
  refuse([](IntegerModel& m) { m.operators[0].inputs[2] = -1; }, "input 2 is absent");
}

TEST(Pad, RefusesOperandsByName) {
  const IntegerModel good = pad_model({1, 3, 2}, {{0, 0}, {1, 2}, {0, 1}}, quant(0.5F, 3));
  const auto refuse = [&](auto&& change, const std::string& part) {
    expect_operator_refuses(good, change, part);
  };
  const auto padding = [](std::size_t i, std::int32_t value) {
    return [i, value](IntegerModel& m) {
      std::memcpy(m.tensors[1].data.data() + 4 * i, &value, sizeof value);
    };
  };
  refuse([](IntegerModel& m) { m.tensors[1].shape = {2, 3}; }, "an int32 constant [3, 2]");
  refuse([](IntegerModel& m) { m.tensors[1].dtype = DType::float32; }, "of float32");
  refuse(padding(2, -1), "paddings -1 and 2 of axis 1");
  refuse(padding(3, 2147483647), "paddings 1 and 2147483647 of axis 1");
  refuse(padding(2, 2), "expected output shape [1, 7, 3], found [1, 6, 3]");
  refuse([](IntegerModel& m) { m.tensors[2].quantization.zero_points = {4}; },
         "the same single scale");
  refuse([](IntegerModel& m) { m.tensors[0].shape_signature = {1, -1, 2}; }, "axis 1 is the batch");
  refuse([](IntegerModel& m) { m.tensors[2].dtype = DType::uint8; }, "types (int8, int32)");
}

}  // namespace
}  // namespace octet::test::pad_test
