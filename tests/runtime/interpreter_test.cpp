#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace octet::test::interpreter_test {
namespace {

TEST(Interpreter, TakesItsContractFromTheModel) {
  IntegerModel model = make_mlp(1, {4, 3}, false, false);
  EXPECT_EQ(Interpreter(model).rounding(), Rounding::fp32);
  model.metadata["octet.rounding"] = "double";
  EXPECT_EQ(Interpreter(model).rounding(), Rounding::double_rounding);
  EXPECT_EQ(Interpreter(model, {.rounding = Rounding::single_rounding}).rounding(),
            Rounding::single_rounding);
  model.metadata.erase("octet.rounding");
  EXPECT_EQ(Interpreter(model).rounding(), Rounding::fp32);
  model.metadata["octet.rounding"] = "up";
  EXPECT_THROW(Interpreter{model}, FormatError);
}

TEST(Interpreter, KeepingTensorsChangesNoResult) {
  const IntegerModel model = make_mlp(8, {40, 30, 20, 10}, false, true);
  Interpreter lean(model, {.batch = 9});
  Interpreter keeping(model, {.batch = 9, .keep_tensors = true});
  EXPECT_LT(lean.arena_bytes(), keeping.arena_bytes());
  std::vector<float> x(360);
  Draw draw(8);
  for (float& value : x) value = draw.uniform(0, 1);
  EXPECT_EQ((run<float, float>(lean, x)), (run<float, float>(keeping, x)));
  EXPECT_EQ(keeping.tensor_bytes(4).size(), 270U);
  EXPECT_THROW(lean.tensor_bytes(4), InvalidArgument);
  EXPECT_THROW(lean.tensor_bytes(-1), InvalidArgument);
  EXPECT_THROW(lean.tensor_bytes(1000), InvalidArgument);
}

TEST(Interpreter, AFileGivesTheSameNumbersAsTheModelInMemory) {
  IntegerModel model = make_mlp(9, {20, 10}, true, true);
  // Limits of codes that a file cannot hold.
  model.tensors[1].quantization.qmin = -127;
  Interpreter memory(model);
  Interpreter file(from_tflite(to_tflite(model)));
  const std::vector<float> x(20, -1.0F);
  EXPECT_EQ((run<float, float>(memory, x)), (run<float, float>(file, x)));
}

TEST(Interpreter, TypedAccessChecksTypeAndIndex) {
  Interpreter interpreter(make_mlp(1, {4, 3}, false, false));
  EXPECT_EQ(interpreter.input<std::int8_t>().size(), 4U);
  EXPECT_THROW(interpreter.input<float>(), InvalidArgument);
  EXPECT_THROW(interpreter.input<std::uint8_t>(), InvalidArgument);
  EXPECT_THROW(interpreter.input<std::int8_t>(1), InvalidArgument);
  EXPECT_THROW(interpreter.output<float>(), InvalidArgument);
  EXPECT_THROW(interpreter.output<std::int8_t>(1), InvalidArgument);
  EXPECT_EQ(interpreter.input_bytes().size(), 4U);
  EXPECT_EQ(interpreter.output_bytes().size(), 3U);
}

TEST(Interpreter, DetailsAreThoseOfTheTfliteInterpreter) {
  RawModelBuilder b;
  b.model.inputs = {
      b.activation("input_1", {1, 784}, DType::uint8, quant(1.0F / 255, 0, DType::uint8))};
  const std::int32_t x =
      b.activation("input_1_int8", {1, 784}, DType::int8, quant(1.0F / 255, -128));
  b.op(OpCode::quantize, {0}, x);
  Draw draw(1);
  const std::int32_t y = add_dense(b, x, {.units = 10, .per_channel = true}, draw);
  b.model.outputs = {y};
  b.model.tensors[3].name = "";
  Interpreter interpreter(b.model);

  const auto inputs = interpreter.get_input_details();
  ASSERT_EQ(inputs.size(), 1U);
  const TensorDetails& input = inputs[0];
  EXPECT_EQ(input.name, "input_1");
  EXPECT_EQ(input.index, 0);
  EXPECT_EQ(input.shape, (std::vector<std::int32_t>{1, 784}));
  EXPECT_EQ(input.shape_signature, (std::vector<std::int32_t>{-1, 784}));
  EXPECT_EQ(to_string(input.dtype), "uint8");
  EXPECT_EQ(double{input.quantization.first}, 0.003921568859368563);
  EXPECT_EQ(input.quantization.second, 0);
  EXPECT_EQ(input.quantization_parameters.scales, std::vector<float>{1.0F / 255});
  EXPECT_EQ(input.quantization_parameters.zero_points, std::vector<std::int32_t>{0});
  EXPECT_EQ(input.quantization_parameters.quantized_dimension, 0);

  EXPECT_EQ(interpreter.get_output_details()[0].index, y);
  const auto all = interpreter.get_tensor_details();
  ASSERT_EQ(all.size(), 4U) << "the unnamed bias is left out";
  const TensorDetails& kernel = all[2];
  EXPECT_EQ(kernel.name, "dense_1/kernel");
  EXPECT_EQ(kernel.quantization, (std::pair<float, std::int32_t>{0.0F, 0}));
  EXPECT_EQ(kernel.quantization_parameters.scales.size(), 10U);
  EXPECT_EQ(kernel.quantization_parameters.zero_points, std::vector<std::int32_t>(10));
  EXPECT_EQ(kernel.quantization_parameters.quantized_dimension, 0);
  EXPECT_EQ(kernel.shape_signature, kernel.shape);

  interpreter.resize_batch(5);
  EXPECT_EQ(interpreter.get_input_details()[0].shape, (std::vector<std::int32_t>{5, 784}));
  EXPECT_EQ(interpreter.get_tensor_details()[2].shape, (std::vector<std::int32_t>{10, 784}));
  EXPECT_THROW(tensor_details(b.model, 5), InvalidArgument);
  EXPECT_THROW(tensor_details(b.model, -1), InvalidArgument);

  const TensorDetails plain = tensor_details(make_mlp(1, {3, 2}, false, true), 0);
  EXPECT_EQ(plain.quantization, (std::pair<float, std::int32_t>{0.0F, 0}));
  EXPECT_TRUE(plain.quantization_parameters.scales.empty());
}

TEST(Interpreter, RefusesWhatIsNotValid) {
  IntegerModel model = make_mlp(1, {4, 3}, false, false);
  model.outputs = {77};
  EXPECT_THROW(Interpreter{model}, FormatError);
  EXPECT_THROW(Interpreter(std::shared_ptr<const IntegerModel>()), InvalidArgument);
  EXPECT_THROW(Interpreter(make_mlp(1, {4, 3}, false, false), {.batch = 0}), InvalidArgument);
}

TEST(Predict, TakesTheFirstOfTheLargestAndFillsTheLastBatch) {
  // Two classes from two inputs: y = x.
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2}, DType::float32)};
  b.model.outputs = {b.activation("y", {1, 2}, DType::int8, quant(0.5F, 0))};
  b.op(OpCode::quantize, {0}, 1);
  Interpreter interpreter(b.model, {.batch = 2});
  const std::vector<float> rows{0, 1, 1, 0, 3, 3, -1, 2, 1, 1};
  EXPECT_EQ(interpreter.predict(rows), (std::vector<std::int32_t>{1, 0, 0, 1, 0}));
  EXPECT_TRUE(interpreter.predict({}).empty());
  EXPECT_THROW(interpreter.predict(std::vector<float>(3)), InvalidArgument);
}

TEST(Predict, OfBytesIsThatOfTheirFloats) {
  const std::size_t samples = 7;
  std::vector<std::uint8_t> bytes(samples * 256);
  std::vector<float> reals;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
    reals.push_back(static_cast<float>(bytes[i]) / 255.0F);
  }
  // Steps of 1 / 255 and others, and inputs that take no codes of int8.
  for (const float scale : {1.0F / 255.0F, 0.007F}) {
    for (const DType dtype : {DType::int8, DType::uint8, DType::float32}) {
      RawModelBuilder b;
      const bool floats = dtype == DType::float32;
      const std::int32_t zero_point = dtype == DType::int8 ? -128 : 0;
      b.model.inputs = {floats
                            ? b.activation("x", {1, 256}, dtype)
                            : b.activation("x", {1, 256}, dtype, quant(scale, zero_point, dtype))};
      b.model.outputs = b.model.inputs;
      Interpreter from_reals(b.model, {.batch = 3});
      Interpreter from_bytes(b.model, {.batch = 3});
      EXPECT_EQ(from_bytes.predict_bytes(bytes), from_reals.predict(reals));
      const auto expected = from_reals.input_bytes();
      EXPECT_TRUE(std::ranges::equal(from_bytes.input_bytes(), expected)) << scale;
      EXPECT_TRUE(from_bytes.predict_bytes({}).empty());
      EXPECT_THROW(from_bytes.predict_bytes(std::span(bytes).first(255)), InvalidArgument);
    }
  }
}

TEST(Predict, QuantizesAsTheInputAsks) {
  for (const DType dtype : {DType::int8, DType::uint8}) {
    RawModelBuilder b;
    const std::int32_t zero_point = dtype == DType::int8 ? -10 : 118;
    b.model.inputs = {b.activation("x", {1, 3}, dtype, quant(0.5F, zero_point, dtype))};
    b.model.outputs = b.model.inputs;
    Interpreter interpreter(b.model);
    EXPECT_EQ(interpreter.predict(std::vector<float>{-1000, 2.5F, 2.0F}),
              std::vector<std::int32_t>{1});
    const auto bytes = interpreter.output_bytes();
    const auto code = [&](std::size_t i) {
      return dtype == DType::int8 ? std::to_integer<std::int8_t>(bytes[i])
                                  : std::to_integer<std::int32_t>(bytes[i]) - 128;
    };
    EXPECT_EQ(code(0), -128);
    EXPECT_EQ(code(1), -5);
    EXPECT_EQ(code(2), -6);
  }
}

TEST(Interpreter, SaysThatItWasMovedFrom) {
  Interpreter first(make_mlp(1, {4, 3}, false, false));
  Interpreter second(std::move(first));
  // NOLINTBEGIN(bugprone-use-after-move): what this is about.
  const std::vector<std::function<void()>> uses = {[&] { first.invoke(); },
                                                   [&] { first.resize_batch(2); },
                                                   [&] { first.input_bytes(); },
                                                   [&] { first.predict(std::vector<float>(4)); },
                                                   [&] { first.get_input_details(); },
                                                   [&] { first.model(); }};
  // NOLINTEND(bugprone-use-after-move)
  for (const auto& use : uses) {
    EXPECT_THAT(use, ::testing::ThrowsMessage<InvalidArgument>(
                         ::testing::HasSubstr("found one that was moved from")));
  }
  second.invoke();
}

}  // namespace
}  // namespace octet::test::interpreter_test
