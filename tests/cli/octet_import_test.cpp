// `octet import` as its users run it.

#include <octet/tests/cli/mnist_qat.h>
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

}  // namespace
}  // namespace octet::test::octet_import_test
