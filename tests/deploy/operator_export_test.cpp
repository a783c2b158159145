// Every operator in every export: what the interpreter computes.

#include <gtest/gtest.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/onnx_evaluator.h>
#include <octet/tests/runtime/operator_cases.h>

#include <array>
#include <optional>

namespace octet::test::operator_export_test {
namespace {

/// `code` on values of one to four axes, on the scale that TensorFlow Lite fixes.
OperatorCase fixed_scale_case(const std::string& name, OpCode code) {
  return {name, 14, [code](Draw& draw) {
            const std::array<Extents, 4> shapes{{{5}, {4, 5}, {1, 6, 5}, {1, 3, 2, 5}}};
            const Extents& shape = shapes[static_cast<std::size_t>(draw.between(0, 3))];
            const QuantParams out = definition(code).fixed_grid();
            return DrawnOperator{
                make_unary(code, {"x", DType::int8, shape, {}, quant(0.04F, 6), {}},
                           {"y", DType::int8, shape, {}, out, {}}),
                {},
                // In floats.
                code != OpCode::softmax};
          }};
}

DrawnOperator draw_leaky_relu(Draw& draw) {
  IntegerModel model = hard_swish_model(draw_grid(draw), draw_grid(draw));
  model.operators[0] = {.code = OpCode::leaky_relu,
                        .inputs = {0},
                        .outputs = {1},
                        .attributes = LeakyReluAttributes{.alpha = draw.uniform(0.01F, 1.0F)}};
  return {model, {}, true, [](Draw&) { return Values{to_bytes(every_code())}; }};
}

DrawnOperator draw_any_rsqrt(Draw& draw) {
  return {draw_rsqrt(draw), {}, true, [](Draw&) { return Values{to_bytes(every_code())}; }};
}

std::vector<OperatorCase> exported_cases() {
  std::vector<OperatorCase> cases = operator_cases();
  cases.push_back(fixed_scale_case("Softmax", OpCode::softmax));
  cases.push_back(fixed_scale_case("Logistic", OpCode::logistic));
  cases.push_back(fixed_scale_case("Tanh", OpCode::tanh));
  cases.push_back({"LeakyRelu", 8, draw_leaky_relu});
  cases.push_back({"Rsqrt", 8, draw_any_rsqrt});
  return cases;
}

/// The version of operators that have several, where their tests do not name it.
std::optional<int> version_of(const IntegerModel& model) {
  const std::size_t axes = model.tensors[0].shape.size();
  switch (model.operators[0].code) {
    case OpCode::conv_2d:
      return model.tensors[0].shape[3] == model.tensors[1].shape[3] ? 3 : 6;
    case OpCode::depthwise_conv_2d:
      return 3;
    case OpCode::pad:
    case OpCode::padv2:
      return axes > 4 ? 4 : 2;
    case OpCode::resize_bilinear:
      return model.operators[0].as<ResizeAttributes>().half_pixel_centers ? 3 : 2;
    case OpCode::average_pool_2d:
    case OpCode::max_pool_2d:
    case OpCode::mean:
      return 2;
    default:
      return std::nullopt;
  }
}

bool moves_values(OpCode code) {
  constexpr std::array kMoving = {OpCode::max_pool_2d,   OpCode::pad,
                                  OpCode::split,         OpCode::squeeze,
                                  OpCode::strided_slice, OpCode::resize_nearest_neighbor,
                                  OpCode::transpose};
  return std::ranges::find(kMoving, code) != kMoving.end();
}

class OperatorExport : public ::testing::TestWithParam<OperatorCase> {
 protected:
  /// Calls check(operator, random inputs, the interpreter's output) for `most` draws of one input.
  template <class Check>
  void for_one_input(int most, Check&& check) {
    Draw draw(4);
    for (int round = 0; round < std::min(GetParam().rounds, most); ++round) {
      SCOPED_TRACE(round);
      const DrawnOperator op = GetParam().draw(draw);
      if (op.model.inputs.size() > 1) continue;
      const Values x = random_inputs(op, draw);
      check(op, values_of<std::int8_t>(x[0]),
            values_of<std::int8_t>(interpreted(op.model, Rounding::fp32, x).at(0)));
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(OperatorExport, TfliteFilesComeBackAsTheyWere) {
  Draw draw(3);
  for (int round = 0; round < std::min(GetParam().rounds, 60); ++round) {
    const DrawnOperator op = GetParam().draw(draw);
    const auto bytes = to_tflite(op.model);
    const IntegerModel file = from_tflite(bytes);
    EXPECT_EQ(to_tflite(file), bytes);
    const Operator& again = file.operators.at(0);
    EXPECT_EQ(again.code, op.model.operators[0].code);
    EXPECT_EQ(again.attributes, op.model.operators[0].attributes);
    EXPECT_EQ(again.inputs, op.model.operators[0].inputs);
    EXPECT_EQ(again.version, version_of(op.model).value_or(again.version));
    const Values x = random_inputs(op, draw);
    for (const Rounding rounding : kContracts) {
      EXPECT_EQ(interpreted(file, rounding, x), interpreted(op.model, rounding, x));
    }
  }
}

TEST_P(OperatorExport, OnnxStyleExactGivesTheInterpretersValues) {
  for_one_input(80, [](const DrawnOperator& op, const auto& x, const auto& expected) {
    if (!op.has_exact_onnx) return;
    ASSERT_EQ(onnx_codes(op.model, {.float_io = false}, x),
              std::vector<double>(expected.begin(), expected.end()));
  });
}

TEST_P(OperatorExport, OnnxStyleStandardIsOneOffAtMost) {
  for_one_input(40, [](const DrawnOperator& op, const auto& x, const auto& expected) {
    // A node that OnnxEvaluator does not know: leaky_relu_test.cpp looks at it.
    if (op.model.operators[0].code == OpCode::leaky_relu) return;
    const auto found = onnx_codes(op.model, {.style = OnnxStyle::standard, .float_io = false}, x);
    ASSERT_EQ(found.size(), expected.size());
    const double tolerance = moves_values(op.model.operators[0].code) ? 0.0 : 1.0;
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(, OperatorExport, ::testing::ValuesIn(exported_cases()), case_name);

class OperatorsInC : public CompiledC, public ::testing::WithParamInterface<OperatorCase> {};

TEST_P(OperatorsInC, EqualTheInterpreter) {
  Draw draw(72);
  std::vector<CCase> cases;
  const int models = std::clamp(GetParam().rounds / 20, 14, 24);
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(models); ++seed) {
    const IntegerModel model = GetParam().draw(draw).model;
    cases.push_back({model, kContracts[seed % 3], random_codes(model, 3, seed)});
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    const Words strict = joined(kStrict, kTrapUndefined);
    EXPECT_EQ(driver.differing(compiler, joined(strict, {"-std=c99", "-O0"})), 0U);
    EXPECT_EQ(driver.differing(compiler, {"-O3", "-ffast-math"}), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(, OperatorsInC, ::testing::ValuesIn(exported_cases()), case_name);

}  // namespace
}  // namespace octet::test::operator_export_test
