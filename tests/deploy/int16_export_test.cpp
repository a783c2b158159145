#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/packed_weights.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/packed_models.h>

namespace octet::test::int16_export_test {
namespace {

IntegerModel model_with(OpCode code, std::uint64_t seed, int bits = 8) {
  return as_int16(few_bits_model({.code = code, .bits = bits}, seed));
}

TEST(Int16Export, FilesHaveTheVersionsOfInt16AndBiasesOfInt64) {
  const std::vector<std::pair<OpCode, int>> versions{
      {OpCode::fully_connected, 7}, {OpCode::conv_2d, 4}, {OpCode::depthwise_conv_2d, 5}};
  for (const auto& [code, version] : versions) {
    const IntegerModel model = model_with(code, 1);
    const IntegerModel again = from_tflite(to_tflite(model));
    EXPECT_EQ(again.operators[0].version, version) << to_string(code);
    ASSERT_EQ(again.tensors.size(), model.tensors.size());
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      EXPECT_EQ(again.tensors[i].dtype, model.tensors[i].dtype);
      EXPECT_EQ(again.tensors[i].data, model.tensors[i].data);
      EXPECT_EQ(again.tensors[i].quantization, model.tensors[i].quantization) << i;
    }
    EXPECT_EQ(again.tensors[static_cast<std::size_t>(again.operators[0].inputs[2])].dtype,
              DType::int64);
    EXPECT_EQ(to_tflite(again), to_tflite(model));
    EXPECT_EQ(rounding_of(again), Rounding::q15);
  }
}

TEST(Int16Export, EndsInFloatHaveTheVersionsOfInt16) {
  const IntegerModel again = from_tflite(to_tflite(int16_mlp(make_mlp(1, {5, 3}, false, true))));
  EXPECT_EQ(again.operators.front().code, OpCode::quantize);
  EXPECT_EQ(again.operators.front().version, 2);
  EXPECT_EQ(again.operators.back().code, OpCode::dequantize);
  EXPECT_EQ(again.operators.back().version, 3);
}

/// TFLite Micro and tfjs-tflite take no packed weights beside int16.
TEST(Int16Export, WeightsAreNotPacked) {
  for (const OpCode code : {OpCode::fully_connected, OpCode::conv_2d, OpCode::depthwise_conv_2d}) {
    EXPECT_EQ(stored_bits(pack_weights(model_with(code, 2, 2))), 8) << to_string(code);
  }
}

TEST(Int16Export, OthersRefuseItByName) {
  const IntegerModel model = model_with(OpCode::conv_2d, 3);
  expect_throws<InvalidArgument>([&] { to_c_source(model, "net"); }, {"q15"});
  expect_throws<InvalidArgument>(
      [&] { to_c_source(few_bits_model({}, 3), "net", {.rounding = Rounding::q15}); }, {"q15"});
  expect_throws<InvalidArgument>([&] { to_onnx(model); }, {"int16"});
}

}  // namespace
}  // namespace octet::test::int16_export_test
