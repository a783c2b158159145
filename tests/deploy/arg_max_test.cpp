// ARG_MAX in every export.

#include <octet/core/error.h>
#include <octet/deploy/layer_codes.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/deploy/tflite_file.h>
#include <octet/tests/runtime/operator_cases.h>
#include <octet/train/evaluate.h>

namespace octet::test::arg_max_test {
namespace {

constexpr std::int32_t kRelu = 19;
constexpr std::int32_t kArgMax = 56;
constexpr std::uint8_t kArgMaxOptions = 40;

DrawnOperator draw_of_int8(Draw& draw) {
  const Largest l = draw_arg_max(draw);
  return drawn_arg_max<std::int8_t>(l, arg_max_model(l));
}

/// Five scores as quantized values, and the place of the largest.
IntegerModel scores_and_class() {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 5}, DType::int8, quant(0.05F, 3));
  const std::int32_t scores = b.activation("scores", {1, 5}, DType::int8, quant(0.1F, -7));
  b.op(OpCode::relu, {x}, scores);
  const QuantParams none{{}, {}, 0, 0, 0};
  const std::int32_t axis = b.constant("axis", {1}, DType::int32, std::vector{-1}, none);
  const std::int32_t label = b.add({"class", DType::int32, {1}, {}, none, {}});
  b.op(OpCode::arg_max, {scores, axis}, label);
  b.model.inputs = {x};
  b.model.outputs = {scores, label};
  return b.model;
}

TEST(ArgMaxExport, TfliteFilesComeBackAsTheyWere) {
  Draw draw(3);
  for (int round = 0; round < 40; ++round) {
    const DrawnOperator op = draw_of_int8(draw);
    const auto bytes = to_tflite(op.model);
    const IntegerModel file = from_tflite(bytes);
    EXPECT_EQ(to_tflite(file), bytes);
    EXPECT_EQ(file.operators.at(0).version, 2);
    EXPECT_EQ(file.operators.at(0).inputs, op.model.operators[0].inputs);
    const Values x = random_inputs(op, draw);
    EXPECT_EQ(interpreted(file, Rounding::fp32, x), op.naive(x, Rounding::fp32));
  }
  const Largest floats = of_type<float>(Largest{});
  EXPECT_EQ(from_tflite(to_tflite(arg_max_model(floats))).operators.at(0).version, 1);
}

/// As converters write it, with an axis and options that say the type of the result.
std::vector<std::uint8_t> file_of(TfliteFile::Type type, const std::vector<std::int32_t>& options,
                                  std::uint8_t options_type = kArgMaxOptions) {
  TfliteFile file;
  file.add(type, {-1, 4});
  file.add(type, {-1, 4});
  const auto axis = file.add_constant(TfliteFile::int32, {}, std::vector<std::int32_t>{1});
  const auto y = file.add(TfliteFile::int32, {-1});
  file.op(kRelu, {0}, {1});
  file.op(kArgMax, {1, axis}, {y}, options_type, options);
  return file.bytes({0}, {y});
}

TEST(ArgMaxExport, CodesOfUint8AreReadAsInt8) {
  Interpreter interpreter(from_tflite(file_of(TfliteFile::uint8, {TfliteFile::int32})));
  const std::vector<std::uint8_t> x{3, 200, 250, 250};
  std::ranges::copy(x, interpreter.input<std::uint8_t>().begin());
  interpreter.invoke();
  EXPECT_EQ(std::as_const(interpreter).output<std::int32_t>()[0], 2);
}

TEST(ArgMaxExport, ResultsOfOtherTypesAreRefusedByName) {
  constexpr std::int32_t kInt64 = 4;
  expect_throws<FormatError>([] { from_tflite(file_of(TfliteFile::int8, {kInt64})); },
                             {"operator 1 (ARG_MAX): expected output_type int32, found int64; "
                              "write tf.argmax(x, axis, output_type=tf.int32)",
                              "--to 't1'"});
  expect_throws<FormatError>([] { from_tflite(file_of(TfliteFile::int8, {}, 0)); },
                             {"operator 1 (ARG_MAX): its options are missing"});
}

TEST(ArgMaxExport, NoLayerIsMadeOfIt) {
  const auto bytes = file_of(TfliteFile::float32, {TfliteFile::int32});
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a.tflite";
  write_file_atomic(path, bytes);
  expect_throws<FormatError>(
      [&] { import_tflite(path); },
      {"operator 1 (ARG_MAX, \"t3\"): nothing trains through it; the "
       "largest output is the same; --to 't1' takes the operators in front"});
  EXPECT_EQ(import_tflite(path, {.to = {"t1"}}).layers().size(), 2U);
}

TEST(ArgMaxExport, OnnxGivesTheInterpretersPlaces) {
  Draw draw(5);
  for (int round = 0; round < 60; ++round) {
    const DrawnOperator op = draw_of_int8(draw);
    const Values x = random_inputs(op, draw);
    const auto places = values_of<std::int32_t>(op.naive(x, Rounding::fp32)[0]);
    for (const OnnxStyle style : {OnnxStyle::exact, OnnxStyle::standard}) {
      const OnnxFile file(to_onnx(op.model, {.style = style, .float_io = false}));
      OnnxEvaluator onnx(file);
      onnx.run(code_input(file, op.model.tensors[0].shape, values_of<std::int8_t>(x[0])));
      EXPECT_EQ(file.outputs.at(0).type, OnnxElement::int32);
      EXPECT_EQ(onnx.value("y").type, OnnxElement::int32);
      EXPECT_EQ(onnx.value("y").values, std::vector<double>(places.begin(), places.end()));
    }
  }
}

/// Both ends are compared by what ARG_MAX reads.
TEST(ArgMaxExport, LayerCodesAreThoseInFrontOfIt) {
  IntegerModel model = scores_and_class();
  model.outputs = {model.outputs[1]};
  InterpretedCodes codes(model);
  ASSERT_EQ(codes.layers().size(), 2U);
  EXPECT_EQ(codes.layers()[codes.output_layers().at(0)].name, "scores");
}

TEST(ArgMaxExport, NoLossIsMeasuredOfClasses) {
  const Largest l{{1, 3}, 1, quant(1.0F, 0)};
  const Dataset data =
      Dataset::from_tensors("d", Tensor::from({1, 3}, {1, 2, 0}), Tensor::from({1, 1}, {1}));
  expect_throws<InvalidArgument>([&] { measure(arg_max_model(l), data, {binary_accuracy()}); },
                                 {"expected outputs that are scores, found \"y\" of int32"});
}

class ArgMaxInC : public CompiledC {};

TEST_F(ArgMaxInC, EqualsTheInterpreter) {
  Draw draw(72);
  std::vector<CCase> cases;
  for (std::uint64_t seed = 0; seed < 14; ++seed) {
    const IntegerModel model = seed == 0 ? scores_and_class() : draw_of_int8(draw).model;
    Bytes x = random_codes(model, 3, seed);
    const unsigned most = seed % 2 == 0 ? 3 : 255;
    for (std::uint8_t& code : x) code = static_cast<std::uint8_t>(code % most);
    cases.push_back({.model = model, .inputs = std::move(x)});
  }
  // One output, twice.
  cases[1].model.outputs.push_back(cases[1].model.outputs[0]);
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O0"})), 0U);
    EXPECT_EQ(driver.differing(compiler, joined(kTrapUndefined, {"-O3"})), 0U);
  }
}

TEST_F(ArgMaxInC, TheHeaderSaysWhatTheClassIs) {
  const CSource source = to_c_source(scores_and_class(), "net");
  EXPECT_EQ(source.caller_bytes, 5 + 5 + 4);
  for (const char* text :
       {"int net_invoke(const int8_t *input, int8_t *output1, int32_t *output2);",
        "output2   \"class\", int32 [1]\n", "#define NET_OUTPUT2_SIZE 1\n",
        "these two alone compute in them, and need a compiler",
        "net_dequantize_output1(const int8_t *codes, float *values);"}) {
    EXPECT_NE(source.header.find(text), std::string::npos) << text;
  }
  for (const char* text : {"OUTPUT2_SCALE", "OUTPUT2_ZERO_POINT", "dequantize_output2"}) {
    EXPECT_EQ(source.header.find(text), std::string::npos) << text;
  }
  const CSource alone = to_c_source(arg_max_model({}), "one");
  EXPECT_NE(alone.header.find("this one alone computes in them, and needs a compiler"),
            std::string::npos);
  for (const CSource& made : {source, alone}) {
    project_.write(made);
    for (const std::string& compiler : c_compilers()) {
      const std::string macro = made.name == "net" ? "NET" : "ONE";
      project_.build(compiler, joined(kStrict, {"-std=c99", "-D" + macro + "_SELFTEST"}), "test",
                     {made.name + ".c"});
      EXPECT_EQ(project_.run("test").exit_code, 0) << made.name;
    }
  }
}

TEST_F(ArgMaxInC, WhatReadsThePlacesIsRefusedByName) {
  IntegerModel model = scores_and_class();
  ModelTensor real = model.tensors[static_cast<std::size_t>(model.outputs[1])];
  real.dtype = DType::float32;
  real.name = "real";
  model.tensors.push_back(real);
  const auto result = static_cast<std::int32_t>(model.tensors.size() - 1);
  model.operators.push_back({.code = OpCode::cast,
                             .inputs = {model.outputs[1]},
                             .outputs = {result},
                             .attributes = NoAttributes{}});
  model.outputs = {result};
  expect_throws<InvalidArgument>([&] { to_c_source(model, "net"); },
                                 {"operator 2 (CAST)", "expected int8 or uint8 all through"});
}

}  // namespace
}  // namespace octet::test::arg_max_test
