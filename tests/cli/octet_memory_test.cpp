// What the octet tool takes of memory, whatever the shapes in a small file ask for.

#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/cli/process.h>
#include <octet/tests/runtime/models.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <cstring>

namespace octet::test::octet_memory_test {
namespace {

class OctetMemory : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// A RELU of codes [extent]: a few hundred bytes.
  std::string write_wide(std::int32_t extent) const {
    const ModelTensor x{"x", DType::int8, {extent}, {}, quant(0.1F, 0), {}};
    write_tflite(make_unary(OpCode::relu, x, x), path("wide.tflite"));
    return path("wide.tflite");
  }

  static void expect_refused(const ProcessResult& result, const std::string& why) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    expect_mentions(result.err, why);
  }

  ScratchDirectory folder_;
};

TEST_F(OctetMemory, VerifyMakesSamplesAsTheyAreNeeded) {
  const std::string wide = write_wide(8 << 20);
  const ProcessResult result = run_process({OCTET_TOOL, "verify", wide, wide, "--random", "20"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, "20 samples of random values");
  // A sample is 32 MiB of floats.
  expect_peak_below(result, 600);
}

TEST_F(OctetMemory, VerifyRefusesASampleThatIsTooLarge) {
  const std::string wide = write_wide(1 << 27);
  const ProcessResult result = run_process({OCTET_TOOL, "verify", wide, wide});
  expect_refused(result, "one sample takes 3221225472 bytes of memory, more than the 1073741824");
  expect_peak_below(result, 600);
}

TEST_F(OctetMemory, RunReadsAndWritesBatchByBatch) {
  // 300 codes from each: 200 MB of output.
  constexpr std::int32_t kUnits = 300;
  constexpr std::size_t kSamples = 700000;
  const IntegerModel model = make_mlp(1, {1, kUnits}, false, false);
  write_tflite(model, path("m.tflite"));
  const Bytes in = counting(kSamples);
  write_file_atomic(path("in"), in);
  const ProcessResult result = run_process(
      {OCTET_TOOL, "run", path("m.tflite"), "--input", path("in"), "--output", path("out")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_peak_below(result, 130);
  FileReader out(path("out"));
  ASSERT_EQ(out.size(), kSamples * kUnits);
  Interpreter interpreter(model);
  Bytes codes(kUnits);
  for (std::size_t i = 0; i < kSamples; ++i) {
    out.read(codes);
    if (i % 99991 != 0) continue;
    std::memcpy(interpreter.input_bytes().data(), &in[i], 1);
    interpreter.invoke();
    EXPECT_EQ(std::memcmp(codes.data(), interpreter.output_bytes().data(), codes.size()), 0) << i;
  }
}

TEST_F(OctetMemory, ExportRefusesCSourceOfHugeSamples) {
  const ProcessResult result =
      run_process({OCTET_TOOL, "export", write_wide(1 << 26), "--c", path("net")});
  expect_refused(result, "c source: a sample has 67108864 values of input and 67108864 of output");
  expect_peak_below(result, 130);
  EXPECT_FALSE(std::filesystem::exists(path("net.c")));
}

}  // namespace
}  // namespace octet::test::octet_memory_test
