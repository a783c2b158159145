// The passes of quantize_model(), each alone.

#include <octet/layers/layers.h>
#include <octet/layers/program/equal_parts.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/program_passes.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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

/// What folding makes of each layer: its type, or that of the layer that a BatchNorm is folded
/// into.
std::vector<std::string> folded_types(const Model& model) {
  std::vector<std::string> types;
  for (const auto& layer : model.layers()) {
    const FoldedBatchNorm* folded = folded_batch_norm(*layer);
    types.push_back(folded == nullptr ? std::string(layer->type())
                                      : "folded " + std::string(folded->unfolded().type()));
  }
  return types;
}

TEST(WithFoldedBatchNorm, TakesTheLayerInFrontWhereNothingElseReadsItOrClampsIt) {
  Model model("m");
  const Value a = model.add(Dense(3, Activation::none, "a"), model.input({4}));
  const Value clamped = model.add(Dense(3, Activation::relu), model.add(BatchNorm(), a));
  const Value b = model.add(Dense(3), model.add(BatchNorm(), clamped));
  const Value read_twice = model.add(BatchNorm(), b);
  model.output(model.add(Add(), {b, read_twice}));
  model.build(1);
  const auto all = [](const Layer&) { return true; };
  const Model folded = with_folded_batch_norm(model, BatchNormMode::folded, all);
  EXPECT_EQ(folded_types(folded), (std::vector<std::string>{"InputLayer", "folded Dense", "Dense",
                                                            "folded ChannelIdentity", "Dense",
                                                            "folded ChannelIdentity", "Add"}));
  const Tensor x = random_tensor({5, 4}, 2);
  const Tensor expected = Model(model).forward(x);
  const Tensor found = Model(folded).forward(x);
  for (std::size_t i = 0; i < expected.span().size(); ++i) {
    EXPECT_NEAR(found.span()[i], expected.span()[i], 1e-5F);
  }
  // A layer that stays in float takes no BatchNorm that is quantized.
  const auto all_but_a = [](const Layer& layer) { return layer.name() != "a"; };
  EXPECT_EQ(folded_types(with_folded_batch_norm(model, BatchNormMode::folded, all_but_a))[2],
            "folded ChannelIdentity");
}

/// Indices that are moved on their way to a table, and values beside them.
struct Lookup {
  Model model{"m"};

  explicit Lookup(bool is_summed) {
    const Value indices = model.input({4}, "indices");
    const Value moved = model.add(Reshape({2, 2}, "moved"), indices);
    const Value rows = model.add(Embedding(9, 3), moved);
    model.output(model.add(Dense(2), model.add(Flatten(), rows)));
    model.output(is_summed ? model.add(Dense(2, Activation::none, "sum"), indices)
                           : model.add(Dense(2), model.input({4}, "values")));
    model.build(1);
  }
};

TEST(IndicesOf, AreWhatATableIsReadByAndWhatThatIsMovedFrom) {
  const Lookup lookup(/*is_summed=*/false);
  const std::vector<bool> indices = indices_of(lookup.model);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::string& name = lookup.model.layers()[i]->name();
    EXPECT_EQ(indices[i], name == "indices" || name == "moved") << name;
    if (!indices[i]) continue;
    EXPECT_NO_THROW(require_index_readers(lookup.model, indices, i));
  }
  const Lookup summed(/*is_summed=*/true);
  expect_throws<InvalidArgument>(
      [&] { require_index_readers(summed.model, indices_of(summed.model), 0); },
      {"\"indices\"", "\"sum\" of type Dense"});
}

TEST(DecideForms, AreOfIntegersFromTheFirstScaleToTheFirstLayerInFloat) {
  Sequential model("m", Input({3}, "x"), Dense(4, Activation::none, "a"),
                   in_float(Dense(4, Activation::none, "b")), Dense(2, Activation::none, "c"));
  model.build(1);
  const Model quantized = quantize_model(model);
  const Program& program = quantized.program();
  const auto form_of = [&](const std::string& name) {
    for (const Program::Value& value : program.values) {
      if (value.name() == name) return value.form;
    }
    ADD_FAILURE() << "no value " << name;
    return ValueForm{};
  };
  EXPECT_TRUE(form_of("a").is_integer);
  EXPECT_FALSE(form_of("b").is_integer);
  EXPECT_TRUE(form_of("c").is_integer);
  EXPECT_NE(form_of("a").quantizer, form_of("c").quantizer);
  EXPECT_FALSE(form_of("a").fixed_by.has_value());
}

TEST(EqualPartsOf, AreSlicesOfOneValueInOrder) {
  const auto parts_of = [](const std::vector<Index>& begins, Index size) {
    Model model("m");
    const Value x = model.input({6, 2});
    for (const Index begin : begins) {
      model.output(model.add(Slice({.axis = 0, .begin = begin, .size = size}), x));
    }
    model.build(1);
    const EqualParts parts = equal_parts(model.program(), 0);
    return std::pair(parts.count, parts.axis);
  };
  EXPECT_EQ(parts_of({0, 2, 4}, 2), std::pair(std::size_t{3}, std::size_t{1}));
  EXPECT_EQ(parts_of({0, 4, 2}, 2).first, 1U);  // In another order.
  EXPECT_EQ(parts_of({0, 2}, 2).first, 1U);     // Not all of it.
  EXPECT_EQ(parts_of({0, 1, 2}, 2).first, 1U);  // One in another.
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

/// The result of the only layer of that name.
const Program::Value& result_named(const Program& program, std::string_view name) {
  const auto found = std::ranges::find_if(
      program.values, [&](const Program::Value& value) { return value.name() == name; });
  if (found == program.values.end()) throw std::out_of_range(std::string(name));
  return *found;
}

TEST(TieJoinedInputs, GivesThemOneScale) {
  Model model = quantize_model(joined());
  const Quantizer* const first = result_named(model.program(), "dense").form.quantizer;
  const Quantizer* const second = result_named(model.program(), "dense_2").form.quantizer;
  ASSERT_NE(first, second);
  const std::vector<Tensor> x = {random_tensor({8, 3}, 1)};
  model.forward_all(x, ForwardContext{.mode = ForwardContext::Mode::calibration});
  EXPECT_EQ(first->params(), second->params());
}

TEST(RequantizeJoinedInputs, InsertsAQuantizeForEachValueThatIsJoined) {
  Model source("m");
  const Value x = source.input({3});
  const Value a = source.add(Dense(3, Activation::none, "a"), x);
  const Value dropped = source.add(Dropout(0.5F), a);
  source.output(source.add(Concatenate(), {a, dropped, a}));
  source.build();
  const Model model = quantize_model(source);
  const Program& program = model.program();
  const auto join = std::ranges::find(program.steps, OpCode::concatenation, &Step::code);
  ASSERT_NE(join, program.steps.end());
  ASSERT_EQ(join->inputs.size(), 3U);
  EXPECT_EQ(join->inputs[0], join->inputs[2]);
  for (const std::size_t i : {0U, 1U}) {
    const Step* const step = program.producer(join->inputs[i]);
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->kind, Step::Kind::requantize);
    EXPECT_EQ(step->node, join->node);
    EXPECT_EQ(step->scheme->common, result_named(program, "a").form.quantizer);
    EXPECT_EQ(step->scheme->range_of_input, i == 0 ? 1.0F : 2.0F);
    EXPECT_EQ(step->scheme->widest_range, 2.0F);
  }
  EXPECT_EQ(program.values[join->inputs[0]].readers, 2U);
  // The Dropout and one QUANTIZE read it.
  EXPECT_EQ(result_named(program, "a").readers, 2U);
}

}  // namespace
}  // namespace octet::test::passes_test
