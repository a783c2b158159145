// The `octet` tool as its users run it: a process, its output and its exit code.

#include <octet/core/file.h>
#include <octet/core/printable.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/cli/octet_tool.h>
#include <octet/tests/runtime/models.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace octet::test::octet_tool_test {
namespace {

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
                 "--target: expected one of litert, tflm, cmsis-nn, onnxruntime, found tflite");
  expect_failure("eval '" + path("m.tflite") + "' --data x --target tflm --rounding fp32", 2,
                 "--target and --rounding: target tflm computes in rounding mode double");
  expect_failure("eval '" + path("m.tflite") + "' --data x --threads 0", 2, "--threads");
  expect_failure("eval '" + path("m.tflite") + "' --data x --limit -1", 2,
                 "--limit: expected a whole number from 1 to 1000000000, found \"-1\" (");
  // A shell makes an empty name of a variable that is not set.
  for (const char* arguments :
       {"inspect ''", "run m --input '' --output x", "run m --input x --output ''", "verify m ''",
        "export m --c ''", "export m --onnx ''"}) {
    expect_failure(arguments, 2, "expected a name, found an empty one");
  }
  for (const char* arguments : {"eval m --data ''", "verify m m --data ''"}) {
    expect_failure(arguments, 2, "--data: expected a file or a folder, found an empty name");
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

}  // namespace
}  // namespace octet::test::octet_tool_test
