#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/models.h>
#include <unistd.h>

#include <filesystem>

namespace octet::test::tflite_test {
namespace {

/// The parts of a model that a file keeps: the rest (a version below the required one, the limits
/// of narrow codes) is derived.
void expect_equal(const IntegerModel& a, const IntegerModel& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_EQ(a.tensors[i].name, b.tensors[i].name);
    EXPECT_EQ(a.tensors[i].dtype, b.tensors[i].dtype);
    EXPECT_EQ(a.tensors[i].shape, b.tensors[i].shape);
    EXPECT_EQ(a.tensors[i].shape_signature, b.tensors[i].shape_signature);
    EXPECT_EQ(a.tensors[i].quantization, b.tensors[i].quantization) << i;
    EXPECT_EQ(a.tensors[i].data, b.tensors[i].data);
  }
  ASSERT_EQ(a.operators.size(), b.operators.size());
  for (std::size_t i = 0; i < a.operators.size(); ++i) {
    EXPECT_EQ(a.operators[i].code, b.operators[i].code);
    EXPECT_EQ(a.operators[i].inputs, b.operators[i].inputs);
    EXPECT_EQ(a.operators[i].outputs, b.operators[i].outputs);
    EXPECT_EQ(a.operators[i].attributes, b.operators[i].attributes);
  }
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.metadata, b.metadata);
}

/// Every operator and every option at a value other than its default.
IntegerModel make_everything() {
  RawModelBuilder b;
  Draw draw(11);
  const std::int32_t bytes =
      b.activation("bytes", {2, 6}, DType::uint8, quant(1.0F / 255, 0, DType::uint8));
  b.model.inputs = {bytes};
  const std::int32_t x = b.activation("x", {2, 6}, DType::int8, quant(1.0F / 255, -128));
  b.op(OpCode::quantize, {bytes}, x);
  const std::int32_t folded = b.activation("folded", {4, 3}, DType::int8, quant(1.0F / 255, -128));
  b.op(OpCode::reshape, {x}, folded, ReshapeAttributes{.new_shape = {-1, 3}});
  DenseSpec spec{.units = 4, .weight_zero_point = 5, .activation = FusedActivation::relu6};
  const std::int32_t d1 = add_dense(b, folded, spec, draw);
  b.model.operators.back().as<FullyConnectedAttributes>().keep_num_dims = true;
  spec = {.units = 5, .per_channel = true, .bias = false};
  const std::int32_t d2 = add_dense(b, d1, spec, draw);
  b.model.operators.back().inputs.push_back(-1);
  const std::int32_t s = b.activation("s", {4, 5}, DType::int8, quant(1.0F / 256, -128));
  b.op(OpCode::softmax, {d2}, s, SoftmaxAttributes{.beta = 0.5F});
  const std::int32_t t = b.activation("t", {4, 5}, DType::int8, quant(1.0F / 128, 0));
  b.op(OpCode::tanh, {s}, t);
  const std::int32_t l = b.activation("l", {4, 5}, DType::int8, quant(1.0F / 256, -128));
  b.op(OpCode::logistic, {t}, l);
  std::int32_t last = l;
  for (const OpCode code : {OpCode::relu, OpCode::relu6, OpCode::relu_n1_to_1}) {
    const std::int32_t y = b.activation("", {4, 5}, DType::int8, quant(0.01F, -3));
    b.op(code, {last}, y);
    last = y;
  }
  const std::int32_t shape = b.constant("shape", {1}, DType::int32, std::vector<std::int32_t>{20});
  const std::int32_t flat = b.activation("flat", {20}, DType::int8, quant(0.01F, -3));
  b.op(OpCode::reshape, {last, shape}, flat, ReshapeAttributes{.new_shape = {20}});
  const std::int32_t y = b.activation("y", {20}, DType::float32);
  b.op(OpCode::dequantize, {flat}, y);
  b.model.outputs = {y, flat};
  b.model.name = "graph";
  b.model.description = "all of it";
  b.model.metadata = {{"octet.rounding", "double"}, {"empty", ""}};
  return b.model;
}

TEST(Tflite, RoundTripKeepsTheModelAndTheBytes) {
  for (const IntegerModel& model :
       {make_everything(), make_mlp(1, {7, 5, 3}, false, true), make_mlp(2, {7, 5, 3}, true, false),
        make_mlp(3, {1, 1}, false, false)}) {
    const auto bytes = to_tflite(model);
    const IntegerModel again = from_tflite(bytes);
    expect_equal(again, model);
    EXPECT_EQ(to_tflite(again), bytes);
    EXPECT_EQ(to_tflite(model), bytes) << "equal models give equal bytes";
  }
}

TEST(Tflite, RandomChainsRoundTrip) {
  Draw draw(5);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::int32_t> sizes;
    for (int layers = draw.between(2, 5); layers > 0; --layers)
      sizes.push_back(draw.between(1, 40));
    const IntegerModel model = make_mlp(static_cast<std::uint64_t>(i), sizes,
                                        draw.between(0, 1) == 1, draw.between(0, 1) == 1);
    const auto bytes = to_tflite(model);
    expect_equal(from_tflite(bytes), model);
    EXPECT_EQ(to_tflite(from_tflite(bytes)), bytes);
  }
}

TEST(Tflite, FilesRoundTrip) {
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("octet_tflite_test_" + std::to_string(::getpid()) + ".tflite");
  const IntegerModel model = make_everything();
  write_tflite(model, path);
  EXPECT_EQ(read_file(path), to_tflite(model));
  expect_equal(read_tflite(path), model);
  std::filesystem::remove(path);
  EXPECT_THROW(read_tflite(path), IoError);
}

TEST(Tflite, AnInvalidModelIsNotWritten) {
  IntegerModel model = make_everything();
  model.outputs[0] = 999;
  EXPECT_THROW(to_tflite(model), FormatError);
}

TEST(Tflite, HeaderAndRootTable) {
  const auto file = to_tflite(make_everything());
  EXPECT_EQ(std::string(file.begin() + 4, file.begin() + 8), "TFL3");
  const RawTable root = RawTable::root(file);
  EXPECT_EQ(root.scalar<std::uint32_t>(model_field::version), 3U);
  EXPECT_EQ(root.text(model_field::description), "all of it");
  ASSERT_EQ(root.tables(model_field::subgraphs).size(), 1U);
  EXPECT_EQ(root.tables(model_field::subgraphs)[0].text(graph_field::name), "graph");
}

TEST(Tflite, BuffersAreAlignedAndTheFirstIsEmpty) {
  const auto file = to_tflite(make_everything());
  const RawTable root = RawTable::root(file);
  const auto buffers = root.tables(model_field::buffers);
  ASSERT_GT(buffers.size(), 4U);
  EXPECT_TRUE(buffers[0].values<std::uint8_t>(0).empty());
  for (std::size_t i = 1; i < buffers.size(); ++i) {
    ASSERT_TRUE(buffers[i].has(0)) << i;
    if (buffers[i].values<std::uint8_t>(0).empty()) continue;
    EXPECT_EQ(buffers[i].start_of_values(0) % 16, 0U) << i;
  }
  const RawTable graph = root.tables(model_field::subgraphs)[0];
  const IntegerModel model = make_everything();
  const auto tensors = graph.tables(graph_field::tensors);
  ASSERT_EQ(tensors.size(), model.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto buffer = tensors[i].scalar<std::uint32_t>(tensor_field::buffer);
    EXPECT_EQ(buffer == 0, !model.tensors[i].is_constant());
    EXPECT_EQ(buffers[buffer].values<std::uint8_t>(0), model.tensors[i].data);
  }
}

TEST(Tflite, TensorsByPosition) {
  const auto file = to_tflite(make_mlp(1, {6, 5, 4}, true, true));
  const auto graph = RawTable::root(file).tables(model_field::subgraphs)[0];
  const auto tensors = graph.tables(graph_field::tensors);
  using I32 = std::vector<std::int32_t>;
  EXPECT_EQ(tensors[0].text(tensor_field::name), "input");
  EXPECT_EQ(tensors[0].values<std::int32_t>(tensor_field::shape), (I32{1, 6}));
  EXPECT_EQ(tensors[0].values<std::int32_t>(tensor_field::shape_signature), (I32{-1, 6}));
  EXPECT_EQ(tensors[0].scalar<std::int8_t>(tensor_field::type), 0);
  EXPECT_FALSE(tensors[0].has(tensor_field::quantization));
  EXPECT_EQ(tensors[1].scalar<std::int8_t>(tensor_field::type), 9);
  const RawTable input = tensors[1].table(tensor_field::quantization);
  EXPECT_EQ(input.values<float>(quantization_field::scale), std::vector<float>{1.0F / 255});
  EXPECT_EQ(input.values<std::int64_t>(quantization_field::zero_point),
            std::vector<std::int64_t>{-128});
  EXPECT_EQ(tensors[3].scalar<std::int8_t>(tensor_field::type), 2);
  const RawTable kernel = tensors[2].table(tensor_field::quantization);
  EXPECT_EQ(kernel.values<float>(quantization_field::scale).size(), 5U);
  EXPECT_EQ(kernel.scalar<std::int32_t>(quantization_field::quantized_dimension), 0);
  EXPECT_FALSE(tensors[2].has(tensor_field::shape_signature));
}

TEST(Tflite, OperatorsByPosition) {
  const auto file = to_tflite(make_mlp(1, {6, 5, 4}, false, true));
  const RawTable root = RawTable::root(file);
  struct Code {
    int code, version;
    bool operator==(const Code&) const = default;
  };
  std::vector<Code> codes;
  for (const RawTable& entry : root.tables(model_field::operator_codes)) {
    const auto code = entry.scalar<std::int32_t>(code_field::builtin_code);
    EXPECT_EQ(entry.scalar<std::int8_t>(code_field::deprecated_builtin_code), code);
    codes.push_back({code, entry.scalar<std::int32_t>(code_field::version, 1)});
  }
  // QUANTIZE, FULLY_CONNECTED, SOFTMAX, DEQUANTIZE.
  EXPECT_EQ(codes, (std::vector<Code>{{114, 1}, {9, 4}, {25, 2}, {6, 2}}));

  const auto operators = root.tables(model_field::subgraphs)[0].tables(graph_field::operators);
  ASSERT_EQ(operators.size(), 5U);
  const std::vector<int> option_types{89, 8, 8, 9, 38};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    EXPECT_EQ(operators[i].scalar<std::uint8_t>(operator_field::options_type), option_types[i]);
  }
  EXPECT_EQ(operators[1].table(operator_field::options).scalar<std::int8_t>(0), 1) << "RELU";
  EXPECT_EQ(operators[3].table(operator_field::options).scalar<float>(0), 1.0F) << "beta";
  EXPECT_EQ(operators[2].scalar<std::uint32_t>(operator_field::opcode_index), 1U);
  EXPECT_EQ(operators[1].values<std::int32_t>(operator_field::inputs),
            (std::vector<std::int32_t>{1, 2, 3}));
}

TEST(Tflite, MetadataAndSignature) {
  const auto file = to_tflite(make_mlp(1, {6, 5, 4}, false, false));
  const RawTable root = RawTable::root(file);
  const auto metadata = root.tables(model_field::metadata);
  ASSERT_EQ(metadata.size(), 2U);
  EXPECT_EQ(metadata[0].text(0), "min_runtime_version");
  const auto buffers = root.tables(model_field::buffers);
  const auto text = [&](const RawTable& entry) {
    const auto bytes = buffers[entry.scalar<std::uint32_t>(1)].values<std::uint8_t>(0);
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(text(metadata[0]), std::string("1.14.0") + std::string(10, '\0'));
  EXPECT_EQ(metadata[1].text(0), "octet.rounding");
  EXPECT_EQ(text(metadata[1]), "fp32");

  const auto signatures = root.tables(model_field::signature_defs);
  ASSERT_EQ(signatures.size(), 1U);
  EXPECT_EQ(signatures[0].text(2), "serving_default");
  const auto inputs = signatures[0].tables(0);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].text(0), "input_1");
  EXPECT_EQ(signatures[0].tables(1)[0].text(0), "softmax");
}

TEST(Tflite, TheLowestReleaseIsThatOfTheNewestOperator) {
  // FULLY_CONNECTED without bias is of 2.1; QUANTIZE, SOFTMAX and the rest are older.
  const auto file = to_tflite(make_everything());
  const RawTable root = RawTable::root(file);
  const auto entry = root.tables(model_field::metadata)[0].scalar<std::uint32_t>(1);
  const auto bytes = root.tables(model_field::buffers)[entry].values<std::uint8_t>(0);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), std::string("2.1.0") + std::string(11, '\0'));
}

TEST(Tflite, NamesOfASignatureDiffer) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 2}, DType::float32);
  const std::int32_t y = b.activation("y", {1, 2}, DType::float32);
  const std::int32_t z = b.activation("y", {1, 2}, DType::float32);
  b.op(OpCode::relu, {x}, y);
  b.op(OpCode::relu6, {x}, z);
  b.model.inputs = {x};
  b.model.outputs = {y, z};
  const auto file = to_tflite(b.model);
  const RawTable root = RawTable::root(file);
  const auto outputs = root.tables(model_field::signature_defs)[0].tables(1);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].text(0), "y");
  EXPECT_EQ(outputs[1].text(0), "output_1");
}

std::vector<int> versions_of(const IntegerModel& model) {
  std::vector<int> versions;
  for (const Operator& op : from_tflite(to_tflite(model)).operators) versions.push_back(op.version);
  return versions;
}

TEST(Tflite, OperatorVersionsAreTheLowestThatSuffice) {
  // QUANTIZE, RESHAPE, FC keep_num_dims, FC without bias, SOFTMAX, TANH, LOGISTIC, RELU, RELU6,
  // RELU_N1_TO_1, RESHAPE, DEQUANTIZE.
  EXPECT_EQ(versions_of(make_everything()), (std::vector<int>{1, 1, 5, 6, 2, 2, 2, 2, 2, 1, 1, 2}));
  const auto unary = [](OpCode code, DType from, QuantParams in, DType to, QuantParams out) {
    return versions_of(make_unary(code, {"x", from, {2, 3}, {}, std::move(in), {}},
                                  {"y", to, {2, 3}, {}, std::move(out), {}}))[0];
  };
  const QuantParams none;
  const QuantParams two{{1, 2}, {0, 0}, 0, -128, 127};
  EXPECT_EQ(unary(OpCode::quantize, DType::float32, none, DType::int16, quant(1, 0)), 2);
  EXPECT_EQ(unary(OpCode::quantize, DType::float32, none, DType::int8, two), 3);
  EXPECT_EQ(unary(OpCode::dequantize, DType::uint8, quant(1, 0), DType::float32, none), 1);
  EXPECT_EQ(unary(OpCode::dequantize, DType::int16, quant(1, 0), DType::float32, none), 3);
  EXPECT_EQ(unary(OpCode::dequantize, DType::int8, two, DType::float32, none), 5);
  EXPECT_EQ(unary(OpCode::relu, DType::float32, none, DType::float32, none), 1);
}

TEST(Tflite, AModelLargerThanAFileMayBeIsRefusedBeforeItIsWritten) {
  for (const IntegerModel& model : {make_everything(), make_mlp(1, {300, 200, 10}, true, true),
                                    make_mlp(2, {1, 1}, false, false)}) {
    const std::vector<std::uint8_t> file = to_tflite(model);
    // A limit below the file's size never lets it through, and one far above always does.
    EXPECT_THROW(detail::to_tflite_within(model, file.size() - 1), InvalidArgument);
    const std::size_t parts = model.tensors.size() + model.operators.size() + model.metadata.size();
    EXPECT_EQ(detail::to_tflite_within(model, file.size() + 1024 * (parts + 4)), file);
  }
  expect_throws<InvalidArgument>(
      [&] {
        detail::to_tflite_within(make_mlp(1, {300, 200, 10}, true, true), 60000);
      },
      {"at most 60000 bytes"});
}

}  // namespace
}  // namespace octet::test::tflite_test
