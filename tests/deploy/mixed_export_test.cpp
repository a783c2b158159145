#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/layers/add.h>
#include <octet/layers/embedding.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/deploy/lowered.h>
#include <octet/tests/deploy/onnx_evaluator.h>

#include <algorithm>
#include <utility>

// Models of which a part stays in float, in the exports.

namespace octet::test::mixed_export_test {
namespace {

using test::OnnxElement;
using test::OnnxEvaluator;
using test::OnnxFile;
using test::OnnxTensor;

/// Integers in front and a float part behind them.
IntegerModel with_float_end() {
  return lower(calibrated(build_model(Input({4}, "x"), Dense(6, Activation::relu, "a"),
                                      Dense(5, Activation::none, "b"),
                                      in_float(Dense(3, Activation::softmax, "c")))));
}

/// A float part between integers, read by two layers.
Model with_float_middle() {
  Model model("middle");
  const Value x = model.input({4}, "x");
  const Value a = model.add(in_float(Dense(5, Activation::relu, "a")), x);
  const Value b = model.add(Dense(3, Activation::none, "b"), a);
  const Value c = model.add(Dense(3, Activation::none, "c"), a);
  model.output(model.add(Add(Activation::none, "sum"), {b, c}));
  model.build(2);
  Model quantized = quantize_model(model);
  calibrate(quantized, random_tensor({32, 4}, 1));
  return quantized;
}

TEST(MixedExport, WritesConversionsWhereFloatsBeginAndEndAndNowhereElse) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(operator_lines(with_float_end()),
            (Lines{"FULLY_CONNECTED a", "FULLY_CONNECTED b", "DEQUANTIZE b/real",
                   "FULLY_CONNECTED c/linear", "SOFTMAX c"}));
  // One QUANTIZE for both that read the float layer.
  const Model middle = with_float_middle();
  EXPECT_EQ(operator_lines(lower(middle)),
            (Lines{"DEQUANTIZE x/real", "FULLY_CONNECTED a", "QUANTIZE quantize_layer_1",
                   "FULLY_CONNECTED b", "FULLY_CONNECTED c", "ADD sum"}));
  EXPECT_EQ(operator_lines(lower(middle, {.input = IoType::float32, .output = IoType::float32})),
            (Lines{"QUANTIZE quantize_layer", "DEQUANTIZE quantize_layer/real", "FULLY_CONNECTED a",
                   "QUANTIZE quantize_layer_1", "FULLY_CONNECTED b", "FULLY_CONNECTED c", "ADD sum",
                   "DEQUANTIZE sum/real"}));
}

TEST(MixedExport, AnEndInFloatIsFloatWhateverTheOptionsAsk) {
  Sequential model = calibrated(
      build_model(Input({4}), Dense(3, Activation::none, "a"), in_float(Softmax("soft"))));
  for (const IoType type : {IoType::int8, IoType::uint8, IoType::float32}) {
    const IntegerModel lowered = lower(model, {.output = type});
    EXPECT_EQ(tensor_of(lowered, lowered.outputs[0]).dtype, DType::float32);
    EXPECT_EQ(lowered.operators.back().code, OpCode::softmax);
  }
}

TEST(MixedExport, OnnxComputesTheSame) {
  for (const OnnxStyle style : {OnnxStyle::exact, OnnxStyle::standard}) {
    const IntegerModel model = with_float_end();
    const OnnxFile file(to_onnx(model, {.style = style, .float_io = false}));
    std::vector<std::int8_t> codes;
    for (int i = 0; i < 36; ++i) codes.push_back(static_cast<std::int8_t>((i * 37) % 256 - 128));
    OnnxEvaluator onnx(file);
    onnx.run(code_input(file, std::vector<std::int32_t>{9, 4}, codes));
    Interpreter interpreter(model, {.batch = 9, .keep_tensors = true});
    std::ranges::copy(codes, interpreter.input<std::int8_t>().begin());
    interpreter.invoke();
    const auto& found = onnx.value(file.outputs[0].name).values;
    const auto expected = interpreter.output<float>();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
  }
}

TEST(MixedExport, OnnxLooksUpTheRowsOfATable) {
  const Sequential net = build_model(Input({7}), Embedding(20, 4, "words"), Flatten(), Dense(3));
  Sequential quantized = quantize_model(net);
  Tensor x = Tensor::zeros({2, 7});
  for (std::size_t i = 0; i < 14; ++i) x.mutable_span()[i] = static_cast<float>(i * 9 % 20) + 0.9F;
  x.mutable_span()[5] = -0.9F;
  calibrate(quantized, x);
  const OnnxTensor input{OnnxElement::float32, {2, 7}, {x.span().begin(), x.span().end()}};
  for (const OnnxStyle style : {OnnxStyle::exact, OnnxStyle::standard}) {
    for (const IntegerModel& model : {lower(quantized), lower_float(net)}) {
      const OnnxFile file(to_onnx(model, {.style = style, .float_io = false}));
      const auto ops = file.ops();
      EXPECT_EQ(ops.at(0), "Cast");
      EXPECT_EQ(std::ranges::count(ops, "Gather"), 1);
      OnnxEvaluator onnx(file);
      onnx.run(input);
      Interpreter interpreter(model, {.batch = 2});
      std::ranges::copy(x.span(), interpreter.input<float>().begin());
      interpreter.invoke();
      const OnnxTensor& found = onnx.value(file.outputs[0].name);
      if (found.type == OnnxElement::float32) {
        const auto expected = std::as_const(interpreter).output<float>();
        ASSERT_EQ(found.values.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_NEAR(found.values[i], expected[i], 1e-5);
        }
      } else {
        const auto expected = std::as_const(interpreter).output<std::int8_t>();
        EXPECT_EQ(int8_codes(found), (std::vector<double>{expected.begin(), expected.end()}));
      }
    }
  }
}

TEST(MixedExport, CSourceRefusesFloatsByName) {
  expect_error([] { to_c_source(with_float_end(), "net"); },
               "operator 2 (DEQUANTIZE): tensor \"b/real\" is float32, expected int8 or uint8 all "
               "through");
  expect_error([] { to_c_source(lower(with_float_middle()), "net"); },
               "operator 0 (DEQUANTIZE): tensor \"x/real\" is float32");
}

}  // namespace
}  // namespace octet::test::mixed_export_test
