// C source of UNIDIRECTIONAL_SEQUENCE_LSTM: the bytes of the interpreter in rounding mode double.

#include <octet/core/error.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/layers/quantize/quantize_testing.h>
#include <octet/tests/layers/quantize/random_lstms.h>
#include <octet/tests/runtime/lstm_models.h>

namespace octet::test::c_source_lstm_test {
namespace {

using CSourceLstm = CompiledC;

/// Random operators whose states begin at 0 in each call.
std::vector<CCase> random_cases(std::uint32_t count) {
  std::vector<CCase> cases;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const IntegerModel model = random_lstms(seed, LstmStates::of_one_call);
    cases.push_back({.model = model,
                     .rounding = Rounding::double_rounding,
                     .inputs = random_codes(model, 20, seed),
                     .weights = seed % 5 == 0 ? CWeights::packed : CWeights::int8,
                     .code = seed % 4 == 0 ? CCode::small : CCode::fast,
                     .input_in_arena = seed % 7 == 0});
  }
  return cases;
}

TEST_F(CSourceLstm, EqualsTheInterpreterOnEveryPath) {
  const CDriver driver(random_cases(12));
  EXPECT_GT(driver.output_bytes(), 5000U);
  for (const std::string& compiler : c_compilers()) {
    for (const Words& path : path_flags()) {
      EXPECT_EQ(driver.differing(compiler, joined(joined(kStrict, {"-std=c99", "-O2"}), path)), 0U);
    }
    EXPECT_EQ(
        driver.differing(compiler, joined(joined(kStrict, kTrapUndefined), {"-std=c99", "-O0"})),
        0U);
  }
}

TEST_F(CSourceLstm, TrainedNetworksEqualTheInterpreter) {
  std::vector<CCase> cases;
  std::ptrdiff_t operators = 0;
  for (std::uint32_t seed = 0; seed < random_networks(20); ++seed) {
    RandomLstms net(seed);
    Model model = quantize_model(
        net.model(), {.rounding = Rounding::double_rounding, .weight_bits = seed % 3 == 0 ? 4 : 8});
    calibrate(model, net.batch(17));
    train_a_little(model, 2, [&] { return net.batch(5); });
    const IntegerModel lowered = lower(model);
    operators += std::ranges::count(lowered.operators, OpCode::unidirectional_sequence_lstm,
                                    &Operator::code);
    cases.push_back({lowered, Rounding::double_rounding, random_codes(lowered, 20, seed)});
    if (seed % 2 == 0) cases.back().weights = CWeights::packed;
  }
  EXPECT_GT(operators, std::ssize(cases));
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O1"})), 0U);
  }
}

TEST(CSourceOfLstm, CountsWhatItTakes) {
  const CSource one =
      to_c_source(lstm_of_one_call(), "net", {.rounding = Rounding::double_rounding});
  EXPECT_EQ(one.macs, 4 * 3 * 2 * (4 + 2));
  EXPECT_NE(one.header.find("UNIDIRECTIONAL_SEQUENCE_LSTM \"y\", 3 steps of 4 -> 2\n"),
            std::string::npos);
  // Weights, of the hidden state up to a depth of 4, and zeros for vectors; what 4 units start
  // from, and their factors; structures; states of 0; points.
  const std::int64_t of_input = 8 + 2 * 12 + 16 + 20 + 44;
  EXPECT_EQ(one.flash_bytes, 4 * 2 * of_input + 48 + 2 + 4 + 512);
  // A row of 8 values of 16 bits, five times 2 values of 16 bits, and states of 2 units, to words.
  EXPECT_EQ(one.ram_bytes, 16 + 20 + 4 + 4);
}

TEST(CSourceOfLstm, NamesWhatItDoesNotTake) {
  const auto expect = [](const IntegerModel& model, Rounding rounding,
                         const std::vector<std::string>& words) {
    expect_throws<InvalidArgument>([&] { to_c_source(model, "net", {.rounding = rounding}); },
                                   words);
  };
  for (const Rounding rounding : {Rounding::fp32, Rounding::single_rounding}) {
    expect(lstm_model({}), rounding, {"UNIDIRECTIONAL_SEQUENCE_LSTM 'y'", "rounding mode double"});
  }
  expect(lstm_model({.dtype = DType::int16}), Rounding::q15, {"found q15"});
  IntegerModel far = lstm_model({});
  const std::int32_t most = 2147400000;
  std::memcpy(far.tensors[9].data.data(), &most, sizeof(most));
  expect(far, Rounding::double_rounding, {"biases too large"});
  // Another operator reads the cell state, or a result is made of it.
  IntegerModel read = random_lstms(0, LstmStates::kept);
  const std::int32_t cell = read.inputs[2];
  read.tensors.push_back(read.tensors[static_cast<std::size_t>(cell)]);
  read.tensors.back().name = "twice";
  const auto twice = static_cast<std::int32_t>(read.tensors.size() - 1);
  read.operators.push_back({.code = OpCode::add,
                            .inputs = {cell, cell},
                            .outputs = {twice},
                            .attributes = BinaryAttributes{}});
  read.outputs[0] = twice;
  expect(read, Rounding::double_rounding, {"(ADD)", "is int16, expected int8 or uint8"});
}

}  // namespace
}  // namespace octet::test::c_source_lstm_test
