// What compilers say of the C source, and what the compiled objects hold.

#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive.h>

#include <bit>
#include <cmath>
#include <regex>

namespace octet::test::c_source_compile_test {
namespace {

using CSourceCompile = CompiledC;

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

TEST_F(CSourceCompile, NeedsNoFloatsOfMicrocontrollers) {
  const std::string clang = find_program("clang");
  if (clang.empty()) GTEST_SKIP() << "clang is not here";
  const std::regex soft_floats("__aeabi_[fd]|__(add|sub|mul|div|fix|float)[a-z]*[sd]f");
  project_.write("empty.c", "int main(void) { return 0; }\n");
  for (const char* target : {"thumbv6m-none-eabi", "thumbv7em-none-eabi", "riscv32-unknown-elf"}) {
    const Words flags = joined(
        kStrict, {"-std=c99", "-Os", "-ffreestanding", "-S", std::string("--target=") + target});
    // Not every clang knows every processor.
    if (project_.compile(clang, flags, "empty.s", {"empty.c"}).exit_code != 0) continue;
    for (const Rounding rounding : kContracts) {
      project_.write(to_c_source(everything(), "net", {.rounding = rounding}));
      project_.build(clang, joined(flags, {"-DNET_NO_FLOAT"}), "net.s", {"net.c"});
      EXPECT_FALSE(std::regex_search(text_of(project_.path("net.s")), soft_floats)) << target;
      project_.build(clang, flags, "net.s", {"net.c"});
      EXPECT_TRUE(std::regex_search(text_of(project_.path("net.s")), soft_floats)) << target;
    }
  }
}

TEST_F(CSourceCompile, UsesNoFloatsOutsideTheHelpers) {
  const std::string gcc = find_program("gcc");
  if (gcc.empty()) GTEST_SKIP() << "gcc is not here";
  const std::regex floats("\\b(float|double)\\b");
  for (const Rounding rounding : kContracts) {
    project_.write(to_c_source(everything(), "net", {.rounding = rounding}));
    // The headers of vectors, which freestanding code does without, have floats.
    project_.build(gcc, {"-ffreestanding", "-E", "-P", "-DNET_NO_FLOAT"}, "bare", {"net.c"});
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
      EXPECT_NEAR(columns[0] + columns[1], flash, 5000.0) << compiler;
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

/// A program that prints the code which net_quantize_input() makes of each value.
std::string printing_codes(const std::vector<float>& values) {
  std::string bits;
  for (const float v : values) bits += std::to_string(std::bit_cast<std::uint32_t>(v)) + "u,\n";
  return R"(#include "net.h"
#include <stdio.h>
#include <string.h>
static const uint32_t values[] = {)" +
         bits + R"(};
int main(void)
{
    static float reals[NET_INPUT_SIZE];
    static int8_t codes[NET_INPUT_SIZE];
    for (unsigned i = 0; i < sizeof values / sizeof *values; ++i) {
        memcpy(reals, &values[i], sizeof *reals);
        if (net_quantize_input(reals, codes) != NET_OK) return 1;
        printf("%d\n", codes[0]);
    }
    return 0;
}
)";
}

TEST_F(CSourceCompile, FloatHelpersChangeWithTheFlagsThatTheHeaderNames) {
  const std::string gcc = find_program("gcc");
  if (gcc.empty()) GTEST_SKIP() << "gcc is not here";
  const IntegerModel model = make_mlp(1, {4, 3}, false, false);
  const CSource source = to_c_source(model, "net");
  const std::string sentence = source.header.substr(source.header.find("For callers who have"));
  expect_mentions(sentence, "-ffast-math");
  expect_mentions(sentence, "-mfpmath=387");

  // Next to the middle of two codes; the code of each by float32 arithmetic.
  const float scale = model.tensors[0].quantization.scale();
  std::vector<float> values;
  std::string expected;
  for (int k = 0; k < 250; ++k) {
    const float middle = (static_cast<float>(k) + 0.5F) * scale;
    for (const float x : {std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 9.0F)}) {
      values.push_back(x);
      expected += std::to_string(std::lrint(x / scale) - 128) + "\n";
    }
  }
  project_.write(source);
  project_.write("halves.c", printing_codes(values));
  const auto codes = [&](const Words& flags) {
    project_.build(gcc, joined({"-std=c99", "-O2"}, flags), "halves", {"halves.c", "net.c"});
    return project_.run("halves").out;
  };
  EXPECT_EQ(codes({}), expected);
#ifdef __x86_64__
  const CDriver network({{model, Rounding::fp32, random_codes(model, 50, 1)}});
  for (const char* flag : {"-mfpmath=387", "-ffast-math"}) {
    EXPECT_NE(codes({flag}), expected) << flag;
    EXPECT_EQ(network.differing(gcc, {"-O2", flag}), 0U) << flag;
  }
#endif
}

TEST_F(CSourceCompile, FilesOfTwoExportsDoNotCompile) {
  const CProject project;
  const CSource one = to_c_source(make_mlp(1, {6, 5, 3}, false, false), "net");
  const CSource other = to_c_source(make_mlp(2, {6, 5, 3}, false, false), "net");
  const std::string compiler = c_compilers().front();
  const auto compile = [&](const std::string& source) {
    project.write("net.h", one.header);
    project.write("net.c", source);
    return project.compile(compiler, {"-std=c99", "-c"}, "net.o", {"net.c"});
  };
  EXPECT_EQ(compile(one.source).exit_code, 0);
  const ProcessResult mixed = compile(other.source);
  EXPECT_NE(mixed.exit_code, 0);
  expect_mentions(mixed.err, "net.h and net.c are of two exports: export the model again");
}

}  // namespace
}  // namespace octet::test::c_source_compile_test
