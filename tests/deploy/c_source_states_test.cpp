// C source of a model that carries states: NAME_step() gives what StreamingInterpreter gives.

#include <octet/deploy/outline_internal.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/random_networks.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/foreign_streams.h>
#include <octet/tests/layers/layer_testing.h>
#include <octet/tests/layers/quantize/random_streams.h>
#include <octet/tests/runtime/lstm_models.h>
#include <octet/tests/runtime/svdf_models.h>

namespace octet::test::c_source_states_test {
namespace {

/// Windows that take two steps at once, states of a GRU that are a result too, and of an LSTM.
IntegerModel streaming(Rounding rounding) {
  Model model("stream");
  Value x = model.input({8, 3}, "x");
  x = model.add(Conv1D(4, 3, Activation::relu, {.stride = 2, .padding = Padding::causal}), x);
  x = model.add(GRU(5, {.return_sequences = true}), x);
  model.output(x);
  model.output(model.add(Dense(2, Activation::softmax), model.add(LSTM(4), x)));
  model.build(1);
  Model quantized = quantize_model(model, {.rounding = rounding});
  calibrate(quantized, random_tensor({20, 8, 3}, 1));
  return lower(step_model(quantized));
}

constexpr std::string_view kMain = R"(#include <stdio.h>
#include <string.h>
#include "net.h"

int main(void)
{
    static net_state state, other;
    static int8_t x[NET_INPUT1_SIZE], y[NET_OUTPUT1_SIZE], z[NET_OUTPUT2_SIZE];
    int sequence;
    if (net_step(0, x, y, z) != NET_ERROR_NULL || net_reset(0) != NET_ERROR_NULL) return 1;
    if (net_step(&state, x, y, z) != NET_ERROR_STATE) return 6;
    memset(&other, 0x55, sizeof other);
    if (net_step(&other, x, y, z) != NET_ERROR_STATE) return 7;
    for (sequence = 0; sequence < 2; ++sequence) {
        int i;
        net_reset(&state);
        net_reset(&other);
        for (i = 0; i < 20; ++i) {
            if (fread(x, sizeof x, 1, stdin) != 1) return 2;
            /* Another sequence in between, and a call that fails, change nothing. */
            if (net_step(&other, x, y, z) != NET_OK) return 3;
            if (net_step(&state, x, y, 0) != NET_ERROR_NULL) return 4;
            if (net_step(&state, x, y, z) != NET_OK) return 5;
            fwrite(y, sizeof y, 1, stdout);
            fwrite(z, sizeof z, 1, stdout);
        }
    }
    return 0;
}
)";

class CSourceStates : public CompiledC {
 protected:
  /// Writes random steps of two sequences to the file "in", and returns the results of the
  /// interpreter.
  std::string draw_steps(const IntegerModel& model, std::uint32_t seed, int steps = 20) const {
    const CarriedStates kept = kept_states(model);
    StreamingInterpreter stream(model, kept.states);
    std::string in;
    std::string expected;
    Draw draw(seed);
    for (int sequence = 0; sequence < 2; ++sequence) {
      stream.reset();
      for (int i = 0; i < steps; ++i) {
        for (std::byte& b : stream.interpreter().input_bytes()) {
          const int code = draw.between(-128, 127);
          in += static_cast<char>(code);
          b = static_cast<std::byte>(code);
        }
        stream.step();
        for (std::size_t k = 0; k < kept.results; ++k) {
          for (const std::byte b : stream.interpreter().output_bytes(k)) {
            expected += static_cast<char>(b);
          }
        }
      }
    }
    write_file_atomic(project_.path("in"), in);
    return expected;
  }

  void expect_prints(const std::string& compiler, const std::string& level,
                     const std::string& expected) const {
    project_.build(compiler, joined({"-std=c99", level}, joined(kStrict, kTrapUndefined)), "main",
                   {"net.c", "main.c"});
    const ProcessResult result = project_.run_on("main", "in");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.out, expected);
  }
};

TEST_F(CSourceStates, StepsGiveTheBytesOfTheInterpreter) {
  for (const Rounding rounding :
       {Rounding::fp32, Rounding::single_rounding, Rounding::double_rounding}) {
    const IntegerModel model = from_tflite(to_tflite(streaming(rounding)));
    const CarriedStates kept = kept_states(model);
    ASSERT_EQ(kept.states.size(), 4U);
    ASSERT_EQ(kept.results, 2U);
    const std::string expected = draw_steps(model, 3);
    const CSource source = to_c_source(model, "net");
    project_.write(source);
    project_.write("main.c", std::string(kMain));
    for (const std::string& compiler : c_compilers()) expect_prints(compiler, "-O2", expected);
    // Each state is read for the last time before, or where, it is written.
    EXPECT_EQ(source.header.find("[2]["), std::string::npos);
  }
}

/// Reads inputs of a network, each a step, of two sequences.
std::string main_of(const IntegerModel& model, int steps = 20) {
  const auto type_of = [&](std::int32_t i) {
    return model.tensors[static_cast<std::size_t>(i)].dtype == DType::uint8 ? "uint8_t" : "int8_t";
  };
  std::string text = fmt::format(R"(#include <stdio.h>
#include "net.h"

int main(void)
{{
    static net_state state;
    static {} x[NET_INPUT1_SIZE];
)",
                                 type_of(model.inputs[0]));
  std::string arguments;
  std::string writes;
  for (std::size_t k = 1; k <= kept_states(model).results; ++k) {
    text +=
        fmt::format("    static {1} y{0}[NET_OUTPUT{0}_SIZE];\n", k, type_of(model.outputs[k - 1]));
    arguments += fmt::format(", y{}", k);
    writes += fmt::format("        fwrite(y{0}, sizeof y{0}, 1, stdout);\n", k);
  }
  return text +
         fmt::format(R"(    int i;
    for (i = 0; i < {}; ++i) {{
        if (i % {} == 0) net_reset(&state);
)",
                     2 * steps, steps) +
         R"(        if (fread(x, sizeof x, 1, stdin) != 1) return 2;
        if (net_step(&state, x)" +
         arguments + ") != NET_OK) return 3;\n" + writes + "    }\n    return 0;\n}\n";
}

TEST_F(CSourceStates, StepsOfRandomNetworksGiveTheBytesOfTheInterpreter) {
  std::size_t states = 0;
  std::size_t in_place = 0;
  const auto compilers = c_compilers();
  for (std::uint32_t seed = 0; seed < random_networks(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStream net(seed);
    Model model = quantize_model(net.model(), {.rounding = kContracts[seed % kContracts.size()]});
    calibrate(model, net.batch(17));
    const StepModel one = streamed(model);
    if (one.states.empty()) continue;
    const IntegerModel lowered = lower(one);
    const CarriedStates kept = kept_states(lowered);
    const std::string expected = draw_steps(lowered, seed);
    const CSource source = to_c_source(lowered, "net");
    project_.write(source);
    project_.write("main.c", main_of(lowered));
    expect_prints(compilers[seed % compilers.size()], "-O1", expected);
    if (HasFatalFailure()) return;
    states += kept.states.size();
    in_place += source.header.find("[2][") == std::string::npos ? kept.states.size() : 0;
  }
  EXPECT_GT(in_place, states / 2);
}

TEST_F(CSourceStates, StepsOfForeignNetworksGiveTheBytesOfTheInterpreter) {
  if (foreign_models_folder().empty()) GTEST_SKIP() << "OCTET_MODELS_DIR is not set";
  const auto compilers = c_compilers();
  std::size_t tried = 0;
  for (const Rounding rounding : {Rounding::fp32, Rounding::double_rounding}) {
    for (const char* const name : kForeignStreams) {
      SCOPED_TRACE(name);
      IntegerModel model = foreign_stream(name);
      model.metadata["octet.rounding"] = to_string(rounding);
      if (rounding == Rounding::fp32 &&
          std::string_view(name).find("microwakeword") == std::string_view::npos) {
        expect_throws<InvalidArgument>([&] { to_c_source(model, "net"); },
                                       {"UNIDIRECTIONAL_SEQUENCE_LSTM", "rounding mode double"});
        continue;
      }
      const std::string expected = draw_steps(model, 5);
      project_.write(to_c_source(model, "net"));
      project_.write("main.c", main_of(model));
      expect_prints(compilers[tried++ % compilers.size()], "-O1", expected);
    }
  }
}

TEST_F(CSourceStates, StepsOfRandomLstmsGiveTheBytesOfTheInterpreter) {
  const auto compilers = c_compilers();
  for (std::uint32_t seed = 0; seed < random_networks(12); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const IntegerModel model = random_lstms(seed, LstmStates::kept);
    const std::string expected = draw_steps(model, seed);
    const CSource source = to_c_source(model, "net");
    project_.write(source);
    project_.write("main.c", main_of(model));
    expect_prints(compilers[seed % compilers.size()], seed % 4 < 2 ? "-O0" : "-O2", expected);
    // An operator's own states move on where they lie.
    EXPECT_EQ(source.header.find("[2]["), std::string::npos);
    EXPECT_NE(source.header.find("int16_t input3["), std::string::npos);
  }
}

/// Reads of the steps in a window of a convolution, and of them kept by a state.
struct DelayLine {
  std::int64_t filter;
  std::int64_t stride;
  std::int64_t dilation;
  /// Steps until the ring's window is at the front again, and those that it keeps.
  std::int64_t ring;
};

TEST_F(CSourceStates, DelayLinesAreRingsThatNothingMoves) {
  constexpr std::int64_t kFeatures = 3;
  for (const auto& [filter, stride, dilation, ring] :
       {DelayLine{2, 1, 1, 2 + 1}, DelayLine{5, 1, 1, 5 + 4}, DelayLine{3, 1, 32, 65 + 64},
        DelayLine{4, 3, 1, 6 + 3}, DelayLine{6, 4, 1, 12 + 5}, DelayLine{7, 2, 3, 20 + 18}}) {
    SCOPED_TRACE(fmt::format("{} steps, {} apart, by {}", filter, dilation, stride));
    Model model("line");
    Value x = model.input({stride * 8, kFeatures}, "x");
    x = model.add(Conv1D(4, filter, Activation::none,
                         {.stride = stride, .dilation = dilation, .padding = Padding::causal}),
                  x);
    model.output(model.add(Dense(2), x));
    model.build(1);
    Model quantized = quantize_model(model, {});
    calibrate(quantized, random_tensor({20, stride * 8, kFeatures}, 1));
    const IntegerModel lowered = lower(step_model(quantized));
    constexpr int kSteps = 140;
    const std::string expected = draw_steps(lowered, 3, kSteps);
    project_.write("main.c", main_of(lowered, kSteps));
    for (const CCode code : {CCode::fast, CCode::small}) {
      const CSource source = to_c_source(lowered, "net", {.code = code});
      project_.write(source);
      expect_prints(c_compilers()[0], "-O2", expected);
      const std::int64_t kept = (filter - 1) * dilation;
      EXPECT_NE(source.header.find(fmt::format("int8_t input2[{}];",
                                               kFeatures * (code == CCode::fast ? ring : kept))),
                std::string::npos);
      EXPECT_EQ(source.source.find("CONCATENATION") == std::string::npos, code == CCode::fast);
      EXPECT_EQ(source.source.find("STRIDED_SLICE") == std::string::npos, code == CCode::fast);
    }
  }
}

TEST_F(CSourceStates, TheSelfTestRunsASequence) {
  project_.write(to_c_source(streaming(Rounding::double_rounding), "net"));
  project_.build(c_compilers()[0], joined({"-std=c99", "-DNET_SELFTEST"}, kStrict), "self_test",
                 {"net.c"});
  EXPECT_EQ(project_.run("self_test", {}).exit_code, 0);
}

/// A result that reads a state behind the operator that writes it anew.
IntegerModel late_reader() {
  RawModelBuilder b;
  const auto value = [&](const char* name) {
    return b.activation(name, {1, 4}, DType::int8, quant(0.5F, 3));
  };
  const std::int32_t x = value("x");
  const std::int32_t old = value("old");
  const std::int32_t next = value("next");
  const std::int32_t y = value("y");
  b.model.inputs = {x, old};
  b.model.outputs = {y, next};
  b.op(OpCode::add, {x, x}, next, BinaryAttributes{});
  b.op(OpCode::add, {old, x}, y, BinaryAttributes{});
  keep_states(b.model, {{{1, 1}}, 1});
  return b.model;
}

TEST_F(CSourceStates, AStateThatIsReadBehindItsWriterHasTwoHalves) {
  const IntegerModel model = late_reader();
  const std::string expected = draw_steps(model, 1);
  const CSource source = to_c_source(model, "net");
  EXPECT_NE(source.header.find("int8_t input2[2][4]"), std::string::npos);
  project_.write(source);
  project_.write("main.c", main_of(model));
  expect_prints(c_compilers()[0], "-O1", expected);
}

/// A ring whose newest values are another state, behind the operator that writes that anew.
IntegerModel ring_of_old_states() {
  RawModelBuilder b;
  const auto value = [&](const char* name, std::int32_t steps) {
    return b.activation(name, {1, steps, 4}, DType::int8, quant(0.5F, 3));
  };
  const std::int32_t x = value("x", 1);
  const std::int32_t old = value("old", 1);
  const std::int32_t kept = value("kept", 2);
  const std::int32_t next = value("next", 1);
  const std::int32_t window = value("window", 3);
  const std::int32_t cut = value("cut", 2);
  const std::int32_t y = value("y", 3);
  const auto places = [&](const char* name, const std::vector<std::int32_t>& numbers) {
    return b.constant(name, {3}, DType::int32, numbers);
  };
  b.model.inputs = {x, old, kept};
  b.model.outputs = {y, next, cut};
  b.op(OpCode::add, {x, x}, next, BinaryAttributes{});
  b.op(OpCode::concatenation, {kept, old}, window, ConcatenationAttributes{.axis = 1});
  b.op(OpCode::strided_slice,
       {window, places("begin", {0, 1, 0}), places("end", {1, 3, 4}), places("strides", {1, 1, 1})},
       cut);
  b.op(OpCode::add, {window, window}, y, BinaryAttributes{});
  keep_states(b.model, {{{1, 1}, {2, 2}}, 1});
  return b.model;
}

TEST_F(CSourceStates, AStateThatGoesIntoARingIsNotOverwrittenBefore) {
  const IntegerModel model = ring_of_old_states();
  const std::string expected = draw_steps(model, 1);
  const CSource source = to_c_source(model, "net");
  EXPECT_NE(source.header.find("int8_t input2[2][4]"), std::string::npos);
  EXPECT_NE(source.header.find("int32_t input3_at"), std::string::npos);
  project_.write(source);
  project_.write("main.c", main_of(model));
  expect_prints(c_compilers()[0], "-O1", expected);
}

/// The results of 20 steps on random codes.
std::vector<std::byte> results_of(const IntegerModel& model) {
  const CarriedStates kept = kept_states(model);
  StreamingInterpreter stream(model, kept.states);
  std::vector<std::byte> results;
  Draw draw(5);
  for (int i = 0; i < 20; ++i) {
    for (std::byte& b : stream.interpreter().input_bytes()) {
      b = static_cast<std::byte>(draw.between(0, 255));
    }
    stream.step();
    for (std::size_t k = 0; k < kept.results; ++k) {
      const auto bytes = std::as_const(stream).interpreter().output_bytes(k);
      results.insert(results.end(), bytes.begin(), bytes.end());
    }
  }
  return results;
}

TEST(KeptStates, AreVariablesOfFiles) {
  for (const IntegerModel& model :
       {streaming(Rounding::fp32), lower(step_model(waiting_stream(), {.delay = true}))}) {
    const auto bytes = to_tflite(model, TfliteStates::variables);
    const IntegerModel read = from_tflite(bytes);
    EXPECT_EQ(results_of(read), results_of(model));
    EXPECT_EQ(read.inputs.size(), model.inputs.size());
    EXPECT_EQ(to_tflite(read, TfliteStates::variables), bytes);
    // As the file itself has it.
    const detail::FileOutline outline = detail::outline_tflite(bytes);
    ASSERT_EQ(outline.graphs.size(), 2U);
    EXPECT_EQ(outline.graphs[0].inputs.size(), 1U);
    EXPECT_EQ(outline.graphs[0].outputs.size(), kept_states(model).results);
  }
  IntegerModel without = streaming(Rounding::fp32);
  without.metadata.erase("octet.states");
  expect_throws<InvalidArgument>([&] { to_tflite(without, TfliteStates::variables); },
                                 {"expected a model that carries states", "step_model()"});
}

TEST(KeptStates, AreVariableTensorsOfAnLstm) {
  const IntegerModel model = lstm_model({});
  const auto bytes = to_tflite(model);
  const IntegerModel read = from_tflite(bytes);
  EXPECT_EQ(results_of(read), results_of(model));
  EXPECT_EQ(read.metadata.at("octet.states"), "1 1:1 2:2");
  EXPECT_EQ(to_tflite(read), bytes);
  const detail::FileOutline outline = detail::outline_tflite(bytes);
  EXPECT_EQ(outline.graphs[0].inputs.size(), 1U);
  EXPECT_EQ(outline.graphs[0].operators[0].inputs.size(), 24U);
  EXPECT_EQ(outline.graphs[0].operators[0].outputs.size(), 1U);
  EXPECT_EQ(outline.graphs[0].operators[0].refusal, "");
  for (const char* states : {"3", "2 1:1 2:2", "1 1:1"}) {
    IntegerModel other = model;
    other.metadata["octet.states"] = states;
    if (std::string(states) == "1 1:1") other.outputs.pop_back();
    expect_throws<InvalidArgument>([&] { to_tflite(other); },
                                   {"UNIDIRECTIONAL_SEQUENCE_LSTM 'y'", "keep_states()"});
  }
}

/// The model with a RELU in front of its first input.
IntegerModel behind_relu(IntegerModel model) {
  const std::int32_t x = model.inputs[0];
  ModelTensor input = model.tensors[static_cast<std::size_t>(x)];
  input.name = "input";
  model.inputs[0] = static_cast<std::int32_t>(model.tensors.size());
  model.operators.insert(
      model.operators.begin(),
      Operator{.code = OpCode::relu, .inputs = {model.inputs[0]}, .outputs = {x}});
  model.tensors.push_back(std::move(input));
  return model;
}

TEST(KeptStates, AreVariableTensorsOfAnSvdf) {
  const std::vector<std::pair<DType, int>> versions{
      {DType::float32, 1}, {DType::int16, 3}, {DType::int8, 4}};
  for (const auto& [state, version] : versions) {
    const IntegerModel model = svdf_model(state);
    const auto bytes = to_tflite(model);
    const IntegerModel read = from_tflite(bytes);
    EXPECT_EQ(results_of(read), results_of(model));
    EXPECT_EQ(read.metadata.at("octet.states"), "1 1:1");
    EXPECT_EQ(read.operators[0].version, version);
    EXPECT_EQ(to_tflite(read), bytes);
    const detail::FileOutline outline = detail::outline_tflite(bytes);
    EXPECT_EQ(outline.graphs[0].inputs.size(), 1U);
    EXPECT_EQ(outline.graphs[0].operators[0].inputs, (std::vector<std::int32_t>{0, 1, 2, 4, 3}));
    EXPECT_EQ(outline.graphs[0].operators[0].outputs.size(), 1U);
    EXPECT_EQ(outline.graphs[0].operators[0].refusal, "");
    const IntegerModel second = behind_relu(model);
    const auto bytes_of_second = to_tflite(second);
    EXPECT_EQ(detail::outline_tflite(bytes_of_second).graphs[0].inputs.size(), 1U);
    EXPECT_EQ(results_of(from_tflite(bytes_of_second)), results_of(second));
    expect_throws<InvalidArgument>(
        [&, m = model]() mutable {
          m.metadata.erase("octet.states");
          to_tflite(m);
        },
        {"SVDF 'y'", "keep_states()"});
    expect_throws<InvalidArgument>([&] { to_c_source(model, "net"); },
                                   {state == DType::float32 ? "float32" : "operator 0 (SVDF)"});
  }
}

TEST(KeptStates, AreRefusedWhereTheyDoNotFit) {
  IntegerModel model = streaming(Rounding::fp32);
  for (const char* text : {"", "x", "2 1", "2 1:", "2 1:1 ", "2 1;1", "2 99:1", "9 1:0 2:2 3:3 4:4",
                           "1 1:0 2:2 3:3 4:4", "2 1:2 2:2"}) {
    model.metadata["octet.states"] = text;
    expect_throws<FormatError>([&] { kept_states(model); }, {"octet.states"});
  }
  model.metadata.erase("octet.states");
  EXPECT_TRUE(kept_states(model).states.empty());
  expect_throws<InvalidArgument>([&] { keep_states(model, {{{99, 0}}, 2}); }, {"99"});
}

}  // namespace
}  // namespace octet::test::c_source_states_test
