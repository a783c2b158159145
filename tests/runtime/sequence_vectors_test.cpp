// What real runtimes computed of the operators that slices and attention are made of:
// tests/data/vectors_sequence.json.

#include <gtest/gtest.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/runtime/naive.h>
#include <octet_test_paths.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace octet::test::sequence_vectors_test {
namespace {

using nlohmann::json;

struct Named {
  OpCode code;
  /// How many results there are: one for each vector and runtime that has a rounding mode.
  int results;
};

const std::map<std::string, Named> kOperators = {{"BATCH_MATMUL", {OpCode::batch_matmul, 66}},
                                                 {"SPLIT", {OpCode::split, 18}},
                                                 {"STRIDED_SLICE", {OpCode::strided_slice, 12}},
                                                 {"TRANSPOSE", {OpCode::transpose, 27}}};

OperatorAttributes attributes_of(OpCode code, const json& a) {
  OperatorAttributes attributes = default_attributes(code);
  if (auto* slice = std::get_if<StridedSliceAttributes>(&attributes)) {
    *slice = {a.at("begin_mask"), a.at("end_mask"), a.at("shrink_axis_mask")};
  }
  if (auto* split = std::get_if<SplitAttributes>(&attributes)) {
    split->num_splits = a.at("num_splits");
  }
  if (auto* product = std::get_if<BatchMatmulAttributes>(&attributes)) {
    *product = {a.at("adj_x"), a.at("adj_y")};
  }
  return attributes;
}

DType type_of(const json& tensor) {
  const std::map<std::string, DType> types{
      {"int8", DType::int8}, {"int16", DType::int16}, {"int32", DType::int32}};
  return types.at(tensor.at("type"));
}

IntegerModel model_of(OpCode code, const json& vector) {
  RawModelBuilder b;
  const auto add = [&](const json& from, const std::string& name) {
    const auto shape = from.at("shape").get<std::vector<std::int32_t>>();
    const DType dtype = type_of(from);
    if (dtype == DType::int32) {
      return b.constant(name, shape, dtype, from.at("data").get<std::vector<std::int32_t>>(),
                        QuantParams{{}, {}, 0, 0, 0});
    }
    const QuantParams params = quant(from.at("scale"), from.at("zero_point"), dtype);
    if (!from.value("constant", false)) return b.add({name, dtype, shape, {}, params, {}});
    if (dtype == DType::int16) {
      return b.constant(name, shape, dtype, from.at("data").get<std::vector<std::int16_t>>(),
                        params);
    }
    return b.constant(name, shape, dtype, from.at("data").get<std::vector<std::int8_t>>(), params);
  };
  std::vector<std::int32_t> operands;
  for (const json& input : vector.at("inputs")) {
    operands.push_back(add(input, "input" + std::to_string(operands.size())));
    if (!input.value("constant", false)) b.model.inputs.push_back(operands.back());
  }
  // A file has the axis of SPLIT in front.
  if (code == OpCode::split) std::swap(operands[0], operands[1]);
  const json outputs =
      vector.contains("output") ? json::array({vector.at("output")}) : vector.at("outputs");
  for (const json& output : outputs) {
    b.model.outputs.push_back(add(output, "output" + std::to_string(b.model.outputs.size())));
  }
  b.op(code, operands, b.model.outputs[0], attributes_of(code, vector.at("attributes"))).outputs =
      b.model.outputs;
  return b.model;
}

template <class T>
std::vector<T> computed(const IntegerModel& model, const json& vector, Rounding rounding) {
  Interpreter interpreter(model, {.rounding = rounding});
  std::size_t next = 0;
  for (const json& input : vector.at("inputs")) {
    if (input.value("constant", false)) continue;
    std::ranges::copy(input.at("data").get<std::vector<T>>(), interpreter.input<T>(next++).begin());
  }
  interpreter.invoke();
  std::vector<T> values;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const auto output = std::as_const(interpreter).template output<T>(i);
    values.insert(values.end(), output.begin(), output.end());
  }
  return values;
}

template <class T>
void compare(OpCode code, const json& vector, Rounding rounding, const json& expected) {
  EXPECT_EQ(computed<T>(model_of(code, vector), vector, rounding), expected.get<std::vector<T>>())
      << vector.at("id") << " " << to_string(rounding);
}

TEST(SequenceVectors, AreTheValuesOfRealRuntimes) {
  const std::map<std::string, Rounding> contracts{
      {"LiteRT.js 2.5.3", Rounding::fp32},
      {"tfjs-tflite 0.0.1-alpha.10", Rounding::single_rounding},
      {"TFLite Micro reference kernels (double rounding)", Rounding::double_rounding}};
  const json root = json::parse(std::ifstream(OCTET_TEST_DATA_DIR "/vectors_sequence.json"));
  std::map<std::string, int> compared;
  for (const json& vector : root.at("vectors")) {
    const std::string op = vector.at("op");
    const bool wide = type_of(vector.at("inputs").back()) == DType::int16 ||
                      type_of(vector.at("inputs").front()) == DType::int16;
    for (const json& expected : vector.at("expected")) {
      for (const std::string runtime : expected.at("runtimes")) {
        const auto contract = contracts.find(runtime);
        if (contract == contracts.end()) continue;
        const OpCode code = kOperators.at(op).code;
        if (wide) {
          compare<std::int16_t>(code, vector, Rounding::q15, expected.at("data"));
        } else {
          compare<std::int8_t>(code, vector, contract->second, expected.at("data"));
        }
        ++compared[op];
      }
    }
  }
  for (const auto& [name, of] : kOperators) EXPECT_EQ(compared[name], of.results) << name;
}

}  // namespace
}  // namespace octet::test::sequence_vectors_test
