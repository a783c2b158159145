// Weights of float16, and of int8 beside activations of float32, as the TensorFlow converter writes
// them: files of ours whose tensors say another type.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/half.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/models.h>

#include <cstring>

namespace octet::test::tflite_weights_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int8_t kFloat32 = 0;
constexpr std::int8_t kFloat16 = 1;

/// Says of tensor `name` that it is of another type.
void retype(Bytes& file, const std::string& name, std::int8_t type) {
  const RawTable graph = RawTable::root(file).tables(model_field::subgraphs)[0];
  for (const RawTable& tensor : graph.tables(graph_field::tensors)) {
    if (tensor.text(tensor_field::name) != name) continue;
    std::memcpy(file.data() + tensor.place(tensor_field::type), &type, sizeof(type));
    return;
  }
  FAIL() << name;
}

const ModelTensor& named(const IntegerModel& model, const std::string& name) {
  for (const ModelTensor& tensor : model.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw InvalidArgument("no tensor " + name);
}

const std::vector<std::int16_t> kHalves = {0x3C00, -0x4000, 0x3555};

/// x [1, 3] + DEQUANTIZE(w16 [1, 3]), w16 of float16.
Bytes with_halves() {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 3}, DType::float32);
  const std::int32_t w16 =
      b.constant("w16", {1, 3}, DType::int16, kHalves, quant(1.0F, 0, DType::int16));
  const std::int32_t w = b.activation("w", {1, 3}, DType::float32);
  const std::int32_t y = b.activation("y", {1, 3}, DType::float32);
  b.op(OpCode::dequantize, {w16}, w);
  b.op(OpCode::add, {x, w}, y);
  b.model.inputs = {x};
  b.model.outputs = {y};
  Bytes file = to_tflite(b.model);
  retype(file, "w16", kFloat16);
  return file;
}

TEST(TfliteWeights, OfFloat16AreFloat32) {
  const IntegerModel model = from_tflite(with_halves());
  ASSERT_EQ(model.operators.size(), 1U);
  EXPECT_EQ(model.operators[0].code, OpCode::add);
  EXPECT_EQ(named(model, "w").dtype, DType::float32);
  const Tensor y = import_float_model(model).forward(Tensor::zeros({1, 3}));
  for (Index i = 0; i < 3; ++i) {
    const auto half = static_cast<std::uint16_t>(kHalves[static_cast<std::size_t>(i)]);
    EXPECT_EQ(y.at({0, i}), detail::float_of_half(half)) << i;
  }
}

TEST(TfliteWeights, OfFloat16ThatAreCutOffAreRefused) {
  Bytes file = with_halves();
  const RawTable graph = RawTable::root(file).tables(model_field::subgraphs)[0];
  for (const RawTable& tensor : graph.tables(graph_field::tensors)) {
    if (tensor.text(tensor_field::name) != "w16") continue;
    const std::int32_t rows = 2;
    std::memcpy(file.data() + tensor.start_of_values(tensor_field::shape), &rows, sizeof(rows));
  }
  expect_throws<FormatError>([&] { from_tflite(file); },
                             {"'w16'", "6 bytes", "[2, 3] of float16 needs 12"});
}

/// x [1, 3] by int8 weights [2, 3], which have one scale or two, and a bias of float32.
Bytes hybrid(const std::vector<float>& scales) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 3}, DType::int8, quant(1.0F, 0));
  QuantParams params = quant(scales[0], 0);
  params.scales = scales;
  params.zero_points.assign(scales.size(), 0);
  const std::int32_t w = b.constant("w", {2, 3}, DType::int8,
                                    std::vector<std::int8_t>{1, -2, 3, 127, -127, 0}, params);
  const std::int32_t bias =
      b.constant("b", {2}, DType::int32, std::vector<float>{0.5F, -0.25F}, params);
  const std::int32_t y = b.activation("y", {1, 2}, DType::int8, quant(1.0F, 0));
  b.op(OpCode::fully_connected, {x, w, bias}, y);
  b.model.inputs = {x};
  b.model.outputs = {y};
  Bytes file = to_tflite(b.model);
  for (const char* name : {"x", "b", "y"}) retype(file, name, kFloat32);
  return file;
}

TEST(TfliteWeights, OfInt8BesideFloatsAreImportedAsFloats) {
  for (const std::vector<float>& scales : {std::vector{0.5F}, std::vector{0.5F, 0.25F}}) {
    const Bytes file = hybrid(scales);
    expect_throws<FormatError>([&] { from_tflite(file); }, {"FULLY_CONNECTED", "float32"});
    const Model model = import_float_model(from_tflite(file, {.hybrid = HybridWeights::as_floats}));
    const Tensor y = model.forward(Tensor::from({1, 3}, std::vector<float>{1.0F, 2.0F, 3.0F}));
    EXPECT_FLOAT_EQ(y.at({0, 0}), 0.5F * (1.0F - 4.0F + 9.0F) + 0.5F);
    EXPECT_FLOAT_EQ(y.at({0, 1}), scales.back() * (127.0F - 254.0F) - 0.25F);
  }
}

}  // namespace
}  // namespace octet::test::tflite_weights_test
