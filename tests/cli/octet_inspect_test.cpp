// `octet inspect` on files that Octet does not take.

#include <fmt/core.h>
#include <octet/core/printable.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/deploy/raw_flatbuffer.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/import/onnx_fixtures.h>
#include <octet/tests/runtime/models.h>
#include <octet_test_paths.h>

#include <cstring>

namespace octet::test::octet_inspect_test {
namespace {

using nlohmann::json;

class OctetInspect : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  ProcessResult inspect(const Arguments& arguments) const {
    return run_process(Arguments{OCTET_TOOL, "inspect"} + arguments, plain_environment());
  }

  /// Text and JSON of a file that is shown although it is refused.
  std::string text_of_refused(const std::string& file) const {
    const ProcessResult result = inspect({file});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(lines_in(result.err), 1) << result.err;
    return result.out;
  }
  json json_of_refused(const std::string& file) const {
    const ProcessResult result = inspect({"--json", file});
    EXPECT_EQ(result.exit_code, 1);
    return json::parse(result.out);
  }

 private:
  ScratchDirectory scratch_;
};

/// QUANTIZE, two FULLY_CONNECTED, SOFTMAX, DEQUANTIZE in a file, whose bytes are then changed.
struct TfliteFile {
  std::vector<std::uint8_t> bytes = to_tflite(make_mlp(1, {6, 5, 4}, true, true));

  RawTable root() const { return RawTable::root(bytes); }
  RawTable graph() const { return root().tables(model_field::subgraphs)[0]; }

  template <class T>
  void put(std::size_t place, T value) {
    std::memcpy(bytes.data() + place, &value, sizeof(T));
  }
};

TEST_F(OctetInspect, NamesOperatorsAndTypesOfATfliteFileThatIsRefused) {
  TfliteFile file;
  // SOFTMAX becomes CUMSUM; the weights of the first layer, read by operator 1, float64.
  file.put<std::int32_t>(
      file.root().tables(model_field::operator_codes)[2].place(code_field::builtin_code), 128);
  file.put<std::int8_t>(file.graph().tables(graph_field::tensors)[2].place(tensor_field::type), 10);
  write_file_atomic(path("m.tflite"), file.bytes);
  const std::string text = text_of_refused(path("m.tflite"));
  for (const char* part :
       {"refused: '", "type float64 is not supported",
        "5 operators, 2 of which Octet does not take", "\n!     1  FULLY_CONNECTED",
        "tensor 2 'dense_1/kernel': type float64 is not supported\n", "\n!     3  CUMSUM",
        "         CUMSUM is not supported\n", "\n      2  FULLY_CONNECTED",
        "input: tensor 0 'input', float32 [-1, 6]",
        "dense_1/kernel                   float64  [5, 6]", "5 scales along axis 0"}) {
    expect_mentions(text, part);
  }
  const json found = json_of_refused(path("m.tflite"));
  expect_mentions(found.at("refusal").get<std::string>(), "float64");
  const json& graph = found.at("graphs").at(0);
  EXPECT_EQ(graph.at("operators").size(), 5U);
  EXPECT_EQ(graph.at("operators")[0].at("refusal"), "");
  EXPECT_EQ(graph.at("operators")[3].at("operator"), "CUMSUM");
  EXPECT_EQ(graph.at("operators")[3].at("refusal"), "CUMSUM is not supported");
  EXPECT_EQ(graph.at("tensors")[2].at("dtype"), "float64");
  EXPECT_EQ(graph.at("tensors")[2].at("quantization_parameters").at("scales").size(), 5U);
}

TEST_F(OctetInspect, SurvivesOperandsThatNoRuntimeTakes) {
  // What is left out where it must not be, an operand that does not exist, a SOFTMAX of scalars.
  TfliteFile no_output;
  const RawTable softmax = no_output.graph().tables(graph_field::operators)[3];
  no_output.put<std::int32_t>(softmax.start_of_values(operator_field::outputs), -1);
  TfliteFile far_away = no_output;
  far_away.put<std::int32_t>(softmax.start_of_values(operator_field::outputs), 1000);
  TfliteFile scalars;
  for (const RawTable& tensor : scalars.graph().tables(graph_field::tensors)) {
    scalars.put<std::uint32_t>(tensor.start_of_values(tensor_field::shape) - 4, 0);
  }
  for (const auto& [file, marked] : {std::pair(&no_output, "!     3  SOFTMAX"),
                                     {&far_away, "!     3  SOFTMAX"},
                                     {&scalars, "!     3  SOFTMAX"}}) {
    write_file_atomic(path("m.tflite"), file->bytes);
    expect_mentions(text_of_refused(path("m.tflite")), marked);
  }
}

TEST_F(OctetInspect, ReadsNoMoreThanAFileHolds) {
  // Many nodes share scales.
  const Message scales = floats("s", {2000});
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < 2000; ++i) {
    const std::string next = fmt::format("r{}", i);
    nodes.push_back(node("DequantizeLinear", {last, "s"}, next));
    last = next;
  }
  nodes.push_back(node("Relu", {last}, "y"));
  write_file_atomic(path("m.onnx"), onnx_file({-1, 3}, nodes, {scales}));
  const ProcessResult onnx = inspect({path("m.onnx")});
  EXPECT_EQ(onnx.exit_code, 1);
  expect_mentions(onnx.err, "DequantizeLinear");
  EXPECT_EQ(lines_in(onnx.err), 1) << onnx.err;
  EXPECT_LT(onnx.out.size(), 1000U) << onnx.out.substr(0, 1000);
}

TEST_F(OctetInspect, NamesNodesOfAnOnnxFileThatIsRefused) {
  const Message scale = floats("s", {1});
  const Message zero = tensor("z", 3, {1}).text(9, "\xFD");
  const Message shape = integers("shape", {-1, 3});
  write_file_atomic(
      path("m.onnx"),
      onnx_file({-1, 3},
                {node("QuantizeLinear", {"x", "s", "z"}, "q"),
                 node("DequantizeLinear", {"q", "s", "z"}, "r"), node("Relu", {"r"}, "a"),
                 node("Softmax", {"a"}, "e", {attribute("axis", std::int64_t{0})}),
                 node("Shape", {"e"}, "n"), node("Gather", {"n", "shape"}, "i"),
                 node("Reshape", {"e", "shape"}, "y")},
                {scale, zero, shape}));
  const std::string text = text_of_refused(path("m.onnx"));
  for (const char* part :
       {"opset 13 of ONNX", "7 operators, 2 of which Octet does not take",
        "\n!     0  QuantizeLinear", "\n!     1  DequantizeLinear",
        "         Octet has no such operator\n", "\n      2  Relu ", "\n      5  Gather ",
        "input: tensor 3 'x', float32 [-1, 3]", "scale 0.1", "zero point -3", "int64 "}) {
    expect_mentions(text, part);
  }
  const json graph = json_of_refused(path("m.onnx")).at("graphs").at(0);
  EXPECT_EQ(graph.at("operators")[0].at("refusal"), "Octet has no such operator");
  EXPECT_EQ(graph.at("tensors")[1].at("dtype"), "int8");
}

TEST_F(OctetInspect, SaysWhyANodeIsRefusedAtIt) {
  write_file_atomic(path("m.onnx"),
                    onnx_file({-1, 2, 6, 6},
                              {node("Relu", {"x"}, "a"),
                               node("Conv", {"a", "w"}, "y", {attribute("auto_pad", "SAME")})},
                              {floats("w", {3, 2, 3, 3})}));
  const std::string text = text_of_refused(path("m.onnx"));
  expect_mentions(text, "1 of which Octet does not take");
  expect_mentions(text, "\n!     1  Conv ");
  expect_mentions(text, "found SAME");
}

TEST_F(OctetInspect, ShowsAnOnnxFileThatImports) {
  const ProcessResult result = inspect({onnx_path("lenet5_13").string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  expect_mentions(result.out, "0 of which Octet does not take");
  expect_mentions(result.out, "Conv ");
}

TEST_F(OctetInspect, RefusesWhatDoesNotParse) {
  write_file_atomic(path("m.onnx"), std::string_view("no ONNX"));
  const ProcessResult result = inspect({path("m.onnx")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  expect_mentions(result.err, "expected an ONNX file");
}

}  // namespace
}  // namespace octet::test::octet_inspect_test
