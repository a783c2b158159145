// Files as other tools write them, made by changing bytes of ours.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/svdf_models.h>

namespace octet::test::tflite_foreign_test {
namespace {

/// A file and its parts. Operators: QUANTIZE, two FULLY_CONNECTED, SOFTMAX, DEQUANTIZE.
struct File {
  std::vector<std::uint8_t> bytes = to_tflite(make_mlp(1, {6, 5, 4}, true, true));

  RawTable root() const { return RawTable::root(bytes); }
  RawTable graph() const { return root().tables(model_field::subgraphs)[0]; }
  RawTable tensor(std::size_t i) const { return graph().tables(graph_field::tensors)[i]; }
  RawTable op(std::size_t i) const { return graph().tables(graph_field::operators)[i]; }
  RawTable code(std::size_t i) const { return root().tables(model_field::operator_codes)[i]; }

  template <class T>
  void put(std::size_t place, T value) {
    std::memcpy(bytes.data() + place, &value, sizeof(T));
  }
  void remove(const RawTable& table, int field) { put<std::uint16_t>(table.vtable_slot(field), 0); }
  IntegerModel read() const { return from_tflite(bytes); }

  void put_input(std::size_t i, std::int32_t tensor) {
    put(op(0).start_of_values(operator_field::inputs) + sizeof(tensor) * i, tensor);
  }

  void expect_error(const std::string& message) const {
    expect_throws<FormatError>([&] { read(); }, {message});
  }
};

TEST(ForeignTflite, FullyConnectedUpToVersion14) {
  File file;
  file.put<std::int32_t>(file.code(1).place(code_field::version), 14);
  EXPECT_EQ(file.read().operators[1].version, 14);
  file.put<std::int32_t>(file.code(1).place(code_field::version), 15);
  file.expect_error("operator 1 (FULLY_CONNECTED): version 15 is not supported");
  file.put<std::int32_t>(file.code(1).place(code_field::version), 0);
  file.expect_error("version 0");
}

TEST(ForeignTflite, TheLargerOfTheTwoCodesCounts) {
  File file;
  file.put<std::int8_t>(file.code(1).place(code_field::deprecated_builtin_code), 0);
  EXPECT_EQ(file.read().operators[1].code, OpCode::fully_connected);
  File old;
  old.remove(old.code(0), code_field::builtin_code);
  EXPECT_EQ(old.read().operators[0].code, OpCode::quantize);
}

TEST(ForeignTflite, UnknownOperatorsAreNamed) {
  File file;
  file.put<std::int32_t>(file.code(2).place(code_field::builtin_code), 128);
  file.expect_error("operator 3: CUMSUM is not supported");
  File index;
  index.put<std::uint32_t>(index.op(2).place(operator_field::opcode_index), 9);
  index.expect_error("code index 9 outside the 4 operator codes");
}

TEST(ForeignTflite, MissingOptionsAreDefaults) {
  File file;
  // One vtable serves several operators: the options of all of them go.
  for (std::size_t i = 0; i < 5; ++i) {
    if (file.op(i).has(operator_field::options)) file.remove(file.op(i), operator_field::options);
    if (file.op(i).has(operator_field::options_type)) {
      file.remove(file.op(i), operator_field::options_type);
    }
  }
  const IntegerModel model = file.read();
  EXPECT_EQ(model.operators[1].activation(), FusedActivation::none);
  EXPECT_FALSE(model.operators[1].as<FullyConnectedAttributes>().keep_num_dims);
}

TEST(ForeignTflite, OptionsOfAnotherOperatorAreAnError) {
  File file;
  file.put<std::uint8_t>(file.op(1).place(operator_field::options_type), 38);
  file.expect_error(
      "operator 1 (FULLY_CONNECTED): expected FullyConnectedOptions, found DequantizeOptions");
}

TEST(ForeignTflite, UnknownActivationIsNamed) {
  File file;
  file.put<std::int8_t>(file.op(1).table(operator_field::options).place(0), 4);
  file.expect_error("fused activation TANH is not supported");
}

TEST(ForeignTflite, MissingZeroPointsAreZeros) {
  File file;
  const RawTable kernel = file.tensor(2).table(tensor_field::quantization);
  file.remove(kernel, quantization_field::zero_point);
  const std::vector<std::int32_t> zeros(5);
  // The vtable is shared with the activations, whose zero point becomes 0 too: softmax refuses it.
  file.expect_error("zero point -128, found");
  File one;
  const RawTable kernel_of_one = one.tensor(2).table(tensor_field::quantization);
  one.put<std::uint32_t>(kernel_of_one.start_of_values(quantization_field::zero_point) - 4, 1);
  EXPECT_EQ(one.read().tensors[2].quantization.zero_points, zeros);
  one.put<std::uint32_t>(kernel_of_one.start_of_values(quantization_field::zero_point) - 4, 2);
  one.expect_error("2 zero points for 5 scales");
}

TEST(ForeignTflite, ZeroPointsOf64BitsAreChecked) {
  File file;
  const RawTable q = file.tensor(1).table(tensor_field::quantization);
  file.put<std::int64_t>(q.start_of_values(quantization_field::zero_point), std::int64_t{1} << 40U);
  file.expect_error("zero point 1099511627776 outside int8");
}

// With one scale the axis means nothing: person_detect of TFLite Micro has 3 at biases.
TEST(ForeignTflite, TheAxisOfOneScaleIsNotLookedAt) {
  RawModelBuilder b;
  QuantParams grid = quant(0.5F, 0);
  grid.quantized_dimension = 1;
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, grid)};
  b.model.outputs = b.model.inputs;
  File file{to_tflite(b.model)};
  const std::size_t place = file.tensor(0)
                                .table(tensor_field::quantization)
                                .place(quantization_field::quantized_dimension);
  for (const auto& [in_file, read] : {std::pair{1, 1}, {2, 0}, {77, 0}, {-1, 0}}) {
    file.put<std::int32_t>(place, in_file);
    EXPECT_EQ(file.read().tensors[0].quantization.quantized_dimension, read);
  }
}

TEST(ForeignTflite, TensorFaultsAreNamed) {
  File type;
  type.put<std::int8_t>(type.tensor(2).place(tensor_field::type), 10);
  type.expect_error("tensor 2 'dense_1/kernel': type float64 is not supported");
  File buffer;
  buffer.put<std::uint32_t>(buffer.tensor(2).place(tensor_field::buffer), 77);
  buffer.expect_error("tensor 2 'dense_1/kernel': buffer 77 outside");
  File size;
  size.put<std::int32_t>(size.tensor(2).start_of_values(tensor_field::shape), 1 << 30);
  size.expect_error("tensor 'dense_1/kernel': shape [1073741824, 6] has no size below 2^31");
}

TEST(ForeignTflite, NamesMayBeMissing) {
  File file;
  file.remove(file.tensor(2), tensor_field::name);
  EXPECT_EQ(file.read().tensors[2].name, "");
}

TEST(ForeignTflite, OtherFilesAreRefused) {
  File version;
  version.put<std::uint32_t>(version.root().place(model_field::version), 2);
  version.expect_error("expected schema version 3, found 2");
  File graphs;
  graphs.put<std::uint32_t>(graphs.root().start_of_values(model_field::subgraphs) - 4, 0);
  graphs.expect_error("expected one subgraph, found 0");
  File identifier;
  identifier.bytes[7] = '2';
  identifier.expect_error("no TFL3 identifier");
  EXPECT_THROW(from_tflite({}), FormatError);
}

TEST(ForeignTflite, WhatAnLstmLacksIsNamed) {
  const std::string who = "operator 0 (UNIDIRECTIONAL_SEQUENCE_LSTM): ";
  const auto changed = [&](auto change, const std::string& says) {
    File file{to_tflite(lstm_model({.attributes = {1.0F, true}}))};
    ASSERT_NO_THROW(file.read());
    change(file);
    file.expect_error(who + says);
  };
  const auto options = [](const File& f) { return f.op(0).table(operator_field::options); };
  changed([&](File& f) { f.put<std::int8_t>(options(f).place(0), 1); },
          "expected activation TANH, found RELU");
  // cell_clip stands in the place of proj_clip.
  changed(
      [&](File& f) {
        std::uint16_t place = 0;
        std::memcpy(&place, f.bytes.data() + options(f).vtable_slot(1), sizeof(place));
        f.put(options(f).vtable_slot(2), place);
      },
      "proj_clip 1 is not supported");
  changed([&](File& f) { f.put_input(9, 0); }, "operand 9 is not supported");
  changed([&](File& f) { f.put_input(0, 13); },
          "expected no variable tensor as input 0, found tensor 13");
  changed([&](File& f) { f.put_input(18, 0); },
          "expected a variable tensor as input 13, found tensor 0");
  changed([&](File& f) { f.put_input(12, -1); }, "input 9 is absent");
}

TEST(ForeignTflite, WhatAnSvdfLacksIsNamed) {
  Draw draw(1);
  const auto written = to_tflite(
      svdf_model(with_weights({.attributes = {.activation = FusedActivation::relu}}, draw)));
  const auto changed = [&](auto change, const std::string& says) {
    File file{written};
    ASSERT_NO_THROW(file.read());
    change(file);
    file.expect_error("operator 0 (SVDF): " + says);
  };
  const auto options = [](const File& f) { return f.op(0).table(operator_field::options); };
  changed([&](File& f) { f.put<std::int32_t>(options(f).place(0), 3); },
          "expected a rank of which 2 filters are a multiple, found 3");
  changed([&](File& f) { f.put<std::int8_t>(options(f).place(1), 4); },
          "fused activation TANH is not supported");
  changed([](File& f) { f.remove(f.op(0), operator_field::options); }, "its options are missing");
  changed([](File& f) { f.put<std::int32_t>(f.code(0).place(code_field::version), 5); },
          "version 5 is not supported, only 1 to 4");
  changed([](File& f) { f.put_input(3, -1); },
          "expected a bias, without which TFLite Micro crashes, found none");
  changed([](File& f) { f.put_input(0, 3); },
          "expected no variable tensor as input 0, found tensor 3");
  changed([](File& f) { f.put_input(4, 0); },
          "expected a variable tensor as input 3, found tensor 0");
  changed(
      [](File& f) { f.put<std::uint32_t>(f.op(0).start_of_values(operator_field::inputs) - 4, 4); },
      "expected a variable tensor as input 3, found tensor -1");
}

TEST(ForeignTflite, BytesMayLieAtAnyAddress) {
  const File file;
  std::vector<std::uint8_t> shifted(file.bytes.size() + 16);
  for (std::size_t i = 1; i < 16; i += 7) {
    std::copy(file.bytes.begin(), file.bytes.end(),
              shifted.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(to_tflite(from_tflite(std::span(shifted).subspan(i, file.bytes.size()))), file.bytes);
  }
}

TEST(ForeignTflite, ASmallFileCannotNameAHugeModel) {
  constexpr std::int32_t kBig = 1 << 16;
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1}, DType::float32)};
  b.model.outputs = b.model.inputs;
  b.constant("big", {kBig}, DType::int8, std::vector<std::int8_t>(kBig, 1));
  for (int i = 0; i < 200; ++i) b.constant("", {1}, DType::int8, std::vector<std::int8_t>{1});
  File file{to_tflite(b.model)};
  ASSERT_NO_THROW(file.read());
  const auto big = file.tensor(1).scalar<std::uint32_t>(tensor_field::buffer);
  for (std::size_t i = 2; i < 202; ++i) {
    file.put<std::uint32_t>(file.tensor(i).place(tensor_field::buffer), big);
    file.put<std::int32_t>(file.tensor(i).start_of_values(tensor_field::shape), kBig);
  }
  file.expect_error("add up to much more than the file");
}

TEST(ForeignTflite, ReshapeTakesItsShapeFromATensorOrFromOptions) {
  for (const bool operand : {false, true}) {
    RawModelBuilder b;
    b.model.inputs = {b.activation("x", {2, 3}, DType::int8, quant(1, 0))};
    b.model.outputs = {b.activation("y", {3, 2}, DType::int8, quant(1, 0))};
    Operator& op = b.op(OpCode::reshape, b.model.inputs, 1);
    if (operand) {
      op.inputs.push_back(b.constant("shape", {2}, DType::int32, std::vector<std::int32_t>{3, -1}));
    } else {
      op.attributes = ReshapeAttributes{.new_shape = {-1, 2}};
    }
    File file{to_tflite(b.model)};
    EXPECT_NO_THROW(file.read());
    if (!operand) continue;
    const auto buffers = file.root().tables(model_field::buffers);
    const auto shape = file.tensor(2).scalar<std::uint32_t>(tensor_field::buffer);
    file.put<std::int32_t>(buffers[shape].start_of_values(0), 4);
    file.expect_error("new shape [4, -1] does not give output shape [3, 2]");
  }
}

}  // namespace
}  // namespace octet::test::tflite_foreign_test
