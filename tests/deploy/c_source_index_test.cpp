// C source of networks that look up indices: int32 in, checked, then bytes as the interpreter's.

#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/step_model.h>
#include <octet/tests/core/quant/contracts.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>

#include <algorithm>
#include <cmath>

namespace octet::test::c_source_index_test {
namespace {

constexpr int kRows = 20;
constexpr Index kSteps = 6;

Tensor indices(Index examples, std::uint64_t seed) {
  Tensor x = Tensor::uniform({examples, kSteps}, Random(seed), 0.0F, 1.0F);
  for (float& v : x.mutable_span()) v = std::min(std::floor(v * kRows), kRows - 1.0F);
  return x;
}

Model words(Rounding rounding) {
  Model model("words");
  Value x = model.add(Embedding(kRows, 5), model.input({kSteps}));
  x = model.add(Dense(4, Activation::relu), x);
  model.output(model.add(GRU(3, {.return_sequences = true}), x));
  model.build(1);
  Model quantized = quantize_model(model, {.rounding = rounding});
  calibrate(quantized, indices(30, 1));
  return quantized;
}

IntegerModel read_again(const IntegerModel& model) { return from_tflite(to_tflite(model)); }

class CSourceIndices : public CompiledC {};

TEST_F(CSourceIndices, GiveTheBytesOfTheInterpreterAndAreChecked) {
  constexpr std::string_view kMain = R"(#include "net.h"

int main(void)
{
    int32_t x[NET_INPUT_SIZE] = {0};
    int8_t y[NET_OUTPUT_SIZE] = {0};
    if (net_invoke(x, y) != NET_OK) return 1;
    x[NET_INPUT_SIZE - 1] = 19;
    if (net_invoke(x, y) != NET_OK) return 2;
    x[NET_INPUT_SIZE - 1] = 20;
    if (net_invoke(x, y) != NET_ERROR_INDEX) return 3;
    x[0] = -1;
    x[NET_INPUT_SIZE - 1] = 0;
    return net_invoke(x, y) != NET_ERROR_INDEX;
}
)";
  for (const Rounding rounding : kContracts) {
    const IntegerModel model = read_again(lower(words(rounding)));
    const Tensor x = indices(9, 2);
    project_.write("main.c", std::string(kMain));
    for (const std::vector<float>& given :
         {std::vector(x.span().begin(), x.span().end()), std::vector<float>()}) {
      CSourceOptions options;
      options.self_test_inputs = given;
      project_.write(to_c_source(model, "net", options));
      for (const std::string& compiler : c_compilers()) {
        const Words flags = joined(joined({"-std=c99", "-O1"}, kStrict), kTrapUndefined);
        project_.build(compiler, joined(flags, {"-DNET_SELFTEST"}), "test", {"net.c"});
        EXPECT_EQ(run_process({project_.path("test")}).exit_code, 0);
        project_.build(compiler, flags, "main", {"net.c", "main.c"});
        EXPECT_EQ(run_process({project_.path("main")}).exit_code, 0);
      }
    }
  }
}

TEST_F(CSourceIndices, AreStepsOfStreams) {
  constexpr std::string_view kMain = R"(#include <stdio.h>
#include "net.h"

int main(void)
{
    static net_state state;
    int32_t x[NET_INPUT1_SIZE];
    int8_t y[NET_OUTPUT_SIZE];
    net_reset(&state);
    while (scanf("%d", x) == 1) {
        if (net_step(&state, x, y) != NET_OK) return 1;
        for (int i = 0; i < NET_OUTPUT_SIZE; ++i) printf("%d ", y[i]);
    }
    return 0;
}
)";
  const Model model = words(Rounding::double_rounding);
  const Tensor x = indices(1, 3);
  Interpreter interpreter(lower(model));
  std::ranges::copy(x.span(), interpreter.input<float>().begin());
  interpreter.invoke();
  std::string expected;
  for (const std::int8_t code : interpreter.output<std::int8_t>()) {
    expected += fmt::format("{} ", code);
  }
  std::string steps;
  for (const float v : x.span()) steps += fmt::format("{}\n", static_cast<int>(v));
  project_.write(to_c_source(read_again(lower(step_model(model))), "net"));
  project_.write("main.c", std::string(kMain));
  project_.write("in", steps);
  project_.build(c_compilers()[0], joined({"-std=c99", "-O1"}, kStrict), "main",
                 {"net.c", "main.c"});
  const ProcessResult result = project_.run_on("main", "in");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, expected);
}

TEST_F(CSourceIndices, AreRefusedWhereTheyHaveNoPlace) {
  const IntegerModel model = lower(words(Rounding::fp32));
  const std::vector<float> outside(kSteps, 20.0F);
  CSourceOptions options;
  options.self_test_inputs = outside;
  expect_throws<InvalidArgument>([&] { to_c_source(model, "net", options); },
                                 {"self-test indices from 0 to 19", "found 20"});
  options = {};
  options.input_in_arena = true;
  expect_throws<InvalidArgument>([&] { to_c_source(model, "net", options); },
                                 {"indices of int32", "input_in_arena"});
}

}  // namespace
}  // namespace octet::test::c_source_index_test
