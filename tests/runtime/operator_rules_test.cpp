// What ADD and CONCATENATION refuse, by name.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/runtime/naive_graph.h>

#include <map>
#include <utility>

namespace octet::test::operator_rules_test {
namespace {

/// y = (a + b) beside z = concat(a, b), a and b of [1, 4].
IntegerModel make_pair() {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 1);
  b.model.inputs = {b.activation("a", {1, 4}, DType::int8, grid),
                    b.activation("b", {1, 4}, DType::int8, grid)};
  b.model.outputs = {add_add(b, 0, 1, grid), add_concatenation(b, {0, 1})};
  return b.model;
}

template <class Change>
void expect_refused(Change change, const std::string& part) {
  IntegerModel model = make_pair();
  ASSERT_NO_THROW(model.validate());
  change(model);
  expect_throws<FormatError>([&] { model.validate(); }, {part});
}

TEST(OperatorRules, AddRefuses) {
  expect_refused([](auto& m) { m.operators[0].inputs.pop_back(); },
                 "operator 0 (ADD): expected 2 to 2 inputs and 1 output, found 1 and 1");
  expect_refused([](auto& m) { m.operators[0].inputs[1] = -1; }, "(ADD): input 1 is absent");
  expect_refused([](auto& m) { m.tensors[1].dtype = DType::uint8; },
                 "(ADD): types (int8, uint8) -> int8 are not supported");
  expect_refused([](auto& m) { m.operators[0].attributes = SoftmaxAttributes{}; },
                 "(ADD): holds the attributes of another operator");
  expect_refused(
      [](auto& m) {
        m.operators[0].template as<BinaryAttributes>().activation = static_cast<FusedActivation>(5);
      },
      "(ADD): fused activation 5 is not supported");
}

TEST(OperatorRules, ConcatenationRefuses) {
  const auto axis = [](std::int32_t value) {
    return [value](auto& m) { m.operators[1].template as<ConcatenationAttributes>().axis = value; };
  };
  expect_refused(axis(2), "operator 1 (CONCATENATION): axis 2 outside of rank 2");
  expect_refused(axis(-3), "axis -3 outside of rank 2");
  expect_refused(axis(0), "shape [1, 4] of operand 0 'a' does not fit the output's, [1, 8]");
  expect_refused(
      [&](auto& m) {
        axis(0)(m);
        m.tensors[3].shape = {2, 4};
        m.tensors[3].shape_signature.clear();
      },
      "axis 0 of operand 0 'a' is the batch");
  expect_refused(
      [](auto& m) {
        m.tensors[3].shape = {1, 9};
        m.tensors[3].shape_signature.clear();
      },
      "axis 1 of the operands adds up to 8, that of the output is 9");
  expect_refused([](auto& m) { m.tensors[3].quantization.scales[0] = 0.25F; },
                 "operand 0 'a' and the output need the same single scale and zero point");
  expect_refused(
      [](auto& m) {
        m.operators[1].template as<ConcatenationAttributes>().activation = FusedActivation::relu;
      },
      "fused activation 1 is not supported");
  expect_refused([](auto& m) { m.operators[1].inputs.assign(detail::kMostInputs + 1, 0); },
                 "expected 1 to 16 inputs");
}

TEST(OperatorRules, AnUnknownCodeIsAnErrorByNumber) {
  expect_refused([](auto& m) { m.operators[0].code = static_cast<OpCode>(77); },
                 "unknown operator code 77");
  EXPECT_THROW(definition(static_cast<OpCode>(77)), FormatError);
  EXPECT_EQ(to_string(static_cast<OpCode>(77)), "unknown operator");
}

// The specification of int8 operators of TensorFlow Lite fixes these, and no others.
TEST(OperatorRules, FixedGridsAreThoseOfTensorFlowLite) {
  const std::map<OpCode, std::pair<float, std::int32_t>> fixed = {
      {OpCode::logistic, {1.0F / 256, -128}},
      {OpCode::softmax, {1.0F / 256, -128}},
      {OpCode::tanh, {1.0F / 128, 0}}};
  for (const OpCode code : kOpCodes) {
    const OperatorDefinition& of = definition(code);
    const auto expected = fixed.find(code);
    ASSERT_EQ(of.output_grid == OutputGrid::fixed, expected != fixed.end()) << of.name;
    if (expected == fixed.end()) continue;
    EXPECT_EQ(of.fixed_grid().scale(), expected->second.first) << of.name;
    EXPECT_EQ(of.fixed_grid().zero_point(), expected->second.second) << of.name;
  }
}

TEST(OperatorRules, AKernelKeepsNoMoreThanItsDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const IntegerModel model = draw_graph(seed, false);
    for (const Operator& op : model.operators) {
      const auto kernel = detail::make_kernel({model, op, Rounding::single_rounding});
      EXPECT_LE(kernel->bytes(), detail::kernel_bytes({model, op})) << to_string(op.code);
      if (op.code == OpCode::fully_connected) {
        const auto weights = model.tensors[static_cast<std::size_t>(op.inputs[1])].data.size();
        EXPECT_GE(kernel->bytes(), weights);
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::operator_rules_test
