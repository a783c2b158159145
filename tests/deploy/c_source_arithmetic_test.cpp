// The arithmetic of the C source against the interpreter's, and against the processor's floats.

#include <octet/core/quant/fixed_point_math.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive.h>

#include <cmath>
#include <limits>

namespace octet::test::c_source_arithmetic_test {
namespace {

using CSourceArithmetic = CompiledC;

TEST_F(CSourceArithmetic, EveryOperatorEqualsTheInterpreter) {
  std::vector<CCase> cases;
  for (const Rounding rounding : kContracts) {
    cases.push_back({everything(), rounding, random_codes(everything(), 500, 1)});
  }
  const CDriver driver(std::move(cases));
  // Whatever the flags, by the compilers in turn: Ofast changes what floats come to.
  const Words compilers = c_compilers();
  std::size_t turn = 0;
  for (const Words& flags :
       {Words{"-std=c99", "-O2"},
        Words{"-std=gnu11", "-Ofast", "-ffp-contract=fast", "-march=native"},
        joined(kTrapUndefined, {"-std=c99", "-O1"}), Words{"-x", "c++", "-std=c++17", "-Os"},
        Words{"-std=c99", "-Ofast", "-ffp-contract=fast", "-march=native"}}) {
    const std::string& compiler = compilers[turn++ % compilers.size()];
    EXPECT_EQ(driver.differing(compiler, flags), 0U) << compiler << ::testing::PrintToString(flags);
  }
}

/// One layer whose sums are its biases, so that any sum can be had.
IntegerModel sums_model(const std::vector<std::int32_t>& sums, float factor) {
  RawModelBuilder b;
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

TEST_F(CSourceArithmetic, SumsAreRoundedAsTheContractSays) {
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
  const Words compilers = c_compilers();
  for (std::size_t i = 0; i < path_flags().size(); ++i) {
    const Words path = path_flags()[i];
    EXPECT_EQ(driver.differing(compilers[i % compilers.size()], joined(path, {"-std=c99", "-O1"})),
              0U)
        << ::testing::PrintToString(path);
  }
}

TEST_F(CSourceArithmetic, SoftmaxHasTheInterpretersBytes) {
  std::vector<CCase> cases;
  for (const std::int32_t length : {1, 10, 512, 4095}) {
    for (const float scale : {1e-6F, 0.05F, 0.37F, 20.0F}) {
      const IntegerModel model =
          make_unary(OpCode::softmax, {"x", DType::int8, {1, length}, {}, quant(scale, 3), {}},
                     {"y", DType::int8, {1, length}, {}, quant(1.0F / 256, -128), {}});
      for (const Rounding rounding : kContracts) {
        const std::size_t samples = length > 1000 ? 3 : 40;
        Bytes codes = random_codes(model, samples, cases.size());
        // One more row, of one code: in 512 the shares are ties.
        codes.resize(codes.size() + static_cast<std::size_t>(length), 17);
        cases.push_back({model, rounding, codes});
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

TEST_F(CSourceArithmetic, FloatsInIntegersAreFloats) {
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

TEST_F(CSourceArithmetic, FixedPointReciprocalsAreTheLibrarys) {
  constexpr std::int32_t kStep = 21473;
  project_.write(to_c_source(example_model(), "net", {.rounding = Rounding::double_rounding}));
  project_.write("main.c", R"(#include "net.c"
#include <stdio.h>
int main(void)
{
    for (int64_t a = 0; a <= INT32_MAX; a += 21473) {
        const int32_t y = net_one_over_one_plus((int32_t)a);
        fwrite(&y, sizeof y, 1, stdout);
    }
    return 0;
}
)");
  std::string expected;
  for (std::int64_t a = 0; a <= std::numeric_limits<std::int32_t>::max(); a += kStep) {
    const std::int32_t y = one_over_one_plus_x(static_cast<std::int32_t>(a));
    expected.append(reinterpret_cast<const char*>(&y), sizeof y);
  }
  for (const std::string& compiler : c_compilers()) {
    project_.build(compiler, {"-std=c99", "-O2"}, "main", {"main.c"});
    EXPECT_TRUE(project_.run("main").out == expected) << compiler;
  }
}

}  // namespace
}  // namespace octet::test::c_source_arithmetic_test
