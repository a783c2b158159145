// What compilers say of the C source, and what the compiled objects hold.

#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/deploy/naive.h>

#include <regex>

namespace octet::test {
namespace {

class CSourceCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  }

  CProject project_;
};

/// An MLP of the example's size.
IntegerModel example_model() { return make_mlp(3, {784, 256, 128, 10}, false, false); }

/// FULLY_CONNECTED with every activation, scales a tensor and a channel, several rows, LOGISTIC,
/// TANH, RELUs, QUANTIZE and SOFTMAX, from bytes to bytes.
IntegerModel everything() {
  Draw draw(5);
  ModelBuilder b;
  std::int32_t x = b.activation("bytes", {3, 7}, DType::uint8, quant(0.013F, 120, DType::uint8));
  b.model.inputs = {x};
  const auto unary = [&](OpCode code, const QuantParams& q, DType type = DType::int8) {
    const ModelTensor input = b.model.tensors[static_cast<std::size_t>(x)];
    const std::int32_t y = b.activation("unary", input.shape, type, q);
    b.op(code, {x}, y);
    x = y;
  };
  const auto dense = [&](const DenseSpec& spec) { x = add_dense(b, x, spec, draw); };
  unary(OpCode::quantize, quant(0.02F, -5));
  dense({.units = 9, .activation = FusedActivation::relu6, .output_zero_point = -90});
  unary(OpCode::tanh, quant(1.0F / 128, 0));
  dense({.units = 5, .per_channel = true, .activation = FusedActivation::relu_n1_to_1});
  dense({.units = 11, .weight_zero_point = -3, .bias = false, .output_zero_point = 4});
  unary(OpCode::relu, quant(0.09F, -128));
  unary(OpCode::relu6, quant(0.07F, -100));
  unary(OpCode::relu_n1_to_1, quant(0.05F, 7));
  dense({.units = 6, .per_channel = true, .activation = FusedActivation::relu});
  unary(OpCode::logistic, quant(1.0F / 256, -128));
  dense({.units = 4, .output_scale = 0.05F});
  const std::int32_t flat = b.activation("flat", {1, 12}, DType::int8, quant(0.05F, 0));
  b.op(OpCode::reshape, {x}, flat).new_shape = {1, 12};
  x = flat;
  unary(OpCode::softmax, quant(1.0F / 256, -128));
  unary(OpCode::quantize, quant(1.0F / 256, 0, DType::uint8), DType::uint8);
  b.model.outputs = {x};
  return b.model;
}

TEST_F(CSourceCompile, IsCleanCAndCpp) {
  for (const Rounding rounding : kContracts) {
    project_.write(to_c_source(everything(), "net", {.rounding = rounding}));
    for (const std::string& compiler : c_compilers()) {
      for (const Words& language : {Words{"-std=c99"}, Words{"-std=c11", "-ffreestanding"},
                                    Words{"-x", "c++", "-std=c++17"}}) {
        project_.build(compiler, joined(joined(kStrict, language), {"-O2", "-c"}), "net.o",
                       {"net.c"});
      }
    }
  }
}

TEST_F(CSourceCompile, TwoNetworksFitOneFile) {
  project_.write(to_c_source(everything(), "net"));
  project_.write(to_c_source(everything(), "net2", {.rounding = Rounding::double_rounding}));
  project_.write("both.c", "#include \"net.c\"\n#include \"net2.c\"\n");
  for (const std::string& compiler : c_compilers()) {
    project_.build(compiler, joined(kStrict, {"-std=c99", "-c"}), "both.o", {"both.c"});
  }
}

TEST_F(CSourceCompile, EveryOperatorEqualsTheInterpreter) {
  std::vector<CCase> cases;
  for (const Rounding rounding : kContracts) {
    cases.push_back({everything(), rounding, random_codes(everything(), 500, 1)});
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    // Whatever the flags: the last ones change what floats come to.
    for (const Words& flags :
         {Words{"-std=c99", "-O2"}, Words{"-x", "c++", "-std=c++17", "-Os"},
          Words{"-std=gnu11", "-Ofast", "-ffp-contract=fast", "-march=native"},
          Words{"-std=c99", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"}}) {
      EXPECT_EQ(driver.differing(compiler, flags), 0U) << ::testing::PrintToString(flags);
    }
  }
}

/// One layer whose sums are its biases, so that any sum can be had.
IntegerModel sums_model(const std::vector<std::int32_t>& sums, float factor) {
  ModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 1}, DType::int8, quant(1.0F, 0));
  const auto units = static_cast<std::int32_t>(sums.size());
  const std::int32_t w = b.constant("w", {units, 1}, DType::int8,
                                    std::vector<std::int8_t>(sums.size(), 0), quant(factor, 0));
  const std::int32_t bias = b.constant("b", {units}, DType::int32, sums);
  const std::int32_t y = b.activation("y", {1, units}, DType::int8, quant(1.0F, -3));
  b.op(OpCode::fully_connected, {x, w, bias}, y);
  b.model.inputs = {x};
  b.model.outputs = {y};
  return b.model;
}

/// Sums around every place where one of the contracts rounds to another code, the largest sums, and
/// any others.
std::vector<std::int32_t> telling_sums(float factor, Draw& draw) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> sums = {
      0, 1, -1, kMost, -kMost, 1 << 24, (1 << 24) + 1, -(1 << 25) - 2};
  for (int code = -130; code <= 130; ++code) {
    const double tie = (code + 0.5) / double{factor};
    if (std::abs(tie) > kMost - 10.0) continue;
    for (int i = -2; i <= 2; ++i) sums.push_back(static_cast<std::int32_t>(std::lround(tie)) + i);
  }
  for (int i = 0; i < 200; ++i) sums.push_back(draw.between(-kMost / 2, kMost / 2));
  return sums;
}

TEST_F(CSourceCompile, SumsAreRoundedAsTheContractSays) {
  Draw draw(1);
  std::vector<float> factors = {1e-38F, 1e-30F, 1e-9F, 1.0F / 1024, 0.375F, 0.5F,
                                1.0F,   1.5F,   3.0F,  1e5F,        1e9F,   1e20F};
  for (int i = 0; i < 12; ++i) factors.push_back(std::exp2(draw.uniform(-30.0F, 1.0F)));
  std::vector<CCase> cases;
  for (const float factor : factors) {
    const IntegerModel model = sums_model(telling_sums(factor, draw), factor);
    for (const Rounding rounding : kContracts) cases.push_back({model, rounding, Bytes(1)});
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, {"-std=c99", "-O1"}), 0U);
  }
}

TEST_F(CSourceCompile, SoftmaxHasTheInterpretersBytes) {
  std::vector<CCase> cases;
  for (const std::int32_t length : {1, 10, 257, 4095}) {
    for (const float scale : {1e-6F, 0.05F, 0.37F, 20.0F}) {
      const IntegerModel model =
          make_unary(OpCode::softmax, {"x", DType::int8, {1, length}, {}, quant(scale, 3), {}},
                     {"y", DType::int8, {1, length}, {}, quant(1.0F / 256, -128), {}});
      for (const Rounding rounding : kContracts) {
        const std::size_t samples = length > 1000 ? 3 : 40;
        cases.push_back({model, rounding, random_codes(model, samples, cases.size())});
      }
    }
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, {"-std=c99", "-O1"}), 0U);
  }
}

/// Compares the floats in integers of contract fp32 with the processor's own.
constexpr const char* kFloatCheck = R"(#include "net.c"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint32_t state = 1;
static uint32_t draw(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 1;
}

/* Positive, from 2^-low to 2^high. */
static uint32_t draw_bits(uint32_t low, uint32_t high)
{
    return ((127 - low + draw() % (low + high)) << 23) | (draw() & 0x7fffff);
}

static float real(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int same(net_float32 x, float value)
{
    return x.digits <= 0x1000000 && (float)ldexp((double)x.digits, x.exponent) == value;
}

int main(void)
{
    for (int i = 0; i < 2000000; ++i) {
        const uint32_t a = draw() % 50 == 0 ? draw() & 0xffffff : draw_bits(60, 12);
        const uint32_t b = draw() % 50 == 0 ? draw() & 0xffffff : draw_bits(60, 12);
        const uint32_t c = draw_bits(0, 20);
        const uint32_t d = draw_bits(9, 9);
        const uint32_t n = draw() >> draw() % 31;
        const net_float32 x = net_from_bits(c);
        const net_float32 y = net_from_bits(d);
        const net_float32 xy = net_to_float32(x.digits * y.digits, x.exponent + y.exponent);
        if (!same(net_from_bits(a), real(a)) ||
            !same(net_add(net_from_bits(a), net_from_bits(b)), real(a) + real(b)) ||
            !same(net_steps_per_unit(x), 256.0f / real(c)) || !same(xy, real(c) * real(d)) ||
            !same(net_to_float32(n, 0), (float)n)) {
            printf("%u %u %u %u %u\n", (unsigned)a, (unsigned)b, (unsigned)c, (unsigned)d,
                   (unsigned)n);
            return 1;
        }
    }
    return 0;
}
)";

TEST_F(CSourceCompile, FloatsInIntegersAreFloats) {
  project_.write(to_c_source(example_model(), "net", {.rounding = Rounding::fp32}));
  project_.write("main.c", kFloatCheck);
  for (const std::string& compiler : c_compilers()) {
    // The math library comes last on the command line.
    project_.build(compiler, {"-std=c99", "-O2", "-ffp-contract=off", "-c"}, "main.o", {"main.c"});
    const ProcessResult linked =
        run_process({compiler, project_.path("main.o"), "-o", project_.path("main"), "-lm"});
    ASSERT_EQ(linked.exit_code, 0) << linked.err;
    const ProcessResult result = project_.run("main");
    EXPECT_EQ(result.exit_code, 0) << compiler << ": " << result.out;
  }
}

TEST_F(CSourceCompile, UsesNoFloatsOutsideTheHelpers) {
  const std::string gcc = find_program("gcc");
  if (gcc.empty()) GTEST_SKIP() << "gcc is not here";
  const std::regex floats("\\b(float|double)\\b");
  for (const Rounding rounding : kContracts) {
    project_.write(to_c_source(everything(), "net", {.rounding = rounding}));
    project_.build(gcc, {"-E", "-P", "-DNET_NO_FLOAT"}, "bare", {"net.c"});
    EXPECT_FALSE(std::regex_search(text_of(project_.path("bare")), floats));
    project_.build(gcc, {"-E", "-P"}, "full", {"net.c"});
    EXPECT_TRUE(std::regex_search(text_of(project_.path("full")), floats));
#ifdef __x86_64__
    // No float and no vector register at all.
    project_.build(gcc, {"-O2", "-mgeneral-regs-only", "-DNET_NO_FLOAT", "-c"}, "net.o", {"net.c"});
#endif
  }
}

TEST_F(CSourceCompile, NeedsNoLibrary) {
  const std::string nm = find_program("nm");
  if (nm.empty()) GTEST_SKIP() << "nm is not here";
  project_.write(to_c_source(everything(), "net"));
  for (const std::string& compiler : c_compilers()) {
    // GCC may make a loop a memset or memcpy; every freestanding system has those.
    project_.build(compiler, {"-O2", "-fno-pic", "-ffreestanding", "-c"}, "net.o", {"net.c"});
    const ProcessResult undefined = run_process({nm, "-u", project_.path("net.o")});
    EXPECT_EQ(undefined.out, "") << compiler;
  }
}

/// Bytes by the columns "text data bss" of `size`.
std::vector<double> size_columns(const std::string& object) {
  const ProcessResult result = run_process({find_program("size"), object});
  std::stringstream lines(result.out);
  std::string heading;
  std::getline(lines, heading);
  std::vector<double> columns(3);
  for (double& column : columns) lines >> column;
  return columns;
}

TEST_F(CSourceCompile, StatesFlashAndRam) {
  if (find_program("size").empty()) GTEST_SKIP() << "size is not here";
  for (const Rounding rounding : kContracts) {
    const bool per_channel = rounding != Rounding::fp32;
    const CSource source = to_c_source(make_mlp(3, {784, 256, 128, 10}, per_channel, false), "net",
                                       {.rounding = rounding});
    const auto flash = static_cast<double>(source.flash_bytes);
    const auto ram = static_cast<double>(source.ram_bytes);
    project_.write(source);
    for (const std::string& compiler : c_compilers()) {
      project_.build(compiler, {"-std=c99", "-Os", "-c"}, "net.o", {"net.c"});
      const auto columns = size_columns(project_.path("net.o"));
      EXPECT_NEAR(columns[0] + columns[1], flash, 0.01 * flash) << compiler;
      EXPECT_GE(columns[0] + columns[1], flash) << compiler;
      EXPECT_NEAR(columns[2], ram, 0.01 * ram) << compiler;
    }
  }
}

TEST_F(CSourceCompile, RefusesSumsPast32Bits) {
  CSource source = to_c_source(everything(), "net");
  const std::regex bound("(ACCUMULATOR_BOUND) [0-9]+");
  source.header = std::regex_replace(source.header, bound, "$1 2147483648");
  project_.write(source);
  for (const std::string& compiler : c_compilers()) {
    for (const Words& language : {Words{"-std=c99"}, Words{"-x", "c++", "-std=c++17"}}) {
      const auto result = project_.compile(compiler, joined(language, {"-c"}), "net.o", {"net.c"});
      EXPECT_NE(result.exit_code, 0);
      expect_mentions(result.err, "net_sums_fit_32_bits");
    }
  }
}

TEST_F(CSourceCompile, SelfTestTellsEveryByte) {
  const CSource source = to_c_source(everything(), "net");
  for (const std::string& compiler : c_compilers()) {
    for (const Words& language : {Words{"-std=c99"}, Words{"-x", "c++", "-std=c++17"}}) {
      project_.write(source);
      const Words flags = joined(joined(kStrict, language), {"-DNET_SELFTEST"});
      project_.build(compiler, flags, "test", {"net.c"});
      const ProcessResult right = project_.run("test");
      EXPECT_EQ(right.exit_code, 0);
      EXPECT_EQ(right.out + right.err, "");
      // The last number of the golden outputs, one up.
      CSource wrong = source;
      const std::size_t end = wrong.source.rfind("},\n};");
      const std::size_t begin = wrong.source.rfind(' ', end) + 1;
      const int last = std::stoi(wrong.source.substr(begin, end - begin));
      wrong.source.replace(begin, end - begin, std::to_string(last == 255 ? 254 : last + 1));
      project_.write(wrong);
      project_.build(compiler, flags, "test", {"net.c"});
      EXPECT_EQ(project_.run("test").exit_code, 1);
    }
  }
}

TEST_F(CSourceCompile, NullPointersAreErrors) {
  project_.write(to_c_source(example_model(), "net"));
  project_.write("main.c", R"(#include "net.h"
int main(void)
{
    static float reals[NET_INPUT_SIZE];
    static int8_t in[NET_INPUT_SIZE], out[NET_OUTPUT_SIZE];
    return (net_invoke(0, out) == NET_ERROR_NULL) + (net_invoke(in, 0) == NET_ERROR_NULL) +
           (net_quantize_input(0, in) == NET_ERROR_NULL) +
           (net_quantize_input(reals, 0) == NET_ERROR_NULL) +
           (net_dequantize_output(0, reals) == NET_ERROR_NULL) +
           (net_dequantize_output(out, 0) == NET_ERROR_NULL) + 10 * (net_invoke(in, out) == NET_OK);
}
)");
  project_.build(c_compilers()[0], {"-std=c99"}, "main", {"main.c", "net.c"});
  EXPECT_EQ(project_.run("main").exit_code, 16);
}

}  // namespace
}  // namespace octet::test
