// What the C source says of a model, what it refuses, and its helpers for floats.

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/example_metadata.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

namespace octet::test::c_source_test {
namespace {

IntegerModel small_model(bool float_ends = false) {
  return make_mlp(7, {6, 5, 3}, false, float_ends);
}

TEST(CSource, HeaderStatesTheModel) {
  IntegerModel model = small_model();
  model.name = "tiny";
  const CSource source = to_c_source(model, "tiny_net", {.rounding = Rounding::double_rounding});
  EXPECT_EQ(source.name, "tiny_net");
  EXPECT_EQ(source.macs, 6 * 5 + 5 * 3);
  // Weights of an even number of units, up to a depth of 8, and 16 zeros behind them; starts of a
  // multiple of 4; four factors and a structure for each layer, and the softmax's 256 words.
  EXPECT_EQ(source.flash_bytes, 8 * 6 + 8 * 4 + 4 * (8 + 4) + 2 * (16 + 20 + 44) + 1024);
  // The values between layers, in words and those of the second over those of the first, and a row
  // of 8 in 16 bits that a layer works in.
  EXPECT_EQ(source.ram_bytes, 8 + 16);
  const auto bytes = to_tflite(model);
  const auto crc = static_cast<unsigned>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
  char hash[16];
  std::snprintf(hash, sizeof hash, "0x%08xu", crc);
  for (const std::string& line : Words{
           "the network \"tiny\"",
           "input     \"input_1\", int8 [1, 6], scale 0.003921569, zero point -128",
           "output    \"softmax\", int8 [1, 3], scale 0.00390625, zero point -128",
           "rounding  contract double",
           "layer 1   FULLY_CONNECTED \"dense_0\", 6 -> 5, relu\n",
           "layer 2   FULLY_CONNECTED \"dense_1\", 5 -> 3\n",
           "layer 3   SOFTMAX \"softmax\", 3 values\n",
           "#define TINY_NET_INPUT_SIZE 6\n",
           "#define TINY_NET_INPUT_SHAPE {1, 6}\n",
           "#define TINY_NET_INPUT_SCALE 0.003921569f\n",
           "#define TINY_NET_INPUT_ZERO_POINT (-128)\n",
           "#define TINY_NET_OUTPUT_SIZE 3\n",
           "#define TINY_NET_OUTPUT_SHAPE {1, 3}\n",
           "#define TINY_NET_OUTPUT_SCALE 0.00390625f\n",
           "#define TINY_NET_OUTPUT_ZERO_POINT (-128)\n",
           "#define TINY_NET_FLASH_BYTES " + std::to_string(source.flash_bytes) + "\n",
           "#define TINY_NET_RAM_BYTES 24\n",
           "#define TINY_NET_MACS 45\n",
           "#define TINY_NET_ACCUMULATOR_BOUND " + std::to_string(source.accumulator_bound) + "\n",
           "#define TINY_NET_ROUNDING \"double\"\n",
           "#define TINY_NET_MODEL_CRC32 " + std::string(hash) + "\n",
           "int tiny_net_invoke(const int8_t *input, int8_t *output);",
       }) {
    expect_mentions(source.header, line);
  }
}

TEST(CSource, ChoosesWhatTakesAsMuchRamAsItMay) {
  const IntegerModel model = everything();
  const auto total_of = [](const CSource& s) { return s.ram_bytes + s.caller_bytes; };
  std::map<std::pair<bool, CCode>, std::int64_t> bytes;
  for (const bool in_arena : {false, true}) {
    for (const CCode code : {CCode::fast, CCode::small}) {
      const CSource s = to_c_source(model, "net", {.code = code, .input_in_arena = in_arena});
      bytes[{in_arena, code}] = total_of(s);
    }
  }
  std::int64_t least = bytes[{false, CCode::fast}];
  for (const auto& [choice, total] : bytes) {
    least = std::min(least, total);
    const CSource s = to_c_source(model, "net", {.ram = total});
    EXPECT_LE(total_of(s), total);
    EXPECT_EQ(
        s.source,
        to_c_source(model, "net", {.code = s.code, .input_in_arena = s.input_in_arena}).source);
  }
  const CSource asked = to_c_source(model, "net", {.ram = bytes[{false, CCode::fast}]});
  EXPECT_FALSE(asked.input_in_arena);
  EXPECT_EQ(asked.code, CCode::fast);
  EXPECT_LT(least, total_of(asked));
  expect_throws<InvalidArgument>(
      [&] { to_c_source(model, "net", {.ram = least - 1}); },
      {fmt::format("at most {} bytes of RAM", least - 1), fmt::format("takes {} at least", least)});
}

TEST(CSource, HeaderStatesTheOtherCodesBuffers) {
  const CSource fast = to_c_source(everything(), "net");
  const CSource small = to_c_source(everything(), "net", {.code = CCode::small});
  EXPECT_LT(small.ram_bytes, fast.ram_bytes);
  EXPECT_LT(small.source.size(), fast.source.size());
  EXPECT_EQ(small.flash_bytes, fast.flash_bytes);
  expect_mentions(fast.header, fmt::format("with {} bytes of buffers", small.ram_bytes));
  expect_mentions(small.header, fmt::format("with {} bytes of buffers", fast.ram_bytes));
  const IntegerModel no_sums =
      make_unary(OpCode::softmax, {"x", DType::int8, {1, 4}, {}, quant(0.1F, 3), {}},
                 {"y", DType::int8, {1, 4}, {}, quant(1.0F / 256, -128), {}});
  EXPECT_EQ(to_c_source(no_sums, "net").header.find("CCode"), std::string::npos);
}

TEST(CSource, BoundIsTheLargestSumOfAnyUnit) {
  const IntegerModel model = small_model();
  std::int64_t largest = 0;
  for (const Operator& op : model.operators) {
    if (op.code != OpCode::fully_connected) continue;
    const auto tensor = [&](std::size_t i) {
      return model.tensors[static_cast<std::size_t>(op.inputs[i])];
    };
    const std::int64_t zero = tensor(0).quantization.zero_point();
    const std::vector<std::uint8_t> weights = tensor(1).data;
    std::vector<std::int32_t> bias(tensor(2).data.size() / 4);
    std::memcpy(bias.data(), tensor(2).data.data(), tensor(2).data.size());
    for (std::size_t j = 0; j < bias.size(); ++j) {
      std::int64_t sum = std::abs(bias[j]);
      const std::size_t depth = weights.size() / bias.size();
      for (std::size_t i = 0; i < depth; ++i) {
        sum += std::abs(static_cast<std::int8_t>(weights[j * depth + i])) *
               std::max(127 - zero, zero + 128);
      }
      largest = std::max(largest, sum);
    }
  }
  EXPECT_EQ(to_c_source(model, "net").accumulator_bound, largest);
}

TEST(CSource, TakesTheModelsContractUnlessToldOtherwise) {
  IntegerModel model = small_model();
  for (const Rounding rounding : kContracts) {
    const std::string line = "_ROUNDING \"" + std::string(to_string(rounding)) + "\"";
    model.metadata["octet.rounding"] = to_string(rounding);
    expect_mentions(to_c_source(model, "net").header, line);
    model.metadata["octet.rounding"] = "fp32";
    expect_mentions(to_c_source(model, "net", {.rounding = rounding}).header, line);
  }
}

TEST(CSource, EqualModelsGiveEqualText) {
  EXPECT_EQ(to_c_source(small_model(), "net").source, to_c_source(small_model(), "net").source);
}

TEST(CSource, NamesAreIdentifiersOrRefused) {
  const IntegerModel model = small_model();
  for (const char* name : {"a", "mnist_int8", "Net2", "x_1_y", "strings"}) {
    EXPECT_NO_THROW(to_c_source(model, name)) << name;
  }
  for (const char* name : {"", "8bit", "_net", "my-net", "my net", "net.c", "net_", "a__b", "n\n",
                           "n/x", "n\xC3\xA4", "n@name@", "string", "stdint"}) {
    const auto message = message_of<InvalidArgument>([&] { to_c_source(model, name); });
    expect_mentions(message, "c source: \"" + std::string(name) + "\"");
    expect_mentions(message, "expected letters, digits and single underscores");
  }
}

TEST(CSource, NamesOfTensorsStayInsideTheirComments) {
  IntegerModel model = small_model();
  model.name = "*/ #error \"@name@\" ?\?/\n /* \x1b[2J \xC3\xA4";
  for (ModelTensor& tensor : model.tensors) tensor.name = "*/ int x;\\\n" + tensor.name;
  const CSource source = to_c_source(model, "net");
  expect_mentions(source.header, "\"\\x2a/ \\x23error \\x22\\x40name\\x40\\x22");
  for (const char c : source.header + source.source)
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  CProject project;
  project.write(source);
  for (const std::string& compiler : c_compilers()) {
    project.build(compiler, joined(kStrict, {"-std=c99", "-c"}), "net.o", {"net.c"});
  }
}

TEST(CSource, RefusesWhatIsNoGraphOfCodes) {
  const auto refused = [](const IntegerModel& model, std::string_view part) {
    const auto message = message_of<InvalidArgument>([&] { to_c_source(model, "net"); });
    expect_mentions(message, "c source: ");
    expect_mentions(message, part);
  };
  const ModelTensor real{"x", DType::float32, {1, 4}, {}, {}, {}};
  const ModelTensor codes{"y", DType::int8, {1, 4}, {}, quant(0.1F, 3), {}};
  const ModelTensor wide{"w", DType::int16, {1, 4}, {}, quant(0.1F, 0, DType::int16), {}};
  refused(make_unary(OpCode::relu, real, {"y", DType::float32, {1, 4}, {}, {}, {}}),
          "did you mean the int8 model?");
  refused(make_unary(OpCode::quantize, real, wide), "\"w\" is int16");

  ModelTensor bare = codes;
  bare.quantization = {};
  refused(make_unary(OpCode::reshape, bare, bare), "has 0 scales");

  IntegerModel invalid = small_model();
  invalid.outputs = {99};
  message_of<FormatError>([&] { to_c_source(invalid, "net"); });
  EXPECT_NE(message_of<InvalidArgument>([] {
              to_c_source(small_model(), "net", {.self_test_inputs = std::vector<float>(7)});
            }).find("7 self-test values are no whole number of samples of 6"),
            std::string::npos);
}

TEST(CSource, SelfTestRunsTheSamplesThatItIsGiven) {
  const CSource source = to_c_source(
      small_model(), "net", {.self_test_inputs = {0, 1, 0.5F, 2, -1, 0.25F, 1, 1, 1, 1, 1, 1}});
  expect_mentions(source.source,
                  "net_golden_input[2][6] = {\n"
                  "    {-128, 127, -1, 127, -128, -64},\n"
                  "    {127, 127, 127, 127, 127, 127},\n};");
  expect_mentions(to_c_source(small_model(), "net").source, "net_golden_input[4][6] = {\n");
}

TEST(CSource, SelfTestQuantizesEachInputAsItsOwn) {
  RawModelBuilder b;
  const std::int32_t first = b.activation("a", {1, 2}, DType::int8, quant(0.5F, 0));
  const std::int32_t second = b.activation("b", {1, 2}, DType::int8, quant(0.25F, 1));
  const std::int32_t sum = b.activation("y", {1, 2}, DType::int8, quant(0.5F, 0));
  b.op(OpCode::add, {first, second}, sum, BinaryAttributes{});
  b.model.inputs = {first, second};
  b.model.outputs = {sum};
  const std::string source =
      to_c_source(b.model, "net", {.self_test_inputs = {1, -2, 1, 0.5F}}).source;
  expect_mentions(source, "net_golden_input1[1][2] = {\n    {2, -4},\n};");
  expect_mentions(source, "net_golden_input2[1][2] = {\n    {5, 3},\n};");
}

TEST(CSource, FilesAreNamedAfterTheNetwork) {
  const ScratchDirectory folder;
  const CSource source = write_c_source(small_model(), folder.path() / "my_net");
  EXPECT_EQ(text_of(folder.path() / "my_net.h"), source.header);
  EXPECT_EQ(text_of(folder.path() / "my_net.c"), source.source);
  EXPECT_EQ(source.header, to_c_source(small_model(), "my_net").header);
  message_of<InvalidArgument>([&] { write_c_source(small_model(), folder.path() / "my_net.c"); });
  message_of<IoError>([&] { write_c_source(small_model(), folder.path() / "none" / "net"); });
}

/// A program that quantizes, runs and dequantizes floats from one file to another.
constexpr const char* kFloatDriver = R"(#include <stdio.h>
#include "net.h"
int main(int argc, char **argv)
{
    static float in[NET_INPUT_SIZE], out[NET_OUTPUT_SIZE];
    static int8_t codes[NET_INPUT_SIZE], scores[NET_OUTPUT_SIZE];
    FILE *from = fopen(argv[argc - 2], "rb");
    FILE *to = fopen(argv[argc - 1], "wb");
    while (fread(in, sizeof in, 1, from) == 1) {
        if (net_quantize_input(in, codes) != NET_OK || net_invoke(codes, scores) != NET_OK ||
            net_dequantize_output(scores, out) != NET_OK) {
            return 1;
        }
        fwrite(codes, sizeof codes, 1, to);
        fwrite(out, sizeof out, 1, to);
    }
    return fclose(to);
}
)";

template <class T>
void append(Bytes& bytes, std::span<const T> values) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
  bytes.insert(bytes.end(), begin, begin + values.size_bytes());
}

/// Values on and next to every place where quantizing rounds to another code, and none at all.
std::vector<float> telling_values(float scale) {
  std::vector<float> values = {0.0F, -0.0F, NAN, INFINITY, -INFINITY, 1e30F, -1e30F, 1e-40F};
  for (int i = -600; i <= 600; ++i) {
    const float tie = static_cast<float>(i) * 0.5F * scale;
    for (const float v : {tie, std::nextafter(tie, 1e9F), std::nextafter(tie, -1e9F)}) {
      values.push_back(v);
    }
  }
  while (values.size() % 6 != 0) values.push_back(0.1F);
  return values;
}

TEST(CSource, HelpersQuantizeAndDequantizeAsTheInterpreter) {
  if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  IntegerModel model = small_model(/*float_ends=*/true);
  model.tensors[static_cast<std::size_t>(model.operators[0].outputs[0])].quantization =
      quant(1.0F / 255, 5);
  const std::vector<float> values = telling_values(1.0F / 255);
  CProject project;
  project.write("main.c", kFloatDriver);
  Bytes in;
  append<float>(in, values);
  write_file_atomic(project.path("in"), in);
  for (const Rounding rounding : kContracts) {
    Interpreter interpreter(model, {.rounding = rounding, .keep_tensors = true});
    Bytes expected;
    for (std::size_t i = 0; i < values.size(); i += 6) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i), 6,
                  interpreter.input<float>().begin());
      interpreter.invoke();
      append(expected, interpreter.tensor_bytes(model.operators[0].outputs[0]));
      append(expected, interpreter.output<float>());
    }
    project.write(to_c_source(model, "net", {.rounding = rounding}));
    for (const std::string& compiler : c_compilers()) {
      for (const Words& flags : {Words{"-O2", "-ffp-contract=fast"}, kTrapUndefined}) {
        project.build(compiler, joined(joined(kStrict, {"-std=c99"}), flags), "main",
                      {"main.c", "net.c"});
        EXPECT_EQ(project.run("main", {project.path("in"), project.path("out")}).exit_code, 0);
        EXPECT_TRUE(read_file(project.path("out")) == expected) << to_string(rounding);
      }
    }
  }
}

/// small_model() that says of its examples how they were normalized.
IntegerModel normalized_model(const Normalization& normalization) {
  IntegerModel model = small_model(/*float_ends=*/true);
  model.metadata[kNormalizationKey] = metadata_text(normalization);
  return model;
}

const std::vector<float> kSix = {0.5F, -1.0F, 0.25F, 2.0F, 0.1F, -0.75F};
const std::vector<float> kSixAbove0 = {0.5F, 1.0F, 0.25F, 2.0F, 0.1F, 1e-3F};

TEST(CSource, HelpersNormalizeByChannelOrByOneNumber) {
  if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  CProject project;
  project.write("main.c", kFloatDriver);
  const std::vector<float> values = telling_values(1.0F / 255);
  Bytes in;
  append<float>(in, values);
  write_file_atomic(project.path("in"), in);
  for (const Normalization& n : std::vector<Normalization>{
           {kSix, {0.3F}}, {{0.25F}, kSixAbove0}, {{}, {3.0F}}, {kSix, {}}}) {
    const IntegerModel model = normalized_model(n);
    std::vector<float> normalized = values;
    n.apply(normalized, Shape{6});
    Interpreter interpreter(model, {.keep_tensors = true});
    Bytes expected;
    for (std::size_t i = 0; i < values.size(); i += 6) {
      std::copy_n(normalized.begin() + static_cast<std::ptrdiff_t>(i), 6,
                  interpreter.input<float>().begin());
      interpreter.invoke();
      append(expected, interpreter.tensor_bytes(model.operators[0].outputs[0]));
      append(expected, interpreter.output<float>());
    }
    const CSource source = to_c_source(model, "net");
    expect_mentions(source.header, " net_quantize_input() is fed raw values x");
    for (const auto& [name, numbers, otherwise] :
         {std::tuple{"mean", n.mean, "0 of all"}, {"deviation", n.deviation, "1 of all"}}) {
      expect_mentions(
          source.header,
          fmt::format(" *   {:<10}{}\n", name,
                      numbers.empty() ? otherwise : fmt::format("{}", fmt::join(numbers, ", "))));
    }
    EXPECT_EQ(source.flash_bytes,
              to_c_source(small_model(true), "net").flash_bytes +
                  static_cast<std::int64_t>(4 * (n.mean.size() + n.deviation.size())));
    project.write(source);
    project.build(c_compilers()[0], joined(kStrict, {"-std=c99", "-O2"}), "main",
                  {"main.c", "net.c"});
    EXPECT_EQ(project.run("main", {project.path("in"), project.path("out")}).exit_code, 0);
    EXPECT_TRUE(read_file(project.path("out")) == expected) << metadata_text(n);
  }
}

// C99 promises 4095 characters.
TEST(CSource, LinesOfManyChannelsAreNoLongerThanCompilersTake) {
  IntegerModel model = make_mlp(7, {400, 3}, false, true);
  const Normalization normalization{std::vector<float>(400, 0.123456789F),
                                    std::vector<float>(400, 1.23456789F)};
  model.metadata[kNormalizationKey] = metadata_text(normalization);
  std::istringstream lines(to_c_source(model, "net").source);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  EXPECT_LE(longest, 4095U);
}

TEST(CSource, RefusesANormalizationOfOtherChannels) {
  const auto refused = [](const Normalization& normalization, const std::string& part) {
    const IntegerModel model = normalized_model(normalization);
    expect_mentions(message_of<FormatError>([&] { to_c_source(model, "net"); }), part);
  };
  // 3 divide the 6 values of the input, whose last axis has 6.
  refused({{1, 2, 3}, {}}, "'octet.normalization': mean: expected one number, or one for each");
  refused({{1, 2, 3}, {}}, "of the 6 channels of examples [6], found 3; is it of another model?");
  refused({kSix, {1, 2}}, "deviation: expected one number, or one for each of the 6 channels");
}

// A network may take the pixels of an image in one row: channels are the last axis of the image.
TEST(CSource, NormalizationIsThatOfTheExamplesChannels) {
  IntegerModel model = normalized_model({{1, 2, 3}, {}});
  model.metadata[kDataKey] = R"({"format":"images","shape":[2,1,3]})";
  expect_mentions(to_c_source(model, "net").source, "mean[i % 3]");
  for (const char* other : {R"({"shape":[2,1,4]})", R"({"shape":[]})", R"({"shape":[-1,-2,3]})"}) {
    model.metadata[kDataKey] = other;
    expect_mentions(message_of<FormatError>([&] { to_c_source(model, "net"); }),
                    "of the 6 channels of examples [6], found 3");
  }
  model.metadata[kDataKey] = "{}";
  expect_mentions(message_of<FormatError>([&] { to_c_source(model, "net"); }), "'octet.data': ");
}

TEST(CSource, NamesOfClassesAreTheTextsOfTheModel) {
  if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  const std::vector<std::string> names = {"caf\xC3\xA9 1", "say \"no\" \\ ?\?/", "tab\t7"};
  IntegerModel model = small_model();
  model.metadata[kClassesKey] = metadata_text(names);
  CProject project;
  project.write(to_c_source(model, "net"));
  project.write("main.c", R"(#include <stdio.h>
#include "net.h"
int main(void)
{
    static const char *const names[NET_CLASSES] = NET_CLASS_NAMES;
    for (int i = 0; i < NET_CLASSES; ++i) {
        puts(names[i]);
    }
    return 0;
}
)");
  for (const std::string& compiler : c_compilers()) {
    project.build(compiler, joined(kStrict, {"-std=c99"}), "main", {"main.c", "net.c"});
    EXPECT_EQ(project.run("main").out, fmt::format("{}\n", fmt::join(names, "\n")));
  }
}

TEST(CSource, ReshapeAloneCopies) {
  if (c_compilers().empty()) GTEST_SKIP() << "neither gcc nor clang is here";
  const IntegerModel model =
      make_unary(OpCode::reshape, {"x", DType::int8, {2, 3}, {}, quant(0.1F, 3), {}},
                 {"y", DType::int8, {6}, {}, quant(0.1F, 3), {}});
  EXPECT_EQ(to_c_source(model, "net").flash_bytes, 0);
  const CDriver driver({{model, Rounding::fp32, random_codes(model, 9, 1)}});
  EXPECT_EQ(driver.differing(c_compilers()[0], joined(kStrict, {"-std=c99"})), 0U);
}

}  // namespace
}  // namespace octet::test::c_source_test
