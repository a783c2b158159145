#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/deploy/value_ranges.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/drawn_networks.h>
#include <octet/tests/runtime/drawn_operators.h>

#include <tuple>

namespace octet::test::constant_units_test {
namespace {

constexpr Index kSamples = 7;

/// Samples of the lowest values, of the highest, of both by turns, and random ones.
Values extreme_samples(const IntegerModel& model, Draw& draw) {
  Values inputs;
  for (const std::int32_t i : model.inputs) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(i)];
    const auto [lo, hi] = integer_limits(tensor.dtype);
    std::vector<std::int16_t> values;
    for (Index sample = 0; sample < kSamples; ++sample) {
      for (std::int64_t k = 0; k < tensor.size(); ++k) {
        const std::int32_t turn = k % 2 == 0 ? lo : hi;
        values.push_back(static_cast<std::int16_t>(sample == 0   ? lo
                                                   : sample == 1 ? hi
                                                   : sample == 2 ? turn
                                                                 : draw.between(lo, hi)));
      }
    }
    inputs.push_back(tensor.dtype == DType::int16
                         ? to_bytes(values)
                         : to_bytes(std::vector<std::int8_t>(values.begin(), values.end())));
  }
  return inputs;
}

/// Drops what can be dropped, and expects every output byte to stay.
std::int64_t expect_same_outputs(const IntegerModel& model, std::uint64_t seed) {
  IntegerModel pruned = model;
  std::int64_t dropped = 0;
  for (const PrunedUnits& layer : prune_constant_units(pruned)) {
    EXPECT_LT(layer.constant + layer.unread, layer.units);
    dropped += layer.constant + layer.unread;
  }
  pruned.validate();
  Draw draw(seed);
  const Values inputs = extreme_samples(model, draw);
  const Values expected = interpreted(model, rounding_of(model), inputs, kSamples);
  EXPECT_EQ(interpreted(pruned, rounding_of(model), inputs, kSamples), expected);
  const IntegerModel again = from_tflite(to_tflite(pruned));
  EXPECT_EQ(interpreted(again, rounding_of(again), inputs, kSamples), expected);
  if (dropped == 0) {
    EXPECT_EQ(to_tflite(pruned), to_tflite(model));
  }
  IntegerModel twice = pruned;
  EXPECT_TRUE(prune_constant_units(twice).empty());
  return dropped;
}

/// Expects every value of every tensor inside its range.
void expect_sound_ranges(const IntegerModel& model, std::uint64_t seed) {
  const auto ranges = detail::value_ranges(model, rounding_of(model));
  Interpreter interpreter(model, {.batch = kSamples, .keep_tensors = true});
  Draw draw(seed);
  const Values inputs = extreme_samples(model, draw);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(interpreter.input_bytes(i).data(), inputs[i].data(), inputs[i].size());
  }
  interpreter.invoke();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto bytes = interpreter.tensor_bytes(static_cast<std::int32_t>(i));
    const std::size_t size = size_of(model.tensors[i].dtype);
    for (std::size_t k = 0; !ranges[i].empty() && k < bytes.size() / size; ++k) {
      std::int16_t value = static_cast<std::int8_t>(bytes[k]);
      if (size == 2) std::memcpy(&value, bytes.data() + 2 * k, 2);
      const ActivationRange& range = ranges[i][k % ranges[i].size()];
      ASSERT_LE(range.lo, value) << model.tensors[i].name;
      ASSERT_GE(range.hi, value) << model.tensors[i].name;
    }
  }
}

TEST(ConstantUnits, DroppingThemKeepsEveryOutputOfRandomNetworks) {
  std::int64_t dropped = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    IntegerModel model = NetworkDraw(seed).run(false);
    for (const Rounding rounding : kContracts) {
      model.metadata["octet.rounding"] = to_string(rounding);
      dropped += expect_same_outputs(model, seed);
      ASSERT_NO_FATAL_FAILURE(expect_sound_ranges(model, seed));
    }
    const IntegerModel wide = as_int16(NetworkDraw(seed).run(true));
    dropped += expect_same_outputs(wide, seed);
    ASSERT_NO_FATAL_FAILURE(expect_sound_ranges(wide, seed));
    if (HasFailure()) break;
  }
  EXPECT_GT(dropped, 3000);
}

// ---- What goes, and what stays

constexpr OpCode kConv = OpCode::conv_2d;
constexpr OpCode kDepthwise = OpCode::depthwise_conv_2d;
constexpr FusedActivation kRelu = FusedActivation::relu;

/// Operators with weights in a row, on an image of 4 x 4 where the first is a convolution.
IntegerModel row(const std::vector<SumsSpec>& specs, std::uint64_t seed = 1) {
  Draw draw(seed);
  RawModelBuilder b;
  const bool dense = specs.front().code == OpCode::fully_connected;
  std::int32_t x = b.activation("x", dense ? std::vector{1, 4} : std::vector{1, 4, 4, 4},
                                DType::int8, quant(0.05F, 3));
  b.model.inputs = {x};
  for (const SumsSpec& spec : specs) x = add_sums(b, x, spec, draw);
  b.model.outputs = {x};
  return b.model;
}

/// "layer constant unread" of all that goes.
std::vector<std::string> dropped_lines(IntegerModel pruned) {
  std::vector<std::string> lines;
  for (const PrunedUnits& layer : prune_constant_units(pruned)) {
    lines.push_back(fmt::format("{} {} {}", layer.layer, layer.constant, layer.unread));
  }
  return lines;
}

/// dropped_lines() of a model of codes, whose outputs stay the same.
std::vector<std::string> dropped(const IntegerModel& model) {
  expect_same_outputs(model, 1);
  return dropped_lines(model);
}

using Lines = std::vector<std::string>;

TEST(ConstantUnits, ArePartOfTheBiasesBehindThem) {
  for (const bool has_bias : {true, false}) {
    IntegerModel model = row({{.units = 5, .activation = kRelu}, {.units = 3, .bias = has_bias}});
    set_bias(model, 0, 1, kHuge);
    set_bias(model, 0, 3, -kHuge);
    EXPECT_EQ(dropped(model), Lines{"y0 2 0"});
    const std::int8_t* w = weights_of(model, 1);
    IntegerModel pruned = model;
    prune_constant_units(pruned);
    const Operator& last = pruned.operators[1];
    const ModelTensor& bias = pruned.tensors[static_cast<std::size_t>(last.inputs[2])];
    EXPECT_EQ(pruned.tensors[static_cast<std::size_t>(last.inputs[1])].shape,
              (std::vector<std::int32_t>{3, 3}));
    for (std::size_t unit = 0; unit < 3; ++unit) {
      const auto old = model.tensors[static_cast<std::size_t>(model.operators[1].inputs.back())];
      const std::int32_t before = has_bias ? values_of<std::int32_t>(old.data)[unit] : 0;
      // The one is 127, the other is the zero point -128.
      EXPECT_EQ(values_of<std::int32_t>(bias.data)[unit], before + 255 * w[5 * unit + 1]);
    }
    EXPECT_LT(model_cost(pruned).multiply_adds, model_cost(model).multiply_adds);
  }
}

TEST(ConstantUnits, GoWhereNothingPadsWhatReadsThemOrTheyAreZero) {
  for (const auto& [padding, value, expected] :
       {std::tuple(Padding::valid, kHuge, Lines{"y0 1 0"}),
        std::tuple(Padding::valid, -kHuge, Lines{"y0 1 0"}),
        std::tuple(Padding::same, kHuge, Lines{}),
        std::tuple(Padding::same, -kHuge, Lines{"y0 1 0"})}) {
    IntegerModel model = row({{.code = kConv, .units = 3, .activation = kRelu},
                              {.code = kConv, .units = 2, .kernel = 3, .padding = padding}});
    set_bias(model, 0, 2, value);
    EXPECT_EQ(dropped(model), expected);
  }
}

TEST(ConstantUnits, GoThroughDepthwiseConvolutions) {
  IntegerModel model = row(
      {{.code = kConv, .units = 3, .activation = kRelu},
       {.code = kDepthwise, .units = 2, .kernel = 3, .padding = Padding::same, .activation = kRelu},
       {.code = kConv, .units = 2}});
  // Both results of channel 1, and one of channel 2: the other one stays, and with it both.
  for (const std::size_t unit : {2U, 3U, 4U}) set_bias(model, 1, unit, -kHuge);
  EXPECT_EQ(dropped(model), (Lines{"y0 1 0", "y1 2 0"}));
}

TEST(ConstantUnits, WhatIsReadByThemAloneGoesToo) {
  IntegerModel model = row({{.units = 4}, {.units = 4, .activation = kRelu}, {.units = 2}});
  for (const std::size_t unit : {0U, 1U, 2U}) set_bias(model, 1, unit, kHuge);
  // The unit that is left reads units 0 and 2.
  weights_of(model, 1)[3 * 4 + 1] = weights_of(model, 1)[3 * 4 + 3] = 0;
  EXPECT_EQ(dropped(model), (Lines{"y0 0 2", "y1 3 0"}));
}

TEST(ConstantUnits, GoBehindAnInputOfFloatsToo) {
  IntegerModel model = row({{.units = 4, .activation = kRelu}, {.units = 2}});
  set_bias(model, 0, 1, kHuge);
  ASSERT_EQ(dropped(model), Lines{"y0 1 0"});
  ModelTensor real = model.tensors[0];
  real.name = "real";
  real.dtype = DType::float32;
  real.quantization = {};
  model.tensors.push_back(real);
  const auto input = static_cast<std::int32_t>(model.tensors.size() - 1);
  model.operators.insert(model.operators.begin(),
                         Operator{.code = OpCode::quantize, .inputs = {input}, .outputs = {0}});
  model.inputs = {input};
  EXPECT_EQ(dropped_lines(model), Lines{"y0 1 0"});
}

TEST(ConstantUnits, StayWhereSomethingNeedsThem) {
  const auto constant_units = [](IntegerModel model, std::size_t count) {
    for (std::size_t unit = 0; unit < count; ++unit) set_bias(model, 0, unit, kHuge);
    return model;
  };
  const SumsSpec relu{.units = 3, .activation = kRelu};
  EXPECT_EQ(dropped(constant_units(row({relu}), 3)), Lines{});
  IntegerModel of_two = constant_units(row({relu, {.units = 2}}), 1);
  of_two.outputs.push_back(of_two.operators[0].outputs[0]);
  EXPECT_EQ(dropped(of_two), Lines{});
  // One unit of one scale, two of several.
  EXPECT_EQ(dropped(constant_units(row({relu, {.units = 2}}), 3)), Lines{"y0 2 0"});
  SumsSpec per_channel = relu;
  per_channel.per_channel = true;
  EXPECT_EQ(dropped(constant_units(row({per_channel, {.units = 2}}), 3)), Lines{"y0 1 0"});
  EXPECT_EQ(dropped(constant_units(row({{.code = kConv, .units = 4, .activation = kRelu},
                                        {.code = kConv, .units = 2, .groups = 2}}),
                                   2)),
            Lines{});
  // Weights that two operators read.
  IntegerModel shared = constant_units(row({{.activation = kRelu}, {.activation = kRelu}, {}}), 2);
  shared.operators[2].inputs = {shared.operators[2].inputs[0], shared.operators[1].inputs[1]};
  EXPECT_EQ(dropped(shared), Lines{});
}

TEST(ConstantUnits, BiasesThatOperatorsShareBecomeTheirOwn) {
  IntegerModel model = row({{.activation = kRelu}, {.activation = kRelu}, {}});
  ModelTensor& bias = model.tensors[static_cast<std::size_t>(model.operators[1].inputs[2])];
  std::ranges::fill(bias.data, std::uint8_t{0});
  model.operators[2].inputs[2] = model.operators[1].inputs[2];
  set_bias(model, 0, 1, kHuge);
  EXPECT_EQ(dropped(model), Lines{"y0 1 0"});
}

/// By that runtimes tell who computes packed weights.
TEST(ConstantUnits, PackedWeightsLoseAMultipleOfFourInputs) {
  IntegerModel model =
      row({{.units = 12, .activation = kRelu}, {.units = 2, .per_channel = true, .bits = 2}});
  for (std::size_t unit = 0; unit < 7; ++unit) set_bias(model, 0, unit, kHuge);
  EXPECT_EQ(dropped(model), Lines{"y0 7 0"});
  model.tensors[static_cast<std::size_t>(model.operators[1].inputs[1])].stored_bits = 2;
  EXPECT_EQ(dropped(model), Lines{"y0 4 0"});
}

TEST(ConstantUnits, ModelsNameTheRoundingModeInWhichTheyAreEqual) {
  IntegerModel model = row({{.activation = kRelu}, {}});
  prune_constant_units(model);
  EXPECT_FALSE(model.metadata.contains("octet.rounding"));
  set_bias(model, 0, 0, kHuge);
  prune_constant_units(model);
  EXPECT_EQ(model.metadata.at("octet.rounding"), "fp32");
  IntegerModel wide = as_int16(row({{}}));
  wide.metadata["octet.rounding"] = "fp32";
  expect_throws<FormatError>([&] { prune_constant_units(wide); },
                             {"operator 0 (FULLY_CONNECTED)", "rounding mode q15"});
}

}  // namespace
}  // namespace octet::test::constant_units_test
