// Graphs with forks, ADD and CONCATENATION in every export.

#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/naive_graph.h>

namespace octet::test::graph_export_test {
namespace {

/// Constants alone, rows, several readers of one RESHAPE, and the input at the end again.
IntegerModel make_mixed() {
  Draw draw(4);
  RawModelBuilder b;
  const QuantParams grid = quant(0.05F, 4);
  const std::int32_t x = b.activation("x", {3, 4}, DType::int8, grid);
  b.model.tensors.back().shape_signature.clear();
  b.model.inputs = {x};
  const std::int32_t c = b.constant("c", {1, 12}, DType::int8, random_codes(12, draw), grid);
  const std::int32_t flat = b.activation("flat", {1, 12}, DType::int8, grid);
  b.op(OpCode::reshape, {x}, flat, ReshapeAttributes{.new_shape = {1, 12}});
  const std::int32_t twice = add_add(b, c, c, quant(0.1F, 0));
  const std::int32_t sum = add_add(b, flat, twice, grid, FusedActivation::relu);
  const std::int32_t all = add_concatenation(b, {sum, c, flat, sum});
  DenseSpec spec{.units = 12, .output_scale = 0.3F};
  const std::int32_t y = add_dense(b, all, spec, draw);
  const std::int32_t clamped = b.activation("clamped", {1, 12}, DType::int8, quant(0.3F, 0));
  b.op(OpCode::relu6, {y}, clamped);
  b.model.outputs = {add_add(b, clamped, flat, quant(0.2F, -3))};
  return b.model;
}

/// A branch that nobody reads, and an output that is read on.
IntegerModel make_unread() {
  Draw draw(5);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 9}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  const DenseSpec spec{.units = 9, .output_scale = 0.3F};
  const std::int32_t y = add_dense(b, x, spec, draw);
  const std::int32_t unread = add_dense(b, y, spec, draw);
  add_add(b, unread, y, quant(0.4F, 1));
  b.model.outputs = {y};
  return b.model;
}

std::vector<IntegerModel> graphs(std::uint64_t drawn = 60) {
  std::vector<IntegerModel> models = {make_far_scales(), make_mixed(), make_unread(), make_axes()};
  for (std::uint64_t seed = 0; seed < drawn; ++seed) models.push_back(draw_graph(seed, false));
  for (std::uint64_t seed = 0; seed < drawn / 4; ++seed) {
    models.push_back(draw_rescaling_chain(seed));
  }
  return models;
}

Bytes interpreted_bytes(const IntegerModel& model, std::uint64_t seed) {
  return interpreted({model, Rounding::fp32, random_codes(model, 3, seed)});
}

// ---- .tflite

TEST(GraphExport, TfliteFilesComeBackAsTheyWere) {
  for (const IntegerModel& model : graphs()) {
    const auto bytes = to_tflite(model);
    const IntegerModel again = from_tflite(bytes);
    EXPECT_EQ(to_tflite(again), bytes);
    ASSERT_EQ(again.operators.size(), model.operators.size());
    for (std::size_t i = 0; i < model.operators.size(); ++i) {
      const Operator& op = again.operators[i];
      EXPECT_EQ(op.attributes, model.operators[i].attributes);
      const bool two = op.code == OpCode::add || op.code == OpCode::concatenation;
      EXPECT_TRUE(!two || op.version == 2);
    }
    EXPECT_EQ(interpreted_bytes(again, 1), interpreted_bytes(model, 1));
  }
}

TEST(GraphExport, FloatOperatorsHaveTheFirstVersion) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 3}, DType::float32)};
  const std::int32_t sum = b.activation("sum", {1, 3}, DType::float32);
  b.op(OpCode::add, {0, 0}, sum, BinaryAttributes{.activation = FusedActivation::relu6});
  const std::int32_t all = b.activation("all", {1, 6}, DType::float32);
  b.op(OpCode::concatenation, {sum, 0}, all, ConcatenationAttributes{.axis = 1});
  b.model.outputs = {all};
  const IntegerModel again = from_tflite(to_tflite(b.model));
  EXPECT_EQ(again.operators[0].version, 1);
  EXPECT_EQ(again.operators[1].version, 1);
  Interpreter interpreter(again);
  const std::vector<float> x = {-1, 2, 4};
  EXPECT_EQ((run<float, float>(interpreter, x)), (std::vector<float>{0, 4, 6, -1, 2, 4}));
}

// ---- C

TEST_F(CompiledC, GraphsEqualTheInterpreter) {
  std::vector<CCase> cases;
  std::uint64_t seed = 0;
  for (const IntegerModel& model : graphs(16)) {
    for (const Rounding rounding : kContracts) {
      cases.push_back({model, rounding, random_codes(model, 20, seed++)});
    }
  }
  const CDriver driver(std::move(cases));
  const Words flags = joined(joined(kStrict, kTrapUndefined), {"-std=c99", "-O0"});
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, flags), 0U);
  }
}

TEST(GraphExport, TheArenaOfCSourceIsPlanned) {
  // Two values of 24 bytes are alive at a time at most, of seven: the third lies over one of them.
  Draw draw(1);
  RawModelBuilder b;
  std::int32_t x = b.activation("x", {1, 24}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  const DenseSpec spec{.units = 24, .output_scale = 0.07F};
  for (int i = 0; i < 2; ++i) {
    const std::int32_t a = add_dense(b, x, spec, draw);
    const std::int32_t c = add_dense(b, add_dense(b, a, spec, draw), spec, draw);
    x = add_add(b, c, a, quant(0.1F, 9));
  }
  b.model.outputs = {add_dense(b, x, spec, draw)};
  // Beside them, what a layer works in: a row in 16 bits.
  EXPECT_EQ(to_c_source(b.model, "residual").ram_bytes, 2 * 24 + 2 * 24);
  // The input is read once before there are two.
  const CSource with_input = to_c_source(b.model, "residual", {.input_in_arena = true});
  EXPECT_EQ(with_input.ram_bytes, 2 * 24 + 2 * 24);
  expect_mentions(with_input.header, "int8_t *residual_input_buffer(void);");
}

TEST(GraphExport, CSourceLeavesOutWhatNobodyReads) {
  const CSource source = to_c_source(make_unread(), "net");
  EXPECT_EQ(source.macs, 9 * 9);
  EXPECT_EQ(source.ram_bytes, 2 * 12) << "what the layer works in";
}

/// One value that is put out three times, once as it came in and once in another shape.
IntegerModel make_repeated() {
  Draw draw(6);
  RawModelBuilder b;
  const QuantParams grid = quant(0.05F, 4);
  const std::int32_t x = b.activation("x", {1, 6}, DType::int8, grid);
  const std::int32_t z = b.activation("z", {1, 4}, DType::int8, grid);
  b.model.inputs = {x, z};
  const std::int32_t y = add_dense(b, x, {.units = 4, .output_scale = 0.05F}, draw);
  const std::int32_t square = b.activation("square", {2, 2}, DType::int8, quant(0.05F, 0));
  b.model.tensors.back().quantization = b.model.tensors[static_cast<std::size_t>(y)].quantization;
  b.op(OpCode::reshape, {y}, square, ReshapeAttributes{.new_shape = {2, 2}});
  const std::int32_t sum = add_add(b, y, z, grid);
  b.model.outputs = {sum, y, x, square};
  return b.model;
}

TEST_F(CompiledC, GraphsOfSeveralEndsEqualTheInterpreter) {
  std::vector<CCase> cases;
  std::vector<IntegerModel> models = {make_repeated()};
  for (std::uint64_t seed = 0; seed < 16; ++seed) models.push_back(draw_graph(seed, true));
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const Rounding rounding : kContracts) {
      cases.push_back({.model = models[i],
                       .rounding = rounding,
                       .inputs = random_codes(models[i], 20, i),
                       .input_in_arena = rounding != Rounding::fp32});
    }
  }
  const CDriver driver(std::move(cases));
  const Words flags = joined(joined(kStrict, kTrapUndefined), {"-std=c99", "-O0"});
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, flags), 0U);
  }
}

TEST_F(CompiledC, SeveralEndsHaveNamesHelpersAndASelfTest) {
  const IntegerModel model = make_repeated();
  const std::vector<float> samples(2 * (6 + 4), 0.5F);
  const CSource source = to_c_source(model, "net", {.self_test_inputs = samples});
  for (const char* expected :
       {" *   input2    \"z\", int8 [1, 4]", "#define NET_INPUT2_SIZE 4\n",
        "#define NET_OUTPUT4_SHAPE {2, 2}\n", "INPUT1_SIZE and INPUT2_SIZE quantized values in",
        "int net_invoke(const int8_t *input1, const int8_t *input2, int8_t *output1, ",
        ", int8_t *output2, int8_t *output3, int8_t *output4);\n",
        "int net_quantize_input2(const float *values, int8_t *codes);\n",
        "int net_dequantize_output4(const int8_t *codes, float *values);\n"}) {
    EXPECT_NE(source.header.find(expected), std::string::npos) << expected << source.header;
  }
  EXPECT_NE(source.source.find("net_golden_input2[2][4]"), std::string::npos);
  project_.write(source);
  for (const std::string& compiler : c_compilers()) {
    for (const char* standard : {"-std=c99", "-std=c++17"}) {
      const Words flags = joined(kStrict, {standard, "-DNET_SELFTEST"});
      const bool is_cpp = std::string(standard).find("++") != std::string::npos;
      project_.build(compiler, is_cpp ? joined({"-x", "c++"}, flags) : flags, "net", {"net.c"});
      EXPECT_EQ(project_.run("net").exit_code, 0);
    }
  }
}

// ---- ONNX

OnnxTensor codes_input(const IntegerModel& model, const Bytes& codes) {
  const auto& shape = model.tensors[static_cast<std::size_t>(model.inputs[0])].shape;
  OnnxTensor input{OnnxElement::int8, {shape.begin(), shape.end()}, {}};
  for (const std::uint8_t byte : codes) input.values.push_back(static_cast<std::int8_t>(byte));
  return input;
}

TEST(GraphExport, ExactOnnxGivesTheInterpretersCodes) {
  std::uint64_t seed = 0;
  for (const IntegerModel& model : graphs()) {
    const OnnxFile file(to_onnx(model, {.float_io = false}));
    const Bytes codes = random_codes(model, 1, seed++);
    OnnxEvaluator onnx(file);
    onnx.run(codes_input(model, codes));
    Interpreter interpreter(model, {.rounding = Rounding::fp32, .keep_tensors = true});
    std::memcpy(interpreter.input_bytes().data(), codes.data(), codes.size());
    interpreter.invoke();
    for (std::int32_t i = 0; i < std::ssize(model.tensors); ++i) {
      const ModelTensor& t = model.tensors[static_cast<std::size_t>(i)];
      if (t.is_constant()) continue;
      std::vector<double> expected;
      for (const std::byte b : interpreter.tensor_bytes(i)) {
        expected.push_back(static_cast<std::int8_t>(b));
      }
      EXPECT_EQ(onnx.value(t.name).values, expected) << seed << " " << t.name;
    }
  }
}

TEST(GraphExport, StandardOnnxAddsReals) {
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 3}, DType::int8, quant(0.5F, 0)),
                    b.activation("y", {1, 3}, DType::int8, quant(0.25F, 7))};
  const std::int32_t sum = add_add(b, 0, 1, quant(0.5F, -128), FusedActivation::relu6);
  b.model.outputs = {add_concatenation(b, {sum, sum})};
  const OnnxFile file(to_onnx(b.model, {.style = OnnxStyle::standard, .float_io = false}));
  EXPECT_EQ(file.ops(), (std::vector<std::string>{"DequantizeLinear", "DequantizeLinear", "Add",
                                                  "Clip", "QuantizeLinear", "Concat"}));
  EXPECT_EQ(file.nodes.back().attributes.at("axis"), 1);
}

// Ten minutes, after which the test is stopped, where every name tries all that are taken.
TEST(GraphExport, ManyEqualNamesAndInputsTakeNoSquareTime) {
  constexpr std::int32_t kInputs = 100000;
  RawModelBuilder b;
  const QuantParams grid = quant(0.05F, 4);
  for (int i = 0; i < kInputs; ++i) {
    b.model.inputs.push_back(b.activation("same", {1, 1}, DType::int8, grid));
  }
  b.model.outputs = {add_add(b, 0, kInputs - 1, grid)};
  const OnnxFile file(to_onnx(b.model, {.float_io = false}));
  EXPECT_EQ(file.inputs.size(), std::size_t{kInputs});
  EXPECT_EQ(file.inputs.back().name, "same_99999");
}

}  // namespace
}  // namespace octet::test::graph_export_test
