// The `octet` tool as its users run it: a process, its output and its exit code.

#include <gtest/gtest.h>
#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>
#include <octet_test_paths.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

namespace octet::test::octet_tool_test {
namespace {

namespace fs = std::filesystem;

struct Result {
  int exit_code = -1;
  std::string out;
  std::string err;
};

std::string text_of(const fs::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

class OctetTool : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("octet_tool_test_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Result octet(const std::string& arguments) const {
    const std::string command = "'" OCTET_TOOL "' " + arguments + " 2>'" + path("stderr") + "'";
    Result result;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 4096> chunk{};
    for (std::size_t n = 1; n > 0;) {
      n = std::fread(chunk.data(), 1, chunk.size(), pipe);
      result.out.append(chunk.data(), n);
    }
    const int status = ::pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.err = text_of(folder_ / "stderr");
    return result;
  }

  void expect_failure(const std::string& arguments, int exit_code, const std::string& message) {
    const Result result = octet(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }

  fs::path folder_;
};

TEST_F(OctetTool, HelpAndVersion) {
  const Result version = octet("--version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.substr(0, 6), "octet ");
  const Result help = octet("--help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"inspect", "run", "eval", "verify"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  }
  EXPECT_EQ(octet("run --help").exit_code, 0);
  std::string verify = octet("verify --help").out;
  std::ranges::replace(verify, '\n', ' ');
  EXPECT_NE(verify.find("A .c file is compiled and run as you"), std::string::npos) << verify;
}

TEST_F(OctetTool, WrongUsageIsOneLineAndExitCode2) {
  write_tflite(make_mlp(1, {4, 3}, false, false), path("m.tflite"));
  expect_failure("", 2, "A command is required");
  expect_failure("frobnicate", 2, "frobnicate");
  expect_failure("--frobnicate", 2, "--frobnicate");
  expect_failure("inspect", 2, "FILE");
  expect_failure("inspect '" + path("m.tflite") + "' --frob", 2, "--frob");
  expect_failure("eval '" + path("m.tflite") + "' --data x --rounding up", 2, "--rounding");
  expect_failure("eval '" + path("m.tflite") + "' --data x --target tflite", 2,
                 "--target: tflite not in {litert,tflm,cmsis-nn,onnxruntime}");
  expect_failure("eval '" + path("m.tflite") + "' --data x --target tflm --rounding fp32", 2,
                 "--target and --rounding: target tflm computes by rounding contract double");
  expect_failure("eval '" + path("m.tflite") + "' --data x --threads 0", 2, "--threads");
  expect_failure("eval '" + path("m.tflite") + "' --data x --limit -1", 2,
                 "--limit: expected a whole number from 1 to 1000000000, found \"-1\" (");
  // A shell makes an empty name of a variable that is not set.
  for (const char* arguments : {"inspect ''", "run m --input '' --output x",
                                "run m --input x --output ''", "eval m --data ''", "verify m ''",
                                "verify m m --data ''", "export m --c ''", "export m --onnx ''"}) {
    expect_failure(arguments, 2, "expected a name, found an empty one");
  }
}

TEST_F(OctetTool, FailuresAreOneLineAndExitCode1) {
  expect_failure("inspect '" + path("none.tflite") + "'", 1, "No such file or directory");
  write_file_atomic(path("bad.tflite"), std::string_view("not a model, but longer than 8"));
  expect_failure("inspect '" + path("bad.tflite") + "'", 1, "no TFL3 identifier");
  write_tflite(make_mlp(1, {4, 3}, false, false), path("m.tflite"));
  expect_failure("eval '" + path("m.tflite") + "' --data '" + path("nowhere") + "'", 1, "octet: ");
  expect_failure("export '" + path("m.tflite") + "' --c '" + path("none/net") + "'", 1,
                 "there is no folder '" + path("none") + "'");
  expect_failure("inspect '" + path("m.tflite") + "' >/dev/full", 1, "standard output");
  // What ends on .ckpt is taken for a checkpoint.
  write_file_atomic(path("bad.ckpt"), std::string_view("not a checkpoint"));
  expect_failure("verify '" + path("m.tflite") + "' '" + path("bad.ckpt") + "'", 1,
                 "octet: " + path("bad.ckpt") + ": expected an octet archive");
}

TEST_F(OctetTool, InspectPrintsTheModel) {
  const IntegerModel model = make_mlp(1, {6, 5, 4}, true, false);
  write_tflite(model, path("m.tflite"));
  const Result text = octet("inspect '" + path("m.tflite") + "'");
  EXPECT_EQ(text.exit_code, 0);
  for (const char* part :
       {"FULLY_CONNECTED", "SOFTMAX", "relu", "dense_0/kernel", "[5, 6]", "octet.rounding = fp32",
        "5 scales along axis 0", "quantization             (0.003921568859368563, -128)",
        "shape_signature          [-1, 6]"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }

  const Result result = octet("inspect --json '" + path("m.tflite") + "'");
  EXPECT_EQ(result.exit_code, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("bytes"), to_tflite(model).size());
  EXPECT_EQ(json.at("operators").size(), 3U);
  EXPECT_EQ(json.at("operators")[0].at("operator"), "FULLY_CONNECTED");
  EXPECT_EQ(json.at("operators")[0].at("version"), 4);
  EXPECT_EQ(json.at("tensors").size(), model.tensors.size());
  EXPECT_EQ(json.at("tensors")[1].at("quantization_parameters").at("scales").size(), 5U);
  EXPECT_EQ(json.at("tensors")[1].at("quantization"), nlohmann::json({0.0, 0}));
  const auto& input = json.at("inputs")[0];
  EXPECT_EQ(input.at("name"), "input_1");
  EXPECT_EQ(input.at("dtype"), "int8");
  EXPECT_EQ(input.at("shape_signature"), nlohmann::json({-1, 6}));
  EXPECT_EQ(input.at("quantization")[0], 0.003921568859368563);
  EXPECT_EQ(json.at("metadata").at("octet.rounding"), "fp32");
}

TEST_F(OctetTool, InspectPrintsWhatEveryOperatorCosts) {
  write_tflite(make_mlp(1, {6, 5, 4}, true, false), path("m.tflite"));
  const std::string text = octet("inspect '" + path("m.tflite") + "'").out;
  EXPECT_NE(text.find("multiply-adds constants  scale"), std::string::npos) << text;
  // The first layer: its shape, products, weights and bias, and a scale per unit.
  const std::size_t begin = text.find("\n    0  FULLY_CONNECTED");
  ASSERT_NE(begin, std::string::npos) << text;
  const std::string line = text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
  for (const char* part : {" [1, 5] ", " 30 ", " 50 ", " to ", " (5) ", " relu"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
  }
  const std::size_t total = text.find("\ntotal  3 operators ");
  ASSERT_NE(total, std::string::npos) << text;
  EXPECT_TRUE(
      text.substr(total + 1, text.find('\n', total + 1) - total - 1).ends_with(" 50        86"))
      << text;

  const auto json = nlohmann::json::parse(octet("inspect --json '" + path("m.tflite") + "'").out);
  EXPECT_EQ(json.at("multiply_adds"), 50);
  EXPECT_EQ(json.at("constant_bytes"), 86);
  const auto& second = json.at("operators")[1];
  EXPECT_EQ(second.at("output_shape"), nlohmann::json({1, 4}));
  EXPECT_EQ(second.at("multiply_adds"), 20);
  EXPECT_EQ(second.at("constant_bytes"), 36);
}

TEST_F(OctetTool, InspectPrintsTheAttributesOfEveryOperator) {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, grid)};
  const std::int32_t leaky = b.activation("leaky", {1, 2}, DType::int8, grid);
  b.op(OpCode::leaky_relu, {0}, leaky, LeakyReluAttributes{.alpha = 0.125F});
  const std::int32_t all = b.activation("all", {1, 4}, DType::int8, grid);
  b.op(OpCode::concatenation, {leaky, 0}, all, ConcatenationAttributes{.axis = -1});
  const std::int32_t sum = b.activation("sum", {1, 4}, DType::int8, grid);
  b.op(OpCode::add, {all, all}, sum, BinaryAttributes{.activation = FusedActivation::relu6});
  const std::int32_t flat = b.activation("flat", {4}, DType::int8, grid);
  b.op(OpCode::reshape, {sum}, flat, ReshapeAttributes{.new_shape = {4}});
  b.model.outputs = {b.activation("p", {4}, DType::int8, quant(1.0F / 256, -128))};
  b.op(OpCode::softmax, {flat}, b.model.outputs[0], SoftmaxAttributes{.beta = 2.0F});
  write_tflite(b.model, path("m.tflite"));
  const Result text = octet("inspect '" + path("m.tflite") + "'");
  for (const char* part :
       {" alpha 0.125\n", " axis -1\n", " relu6\n", " new_shape [4]\n", " beta 2\n"}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const auto json = nlohmann::json::parse(octet("inspect --json '" + path("m.tflite") + "'").out);
  const auto& operators = json.at("operators");
  EXPECT_EQ(operators[0].at("alpha"), 0.125);
  EXPECT_EQ(operators[1].at("axis"), -1);
  EXPECT_EQ(operators[1].at("activation"), "none");
  EXPECT_EQ(operators[2].at("activation"), "relu6");
  EXPECT_EQ(operators[3].at("new_shape"), nlohmann::json({4}));
  EXPECT_EQ(operators[4].at("beta"), 2.0);
}

TEST_F(OctetTool, InspectAndExportWarnOfWhatRuntimesRefuse) {
  IntegerModel model = make_mlp(1, {6, 5, 4}, true, false);
  const std::string file = "'" + path("m.tflite") + "'";
  const std::string c = " --c '" + path("net") + "'";
  write_tflite(model, path("m.tflite"));
  EXPECT_EQ(octet("inspect " + file).out.find("warning"), std::string::npos);
  EXPECT_EQ(octet("export " + file + c).err, "");
  EXPECT_TRUE(nlohmann::json::parse(octet("inspect --json " + file).out).at("warnings").empty());

  const auto output = static_cast<std::size_t>(model.operators[1].outputs[0]);
  model.tensors[output].quantization.scales = {1e-7F};
  write_tflite(model, path("m.tflite"));
  EXPECT_NE(octet("inspect " + file).out.find("\nwarning: operator 1 (FULLY_CONNECTED) 'dense_1'"),
            std::string::npos);
  const Result exported = octet("export " + file + c);
  EXPECT_EQ(exported.exit_code, 0);
  EXPECT_NE(exported.err.find("octet: warning: operator 1 (FULLY_CONNECTED) 'dense_1': rescale"),
            std::string::npos)
      << exported.err;
  const auto json = nlohmann::json::parse(octet("inspect --json " + file).out);
  EXPECT_EQ(json.at("warnings"), nlohmann::json(runtime_warnings(read_tflite(path("m.tflite")))));
}

TEST_F(OctetTool, NamesCannotSteerTheTerminal) {
  // ESC, CSI and OSC as single bytes, and CSI in UTF-8.
  const std::string evil = "evil\x1b[2J\x9B\x31m\x9D\x30;x\x9C\xC2\x9B\x37m\x7f";
  const auto expect_plain = [](const Result& result, int exit_code) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    for (const std::string& text : {result.out, result.err}) EXPECT_EQ(printable_lines(text), text);
  };
  IntegerModel model = make_mlp(1, {4, 3, 2}, false, false);
  for (ModelTensor& tensor : model.tensors) tensor.name = evil + tensor.name;
  model.name = model.description = model.metadata[evil] = evil;
  // A layer of which export warns.
  model.tensors[static_cast<std::size_t>(model.operators[1].outputs[0])].quantization.scales = {
      1e-7F};
  write_tflite(model, path("m.tflite"));
  const std::string file = "'" + path("m.tflite") + "'";
  expect_plain(octet("inspect " + file), 0);
  const Result json = octet("inspect --json " + file);
  expect_plain(json, 0);
  EXPECT_TRUE(nlohmann::json::accept(json.out));
  expect_plain(octet("verify --layers " + file + " " + file), 0);
  expect_plain(octet("verify --layers --json " + file + " " + file), 0);
  const Result exported = octet("export " + file + " --c '" + path("c") + "'");
  expect_plain(exported, 0);
  EXPECT_NE(exported.err.find("evil?[2J?1m?0;x???7m?"), std::string::npos) << exported.err;
  expect_plain(octet("inspect '" + path("no" + evil) + "'"), 1);
  expect_plain(octet("'" + evil + "'"), 2);
  // The operator's name is quoted where it is refused.
  expect_plain(octet("import " + file + " --out '" + path("out") + "'"), 1);

  // What is UTF-8 comes whole out of JSON.
  model.tensors[0].name = "Gr\xC3\xBC\xC3\x9F\x65 \xC2\x9B\x31m";
  write_tflite(model, path("m.tflite"));
  EXPECT_EQ(nlohmann::json::parse(octet("inspect --json " + file).out).at("tensors")[0].at("name"),
            model.tensors[0].name);
}

TEST_F(OctetTool, RunGivesWhatTheInterpreterGives) {
  const IntegerModel model = make_mlp(3, {20, 9, 5}, true, false);
  write_tflite(model, path("m.tflite"));
  Draw draw(3);
  std::vector<std::uint8_t> raw(20 * 131);
  for (auto& byte : raw) byte = static_cast<std::uint8_t>(draw.between(0, 255));
  write_file_atomic(path("in.bin"), raw);
  const std::string files = "--input '" + path("in.bin") + "' --output '" + path("out.bin") + "'";
  const auto twice = Rounding::double_rounding;
  const std::vector<std::pair<std::string, Rounding>> runs = {
      {"", Rounding::fp32},
      {" --threads 2", Rounding::fp32},
      {" --rounding double", twice},
      {" --target tflm", twice},
      {" --target cmsis-nn --rounding double", twice}};
  for (const auto& [options, rounding] : runs) {
    std::string command = "run '" + path("m.tflite") + "' ";
    command += files;
    command += options;
    const Result result = octet(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "");
    Interpreter interpreter(model, {.rounding = rounding, .batch = 131});
    std::memcpy(interpreter.input_bytes().data(), raw.data(), raw.size());
    interpreter.invoke();
    const auto expected = interpreter.output_bytes();
    const auto got = read_file(path("out.bin"));
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size()), 0);
  }
}

TEST_F(OctetTool, RunWritesEverySamplesOutputWhereNoInputReachesIt) {
  RawModelBuilder b;
  const QuantParams grid = quant(0.5F, 0);
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, grid)};
  const std::int32_t c =
      b.constant("c", {1, 2}, DType::int8, std::vector<std::int8_t>{5, -7}, grid);
  b.model.outputs = {b.activation("y", {1, 2}, DType::int8, grid)};
  b.op(OpCode::add, {c, c}, b.model.outputs[0]);
  write_tflite(b.model, path("m.tflite"));
  write_file_atomic(path("in.bin"), std::vector<std::uint8_t>(2 * 3));
  const Result result = octet("run '" + path("m.tflite") + "' --input '" + path("in.bin") +
                              "' --output '" + path("out.bin") + "'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(path("out.bin")), (std::vector<std::uint8_t>{10, 242, 10, 242, 10, 242}));
}

TEST_F(OctetTool, RunChecksTheSizeOfItsInput) {
  write_tflite(make_mlp(3, {20, 5}, true, true), path("m.tflite"));
  const std::string files = "--input '" + path("in.bin") + "' --output '" + path("out.bin") + "'";
  for (const std::size_t size : {std::size_t{0}, std::size_t{79}, std::size_t{81}}) {
    write_file_atomic(path("in.bin"), std::vector<std::uint8_t>(size));
    expect_failure("run '" + path("m.tflite") + "' " + files, 1, "expected a multiple of 80");
  }
  EXPECT_FALSE(fs::exists(path("out.bin")));
}

TEST_F(OctetTool, RunRefusesFloatsForCodes) {
  write_tflite(make_mlp(3, {20, 5}, true, false), path("m.tflite"));
  const std::string run = "run '" + path("m.tflite") + "' --input '" + path("in.bin") +
                          "' --out '" + path("out.bin") + "'";
  const auto write_floats = [&](float begin) {
    std::vector<float> values(8 * 20);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = begin + static_cast<float>(i) / 255;
    std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    write_file_atomic(path("in.bin"), bytes);
  };
  for (const float begin : {0.0F, -0.5F, 1e4F}) {
    write_floats(begin);
    expect_failure(
        run, 1,
        "looks like floats: 640 bytes, expected 160 (8 samples of 20 bytes each, int8 "
        "[1, 20]); that is 8 samples of float32: quantize them to int8 first; where they "
        "are codes after all, give --samples 32");
    expect_failure(
        run + " --samples 8", 1,
        "has 640 bytes, expected 160 (8 samples of 20 bytes each, int8 [1, 20]); that is 8");
    EXPECT_FALSE(fs::exists(path("out.bin")));
    EXPECT_EQ(octet(run + " --samples 32").exit_code, 0);
    fs::remove(path("out.bin"));
  }
  // Codes of as many bytes: all 0, one value, a ramp as of an image or a sound, any.
  const std::vector<std::function<std::uint8_t(std::size_t)>> codes = {
      [](std::size_t) { return 0; }, [](std::size_t) { return 0x80; },
      [](std::size_t) { return 0xFF; },
      [](std::size_t i) { return static_cast<std::uint8_t>(i / 5); },
      [](std::size_t i) { return static_cast<std::uint8_t>(i * i * 37 + 11 * i); }};
  for (const auto& code : codes) {
    std::vector<std::uint8_t> bytes(640);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = code(i);
    write_file_atomic(path("in.bin"), bytes);
    EXPECT_EQ(octet(run).exit_code, 0);
  }
  // Floats are what a model of floats takes.
  write_tflite(make_mlp(3, {20, 5}, true, true), path("m.tflite"));
  write_floats(0.0F);
  EXPECT_EQ(octet(run).exit_code, 0);
}

TEST_F(OctetTool, RunMayWriteWhereItReads) {
  write_tflite(make_mlp(3, {4, 4}, true, false), path("m.tflite"));
  write_file_atomic(path("a.bin"), std::vector<std::uint8_t>(400, 7));
  const std::string model = "run '" + path("m.tflite") + "' ";
  ASSERT_EQ(
      octet(model + "--input '" + path("a.bin") + "' --output '" + path("b.bin") + "'").exit_code,
      0);
  ASSERT_EQ(
      octet(model + "--input '" + path("a.bin") + "' --output '" + path("a.bin") + "'").exit_code,
      0);
  EXPECT_EQ(read_file(path("a.bin")), read_file(path("b.bin")));
}

/// An IDX file of unsigned bytes.
void write_idx(const fs::path& path, const std::vector<std::uint32_t>& extents,
               const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> bytes{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  write_file_atomic(path, bytes);
}

TEST_F(OctetTool, EvalCountsRightAnswers) {
  // Images of two pixels; the class is the brighter one. The last of five labels is wrong.
  RawModelBuilder b;
  b.model.inputs = {b.activation("x", {1, 2}, DType::int8, quant(1.0F / 255, -128))};
  b.model.outputs = b.model.inputs;
  write_tflite(b.model, path("m.tflite"));
  const std::vector<std::uint8_t> pixels{9, 1, 3, 200, 0, 1, 255, 254, 80, 7};
  write_idx(folder_ / "t10k-images-idx3-ubyte", {5, 1, 2}, pixels);
  write_idx(folder_ / "t10k-labels-idx1-ubyte", {5}, {0, 1, 1, 0, 1});
  const std::string command = "eval '" + path("m.tflite") + "' --data '" + folder_.string() + "'";
  const Result text = octet(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.substr(0, 34), "accuracy 80.00 % (4 of 5 images), ");
  const Result result = octet(command + " --json --limit 4 --rounding single --threads 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("images"), 4);
  EXPECT_EQ(json.at("correct"), 4);
  EXPECT_EQ(json.at("accuracy"), 1.0);
  EXPECT_EQ(json.at("rounding"), "single");

  write_tflite(make_mlp(1, {3, 2}, false, false), path("other.tflite"));
  expect_failure("eval '" + path("other.tflite") + "' --data '" + folder_.string() + "'", 1,
                 "the model takes samples [1, 3]");
}

}  // namespace
}  // namespace octet::test::octet_tool_test
