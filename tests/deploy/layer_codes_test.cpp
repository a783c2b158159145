// What LayerCodes shows of graphs that are no chain: values of constants alone, and operators
// behind the output.

#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/layer_codes.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive_graph.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/layer_differences.h>

namespace octet::test::layer_codes_test {
namespace {

constexpr Index kWidth = 5;

/// x -> y; c + c, which no input reaches; y + that; and behind it what nobody reads.
IntegerModel make_graph(bool constant_output) {
  Draw draw(7);
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, kWidth}, DType::int8, quant(0.05F, 4));
  b.model.inputs = {x};
  const std::int32_t c =
      b.constant("c", {1, kWidth}, DType::int8, random_codes(kWidth, draw), quant(0.02F, -9));
  const std::int32_t twice = add_add(b, c, c, quant(0.04F, 3));
  const DenseSpec spec{.units = kWidth, .output_scale = 0.3F};
  const std::int32_t y = add_dense(b, x, spec, draw);
  const std::int32_t sum = add_add(b, y, twice, quant(0.3F, 0));
  b.model.outputs = {constant_output ? twice : sum};
  add_add(b, sum, y, quant(0.6F, 1));
  return b.model;
}

Tensor samples_of(std::size_t count) {
  Draw draw(3);
  Tensor samples = Tensor::zeros({static_cast<Index>(count), kWidth});
  for (float& value : samples.mutable_span()) value = draw.uniform(-4, 4);
  return samples;
}

Dataset drawn(std::size_t count) {
  const Tensor samples = samples_of(count);
  return Dataset::from_floats("drawn", {kWidth}, {samples.span().begin(), samples.span().end()},
                              Labels(count), kWidth);
}

std::vector<std::int8_t> as_codes(std::span<const std::byte> bytes) {
  std::vector<std::int8_t> codes;
  for (const std::byte byte : bytes) codes.push_back(static_cast<std::int8_t>(byte));
  return codes;
}

TEST(LayerCodes, ValuesOfConstantsAloneAreThereForEverySample) {
  const IntegerModel model = make_graph(false);
  InterpretedCodes codes(model);
  for (const std::size_t count : {7U, 1U, 3U}) {
    codes.run(samples_of(count));
    for (std::size_t i = 0; i < codes.layers().size(); ++i) {
      const auto size = static_cast<std::size_t>(codes.layers()[i].size);
      ASSERT_EQ(codes.codes(i).size(), count * size) << codes.layers()[i].name;
    }
    ASSERT_EQ(codes.layers()[1].name, "add_0");
    const auto constant = codes.codes(1);
    for (std::size_t i = 0; i < constant.size(); ++i) {
      EXPECT_EQ(constant[i], constant[i % kWidth]) << i;
    }
  }
}

TEST(LayerCodes, TheOutputIsTheOneThatTheModelNames) {
  for (const bool constant : {false, true}) {
    const InterpretedCodes codes(make_graph(constant));
    EXPECT_EQ(codes.layers()[codes.output_layers().front()].name, constant ? "add_0" : "add_2");
  }
  // Behind the output as reals, and the input itself.
  IntegerModel reals = make_graph(false);
  ModelTensor real = reals.tensors[static_cast<std::size_t>(reals.outputs[0])];
  real.name = "real";
  real.dtype = DType::float32;
  real.quantization.scales.clear();
  real.quantization.zero_points.clear();
  reals.tensors.push_back(real);
  const auto index = static_cast<std::int32_t>(reals.tensors.size() - 1);
  Operator dequantize{.code = OpCode::dequantize, .inputs = reals.outputs, .outputs = {index}};
  reals.operators.push_back(dequantize);
  reals.outputs = {index};
  const InterpretedCodes converted(reals);
  EXPECT_EQ(converted.layers()[converted.output_layers().front()].name, "add_2");
  IntegerModel same = make_graph(false);
  same.outputs = same.inputs;
  EXPECT_EQ(InterpretedCodes(same).output_layers().front(), 0U);
  same.outputs = {1};
  expect_mentions(message_of<InvalidArgument>([&] { InterpretedCodes codes(same); }),
                  "found \"c\", which comes from \"c\" alone");
}

TEST(LayerCodes, OutputsAreComparedWhateverLiesBehindThem) {
  const IntegerModel model = make_graph(false);
  // A model that is equal up to the output, with other weights or none at all behind it.
  IntegerModel shorter = model;
  shorter.operators.pop_back();
  InterpretedCodes a(model);
  InterpretedCodes b(shorter);
  const Dataset data = drawn(1103);
  const NetworkDifference same = compare_networks(a, b, data, Compare::outputs);
  EXPECT_EQ(same.layers[0].name, "add_2");
  EXPECT_EQ(same.total().compared, 1103U * kWidth);
  EXPECT_EQ(same.total().differing, 0U);
  // What differs behind the output alone is no difference of outputs, but one of layers.
  IntegerModel other = model;
  other.tensors.back().quantization = quant(0.9F, -30);
  InterpretedCodes c(other);
  const NetworkDifference outputs = compare_networks(a, c, data, Compare::outputs);
  EXPECT_EQ(outputs.total().differing, 0U);
  EXPECT_EQ(outputs.differing_predictions, 0U);
  const NetworkDifference layers = compare_networks(a, c, data);
  EXPECT_EQ(layers.differing_predictions, 0U);
  EXPECT_GT(layers.layers.back().differing, 0U);
  EXPECT_EQ(layers.layers.back().differing, layers.total().differing);
}

/// A network that gives the codes of one sample, however many it was given.
class ShortCodes : public LayerCodes {
 public:
  ShortCodes() {
    layers_ = {{"x", kWidth}, {"y", kWidth}};
    input_layers_ = {0};
    output_layers_ = {1};
  }
  std::span<const std::int16_t> codes(std::size_t /*layer*/) const override { return codes_; }

 protected:
  void run_samples(std::span<const Tensor> /*inputs*/) override {}

 private:
  std::vector<std::int16_t> codes_ = std::vector<std::int16_t>(kWidth);
};

TEST(LayerCodes, ANetworkThatGivesTooFewCodesIsRefused) {
  ShortCodes a;
  ShortCodes b;
  const Dataset data = drawn(9);
  expect_mentions(
      message_of<InvalidArgument>([&] { compare_networks(a, b, data); }),
      "expected 5 quantized values of layer \"x\" for each of 9 samples, found 5 in all");
}

TEST(LayerCodes, OneOfSeveralInputsThatIsReadInFloatIsRefused) {
  RawModelBuilder b;
  b.model = make_graph(false);
  const std::int32_t x = b.activation("real", {1, kWidth}, DType::float32);
  const std::int32_t y = b.activation("sum", {1, kWidth}, DType::float32);
  b.op(OpCode::add, {x, x}, y, BinaryAttributes{});
  b.model.inputs.push_back(x);
  b.model.outputs.push_back(y);
  expect_mentions(message_of<InvalidArgument>([&] { InterpretedCodes codes(b.model); }),
                  "found \"real\" of float32, which layers in float read");
}

// ---- What else runs many samples of a model whose output no input reaches.

TEST(LayerCodes, TheInterpreterNamesTheBytesOfASample) {
  Interpreter interpreter(make_graph(true), {.batch = 3, .keep_tensors = true});
  const auto codes = random_codes(interpreter.model(), 3, 1);
  std::memcpy(interpreter.input_bytes().data(), codes.data(), codes.size());
  interpreter.invoke();
  const std::int32_t output = interpreter.model().outputs[0];
  const std::int32_t dense = interpreter.model().operators[1].outputs[0];
  EXPECT_EQ(interpreter.output_bytes().size(), std::size_t{kWidth});
  for (Index i = 0; i < 3; ++i) {
    EXPECT_EQ(as_codes(interpreter.tensor_bytes(output, i)), as_codes(interpreter.output_bytes()));
    const auto all = interpreter.tensor_bytes(dense);
    EXPECT_EQ(as_codes(interpreter.tensor_bytes(dense, i)),
              as_codes(all.subspan(static_cast<std::size_t>(i) * kWidth, kWidth)));
  }
  for (const Index outside : {Index{-1}, Index{3}}) {
    expect_mentions(message_of<InvalidArgument>([&] { interpreter.tensor_bytes(output, outside); }),
                    "outside the batch of 3");
  }
}

TEST(LayerCodes, TheSelfTestOfCSourceHasEverySamplesOutput) {
  const CSource source = to_c_source(make_graph(true), "net");
  expect_mentions(source.source, "net_golden_output[4][5] = {\n");
  const CProject project;
  project.write(source);
  for (const std::string& compiler : c_compilers()) {
    project.build(compiler, joined(kStrict, {"-std=c99", "-DNET_SELFTEST"}), "test", {"net.c"});
    EXPECT_EQ(project.run("test").exit_code, 0);
  }
}

}  // namespace
}  // namespace octet::test::layer_codes_test
