// `octet import` as its users run it.

#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/import/onnx_file.h>
#include <octet/tests/import/onnx_fixtures.h>
#include <octet/train/load_model.h>
#include <octet_test_paths.h>

namespace octet::test::octet_import_test {
namespace {

TEST(OctetImport, WritesTheModelThatTheLibraryMakes) {
  const ScratchDirectory scratch;
  const std::string out = (scratch.path() / "lenet5.octet").string();
  const ProcessResult result =
      run_process(Arguments{OCTET_TOOL, "import", onnx_path("lenet5_13").string(), "--out", out},
                  plain_environment());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("conv1 (Conv2D)"), std::string::npos) << result.out;
  const Tensor x = onnx_inputs({"", {1, 28, 28}, true}, 3);
  EXPECT_TRUE(std::ranges::equal(load_model(out).forward(x).span(),
                                 import_onnx(onnx_path("lenet5_13")).forward(x).span()));
}

TEST(OctetImport, EndsWhereItIsTold) {
  const ScratchDirectory scratch;
  const std::string out = (scratch.path() / "part.octet").string();
  const auto run = [&](const std::string& shape) {
    return run_process(Arguments{OCTET_TOOL, "import", onnx_path("lenet5_13").string(), "--shape",
                                 shape, "--to", "/Tanh_output_0", "--out", out},
                       plain_environment());
  };
  for (const char* shape : {"input", "=1,2", "input=", "input=1,", "input=1,x", "input=0,1"}) {
    EXPECT_NE(run(shape).err.find("expected the name of an input and its extents"),
              std::string::npos)
        << shape;
  }
  const ProcessResult result = run("input=1,1,28,28");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(load_model(out).layers().back()->type(), "Activation");
}

TEST(OctetImport, SaysInOneLineWhatIsWrong) {
  const ScratchDirectory scratch;
  const std::string out = (scratch.path() / "no.octet").string();
  const ProcessResult result = run_process(
      Arguments{OCTET_TOOL, "import", onnx_path("make_fixtures").string(), "--out", out},
      plain_environment());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(OctetImport, SaysWhatBecameOfTheNodes) {
  const ScratchDirectory scratch;
  const std::string file = (scratch.path() / "m.onnx").string();
  const Message turn = attribute("perm", std::vector<std::int64_t>{0, 2, 1});
  write_file_atomic(file,
                    onnx_file({-1, 3, 3},
                              {node("Transpose", {"w"}, "k",
                                    {attribute("perm", std::vector<std::int64_t>{1, 0})}),
                               node("Transpose", {"x"}, "t", {turn}), node("Relu", {"t"}, "r"),
                               node("Transpose", {"r"}, "u", {turn}), node("Identity", {"u"}, "i"),
                               node("MatMul", {"i", "k"}, "a"), node("MatMul", {"a", "k"}, "y")},
                              {floats("w", {3, 3})}));
  const ProcessResult result = run_process(
      Arguments{OCTET_TOOL, "import", file, "--out", (scratch.path() / "m.octet").string()},
      plain_environment());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line :
       {"7 nodes: 1 folded into constants, 1 passed on, 2 of 2 transpositions removed\n",
        "  Transpose 'node t': no layer\n", "  Relu 'node r': node_r\n",
        "  MatMul 'node a': ", "weights shared: node_y has those of "}) {
    EXPECT_NE(result.out.find(line), std::string::npos) << line << result.out;
  }
}

}  // namespace
}  // namespace octet::test::octet_import_test
