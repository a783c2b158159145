#include <octet/deploy/constant_units.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/deploy/value_ranges.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/deploy/drawn_networks.h>
#include <octet/tests/runtime/drawn_operators.h>

#include <functional>

namespace octet::test::constant_units_test {
namespace {

constexpr Index kSamples = 7;

/// Samples of the lowest values, of the highest, of both by turns, and random ones.
Values extreme_samples(const IntegerModel& model, Draw& draw) {
  Values inputs;
  for (const std::int32_t i : model.inputs) {
    const ModelTensor& tensor = model.tensors[static_cast<std::size_t>(i)];
    const auto [lo, hi] = code_limits(tensor.dtype);
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

}  // namespace
}  // namespace octet::test::constant_units_test
