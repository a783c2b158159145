// The passes of quantize_model(), each alone.

#include <octet/layers/layers.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace octet::test::passes_test {
namespace {

using Clamps = std::vector<std::optional<std::size_t>>;

Clamps all_clamps(const Model& model) {
  return fusible_clamps(model, [](std::size_t, std::size_t) { return true; });
}

TEST(FusibleClamps, AreClampsThatNothingElseReads) {
  Model model("m");
  const Value x = model.input({4});
  const Value a = model.add(Dense(3), x);                            // 1
  const Value clamped = model.add(ReLU6(), a);                       // 2: becomes part of 1
  const Value b = model.add(Dense(3), clamped);                      // 3
  const Value read_once_more = model.add(ReLU(), b);                 // 4: 7 reads 3 as well
  const Value c = model.add(Dense(3), read_once_more);               // 5
  const Value smooth = model.add(Softmax(), c);                      // 6: quantizes before it
  const Value sum = model.add(Add(), {smooth, b});                   // 7
  const Value has_one = model.add(Dense(3, Activation::relu), sum);  // 8
  const Value second = model.add(ReLU6(), has_one);                  // 9: 8 has an activation
  const Value is_output = model.add(Dense(3), second);               // 10
  model.output(is_output);
  model.output(model.add(ReLU(), is_output));  // 11
  model.build();
  Clamps expected(12);
  expected[1] = 2;
  EXPECT_EQ(all_clamps(model), expected);
  const auto none = [](std::size_t, std::size_t) { return false; };
  EXPECT_EQ(fusible_clamps(model, none), Clamps(12));
}

TEST(FusibleClamps, AreNotThoseOfLayersThatAreUsedSeveralTimes) {
  Model model("m");
  const Value x = model.input({3});
  const Value a = model.add(Dense(3), x);            // 1: 5 uses it
  const Value clamped = model.add(ReLU(), a);        // 2
  const Value b = model.add(Dense(3), clamped);      // 3
  const Value used_twice = model.add(ReLU(), b);     // 4: 6 uses it
  const Value again = model.reuse(a, {used_twice});  // 5
  model.output(model.reuse(used_twice, {again}));    // 6
  model.build();
  EXPECT_EQ(all_clamps(model), Clamps(7));
}

TEST(QuantizeLayers, StandInFrontOfRealValuesAndOfOtherScalesThatAreToBeShared) {
  const ValueForm real;
  const ValueForm measured{.is_integer = true};
  const ValueForm fixed{.is_integer = true, .fixed_by = OpCode::tanh};
  for (const ResultRule rule : {ResultRule::measured, ResultRule::as_inputs}) {
    EXPECT_TRUE(needs_quantize_layer(real, rule));
    EXPECT_FALSE(needs_quantize_layer(measured, rule));
    EXPECT_EQ(needs_quantize_layer(fixed, rule), rule == ResultRule::as_inputs);
  }
}

/// Two layers that are joined; the first is used twice.
Model joined() {
  Model model("m");
  const Value x = model.input({3});
  const Value a = model.add(Dense(3), x);
  const Value b = model.add(Dense(3), model.reuse(a, {a}));
  const Value c = model.add(Concatenate(), {a, b});
  model.output(model.add(Dense(2), c));
  model.build();
  return model;
}

TEST(ShareRanges, GivesStepsOfOneQuantizerOneRange) {
  const Model model = quantize_model(joined());
  std::map<const Quantizer*, std::vector<const SharedRange*>> ranges;
  for (const Step& step : model.program().steps) {
    if (step.scheme == nullptr || step.scheme->result == nullptr) continue;
    ranges[step.scheme->result].push_back(step.scheme->shared.get());
  }
  std::size_t shared = 0;
  for (const auto& [quantizer, of_steps] : ranges) {
    EXPECT_EQ(std::ranges::count(of_steps, of_steps.front()), std::ssize(of_steps));
    EXPECT_EQ(of_steps.front() != nullptr, of_steps.size() > 1);
    if (of_steps.size() > 1) ++shared;
  }
  EXPECT_EQ(shared, 1U);  // That of "a".
}

TEST(TieJoinedInputs, GivesThemOneScale) {
  Model model = quantize_model(joined());
  const Program& program = model.program();
  const auto join = std::ranges::find(program.steps, OpCode::concatenation, &Step::code);
  ASSERT_NE(join, program.steps.end());
  const Quantizer* const first = program.values[join->inputs[0]].form.quantizer;
  const Quantizer* const second = program.values[join->inputs[1]].form.quantizer;
  EXPECT_EQ(join->scheme->joined, first);
  ASSERT_NE(first, second);
  const std::vector<Tensor> x = {random_tensor({8, 3}, 1)};
  model.forward_all(x, ForwardContext{.mode = ForwardContext::Mode::calibration});
  EXPECT_EQ(first->params(), second->params());
}

}  // namespace
}  // namespace octet::test::passes_test
