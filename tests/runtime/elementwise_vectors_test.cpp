// What real runtimes computed of elementwise operators and copies: tests/data/vectors_conv.json,
// vectors_prelu.json.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/runtime/elementwise_models.h>
#include <octet/tests/runtime/window_models.h>
#include <octet_test_paths.h>

#include <fstream>
#include <set>

namespace octet::test::elementwise_vectors_test {
namespace {

using nlohmann::json;

struct Named {
  OpCode code;
  /// The number of results: one for each vector and rounding mode.
  int results;
};

const std::map<std::string, Named> kOperators = {
    {"ADD", {OpCode::add, 42}},
    {"CONCATENATION", {OpCode::concatenation, 10}},
    {"HARD_SWISH", {OpCode::hard_swish, 10}},
    {"LEAKY_RELU", {OpCode::leaky_relu, 18}},
    {"LOGISTIC", {OpCode::logistic, 10}},
    {"MUL", {OpCode::mul, 18}},
    {"QUANTIZE", {OpCode::quantize, 20}},
    {"RESHAPE", {OpCode::reshape, 10}},
    {"RESIZE_NEAREST_NEIGHBOR", {OpCode::resize_nearest_neighbor, 10}},
    {"SOFTMAX", {OpCode::softmax, 16}},
    {"SQUEEZE", {OpCode::squeeze, 10}},
    {"SUB", {OpCode::sub, 14}},
    {"TANH", {OpCode::tanh, 10}}};

OperatorAttributes attributes_of(OpCode code, const json& a) {
  OperatorAttributes attributes = default_attributes(code);
  if (auto* leaky = std::get_if<LeakyReluAttributes>(&attributes)) leaky->alpha = a.at("alpha");
  if (auto* joined = std::get_if<ConcatenationAttributes>(&attributes)) joined->axis = a.at("axis");
  if (auto* resize = std::get_if<ResizeNearestNeighborAttributes>(&attributes)) {
    resize->align_corners = a.at("align_corners");
    resize->half_pixel_centers = a.at("half_pixel_centers");
  }
  if (auto* binary = std::get_if<BinaryAttributes>(&attributes)) {
    binary->activation = activation_of(a);
  }
  if (auto* squeeze = std::get_if<SqueezeAttributes>(&attributes)) {
    squeeze->squeeze_dims = a.at("squeeze_dims").get<std::vector<std::int32_t>>();
  }
  return attributes;
}

IntegerModel model_of(OpCode code, const json& vector) {
  RawModelBuilder b;
  const auto add = [&](const json& from, const char* name) {
    return b.add({name,
                  DType::int8,
                  from.at("shape").get<std::vector<std::int32_t>>(),
                  {},
                  quant(from.at("scale"), from.at("zero_point")),
                  {}});
  };
  for (const json& input : vector.at("inputs")) b.model.inputs.push_back(add(input, "input"));
  std::vector<std::int32_t> operands = b.model.inputs;
  if (code == OpCode::resize_nearest_neighbor) {
    const auto size = vector.at("attributes").at("size").get<std::vector<std::int32_t>>();
    operands.push_back(b.constant("size", {2}, DType::int32, size, QuantParams{{}, {}, 0, 0, 0}));
  }
  b.model.outputs = {add(vector.at("output"), "output")};
  b.op(code, operands, b.model.outputs[0], attributes_of(code, vector.at("attributes")));
  return b.model;
}

/// Fails where the interpreter does not give the bytes of the vectors of one operator.
void compare(const json& root, const std::string& name, const Named& of) {
  int compared = 0;
  for_vectors(root, name, [&](const json& v, Rounding rounding, const auto& expected) {
    Interpreter interpreter(model_of(of.code, v), {.rounding = rounding});
    for (std::size_t i = 0; i < v.at("inputs").size(); ++i) {
      const auto codes = v.at("inputs")[i].at("data").template get<std::vector<std::int8_t>>();
      std::ranges::copy(codes, interpreter.input<std::int8_t>(i).begin());
    }
    interpreter.invoke();
    EXPECT_EQ(copy(std::as_const(interpreter).output<std::int8_t>()), expected)
        << v.at("id") << " " << to_string(rounding);
    ++compared;
  });
  EXPECT_EQ(compared, of.results) << name;
}

TEST(ElementwiseVectors, AreTheBytesOfRealRuntimes) {
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  for (const auto& [name, of] : kOperators) compare(root, name, of);
  const json prelu = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_prelu.json"));
  compare(prelu, "PRELU", {OpCode::prelu, 9});
}

/// No operator of the vectors is without a test: those of windows and borders have theirs beside
/// them.
TEST(ElementwiseVectors, EveryOperatorOfTheVectorsIsCompared) {
  const std::set<std::string> elsewhere{"AVERAGE_POOL_2D", "CONV_2D",       "DEPTHWISE_CONV_2D",
                                        "MAX_POOL_2D",     "MEAN",          "PAD",
                                        "PADV2",           "TRANSPOSE_CONV"};
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_conv.json"));
  for (const json& vector : root.at("vectors")) {
    const std::string op = vector.at("op");
    EXPECT_TRUE(kOperators.contains(op) || elsewhere.contains(op)) << op;
  }
}

}  // namespace
}  // namespace octet::test::elementwise_vectors_test
