// Inputs and outputs of ONNX graphs: every end has a name of its own, every output is what a node
// computes, and its values are the interpreter's.

#include <octet/core/error.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/train/data/idx_files.h>

#include <set>

namespace octet::test::onnx_ends_test {
namespace {

using Names = std::vector<std::string>;

void expect_valid_ends(const OnnxFile& file) {
  std::set<std::string> names;
  for (const OnnxEnd& end : file.inputs) {
    EXPECT_TRUE(names.insert(end.name).second) << end.name;
  }
  for (const OnnxEnd& end : file.outputs) {
    EXPECT_NE(end.name, "");
    EXPECT_TRUE(names.insert(end.name).second) << end.name;
    EXPECT_NO_THROW(file.producer_of(end.name));
  }
}

Names output_names(const OnnxFile& file) {
  Names names;
  for (const OnnxEnd& end : file.outputs) names.push_back(end.name);
  return names;
}

/// The values of every output of `file`, given the codes of its one input.
std::vector<std::vector<double>> run(const OnnxFile& file, const ModelTensor& input,
                                     const std::vector<std::int8_t>& codes) {
  OnnxTensor x{file.inputs.at(0).type, {input.shape.begin(), input.shape.end()}, {}};
  for (const std::int8_t code : codes) {
    x.values.push_back(x.type == OnnxElement::int8 ? code
                                                   : double{input.quantization.scale()} *
                                                         (code - input.quantization.zero_point()));
  }
  OnnxEvaluator onnx(file);
  onnx.run(x);
  std::vector<std::vector<double>> values;
  for (const OnnxEnd& end : file.outputs) values.push_back(onnx.value(end.name).values);
  return values;
}

std::vector<double> reals(const std::vector<double>& codes, const QuantParams& grid) {
  std::vector<double> result;
  for (const double code : codes) {
    result.push_back(static_cast<float>(code - grid.zero_point()) * grid.scale());
  }
  return result;
}

/// x -> y, x + c; c is a constant.
struct Ends {
  RawModelBuilder b;
  std::vector<std::int8_t> codes{-100, 3, 50, 127};
  std::vector<std::int8_t> constant{9, -8, 7, -6};
  std::int32_t x;
  std::int32_t c;
  std::int32_t sum;

  Ends() {
    const QuantParams grid = quant(0.5F, 0);
    x = b.activation("x", {1, 4}, DType::int8, grid);
    b.model.inputs = {x};
    c = b.constant("c", {1, 4}, DType::int8, constant, quant(0.25F, 1));
    sum = b.activation("sum", {1, 4}, DType::int8, quant(1.0F, 2));
    b.op(OpCode::add, {x, x}, sum);
  }
  const ModelTensor& input() const { return b.model.tensors[static_cast<std::size_t>(x)]; }
  std::vector<double> sums() const {
    std::vector<double> result;
    for (const std::int8_t code : codes) result.push_back(code == 127 ? 127 : code + 2);
    return result;
  }
};

TEST(OnnxEnds, AnOutputThatIsListedTwiceIsTwoOutputs) {
  Ends ends;
  ends.b.model.outputs = {ends.sum, ends.sum, ends.sum};
  const OnnxFile own(to_onnx(ends.b.model, {.float_io = false}));
  expect_valid_ends(own);
  EXPECT_EQ(output_names(own).at(0), "sum");
  for (const auto& values : run(own, ends.input(), ends.codes)) EXPECT_EQ(values, ends.sums());
  const OnnxFile real(to_onnx(ends.b.model));
  expect_valid_ends(real);
  EXPECT_EQ(output_names(real).at(0), "sum");
  for (const auto& values : run(real, ends.input(), ends.codes)) {
    EXPECT_EQ(values, reals(ends.sums(), quant(1.0F, 2)));
  }
}

TEST(OnnxEnds, TwoOutputsOfLayersMayBeOneTensor) {
  Model m("twice");
  const Value x = m.input({6});
  const Value y = m.add(Dense(3), x);
  m.output(y);
  m.output(m.add(Dropout(0.5F), y));
  m.build(1);
  const IntegerModel lowered = lower_float(m);
  ASSERT_EQ(lowered.outputs.at(0), lowered.outputs.at(1));
  const OnnxFile file(to_onnx(lowered));
  ASSERT_EQ(file.outputs.size(), 2U);
  expect_valid_ends(file);
}

TEST(OnnxEnds, CodesArePutOutOnceHoweverOftenTheyAreNamed) {
  Ends ends;
  ends.b.model.outputs = {ends.sum};
  const OnnxFile twice(to_onnx(ends.b.model, {.code_outputs = {"sum", "sum"}}));
  expect_valid_ends(twice);
  EXPECT_EQ(output_names(twice), (Names{"sum", "sum/codes"}));
  const OnnxFile own(to_onnx(ends.b.model, {.float_io = false, .code_outputs = {"sum"}}));
  EXPECT_EQ(output_names(own), Names{"sum"});
}

TEST(OnnxEnds, TheCodesOfAnInputAreACopy) {
  Ends ends;
  ends.b.model.outputs = {ends.sum};
  const OnnxFile own(to_onnx(ends.b.model, {.float_io = false, .code_outputs = {"x"}}));
  EXPECT_EQ(output_names(own), (Names{"sum", "x/codes"}));
  expect_valid_ends(own);
  const std::vector<double> codes(ends.codes.begin(), ends.codes.end());
  EXPECT_EQ(run(own, ends.input(), ends.codes)[1], codes);
  const OnnxFile real(to_onnx(ends.b.model, {.code_outputs = {"x"}}));
  expect_valid_ends(real);
  EXPECT_EQ(output_names(real), (Names{"sum", "x/codes"}));
  EXPECT_EQ(run(real, ends.input(), ends.codes)[1], codes);
}

TEST(OnnxEnds, ConstantsMayBeOutputs) {
  Ends ends;
  ends.b.model.outputs = {ends.c, ends.sum, ends.c};
  const std::vector<double> codes(ends.constant.begin(), ends.constant.end());
  for (const bool real : {false, true}) {
    const OnnxFile file(to_onnx(ends.b.model, {.float_io = real}));
    expect_valid_ends(file);
    EXPECT_EQ(output_names(file).at(0), "c");
    const auto values = run(file, ends.input(), ends.codes);
    EXPECT_EQ(values[0], real ? reals(codes, quant(0.25F, 1)) : codes);
    EXPECT_EQ(values[2], values[0]);
  }
}

TEST(OnnxEnds, CodesThatNothingComputesAreRefused) {
  Ends ends;
  ends.b.model.outputs = {ends.sum};
  ends.b.activation("dead", {1, 4}, DType::int8, quant(0.5F, 0));
  expect_mentions(
      message_of<InvalidArgument>([&] { to_onnx(ends.b.model, {.code_outputs = {"dead"}}); }),
      "computed, quantized tensor, found 'dead'");
  // A value of that name which is computed is meant.
  ends.b.model.tensors.back().name = "sum";
  std::swap(ends.b.model.tensors.back(), ends.b.model.tensors[static_cast<std::size_t>(ends.sum)]);
  const auto last = static_cast<std::int32_t>(ends.b.model.tensors.size() - 1);
  ends.b.model.operators[0].outputs = {last};
  ends.b.model.outputs = {last};
  expect_valid_ends(OnnxFile(to_onnx(ends.b.model, {.code_outputs = {"sum"}})));
}

}  // namespace
}  // namespace octet::test::onnx_ends_test
