#include <fmt/format.h>
#include <gtest/gtest.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/tests/cli/mnist_qat.h>

// Pages about runs, by mnist_qat --report and octet report.

namespace octet::test::report_test {
namespace {

class ReportPage : public MnistQat {
 protected:
  ProcessResult octet_report(const std::string& folder, const std::string& page) const {
    return run_process(
        {OCTET_TOOL, "report", path(folder), "--data", path("set"), "--output", path(page)},
        plain_environment());
  }
  std::string page(const std::string& name) const { return text_of(path(name)); }
};

TEST_F(ReportPage, OfEqualRunsAreEqual) {
  const Arguments run = small_run("out") + Arguments{"--report", path("page.html")};
  ASSERT_EQ(mnist_qat(run).exit_code, 0);
  const std::string first = page("page.html");
  ASSERT_EQ(mnist_qat(run + Arguments{}).exit_code, 0);
  EXPECT_EQ(page("page.html"), first);
  for (const char* part :
       {"mlp on set", "quantized after training", "trained with quantization", "Sensitivity",
        "Ranges of results", "Byte-exact on: C source (portable C99), LiteRT (XNNPACK), ONNX",
        "--hidden 12,7"}) {
    expect_mentions(first, part);
  }
  expect_mentions(first, metrics("out")["sha256"]["model"].get<std::string>());
}

TEST_F(ReportPage, OfWhatARunLeftIsThatOfTheRun) {
  ASSERT_EQ(mnist_qat(small_run("out") + Arguments{"--report", path("page.html"), "--class-names",
                                                   "zero,one,two,three"})
                .exit_code,
            0);
  expect_mentions(page("page.html"), "three");
  expect_success(octet_report("out", "later.html"));
  std::string later = page("later.html");
  // Their titles alone differ.
  for (std::size_t at = later.find("out on set"); at != std::string::npos;
       at = later.find("out on set")) {
    later.replace(at, 3, "mlp");
  }
  EXPECT_EQ(later, page("page.html"));
}

TEST_F(ReportPage, SaysWhatItCannotMeasure) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  ASSERT_EQ(octet_report("out", "page.html").exit_code, 0);
  expect_mentions(page("page.html"), "Sensitivity of layers: it takes the trained float model");
  std::filesystem::remove_all(path("out/checkpoints"));
  ASSERT_EQ(octet_report("out", "page.html").exit_code, 0);
  expect_mentions(page("page.html"), "Layers: the quantized model is not there");
  // Without quantized training, the last checkpoint is of the float model.
  ASSERT_EQ(mnist_qat({"--data", path("set"), "--out", path("calibrated"), "--hidden", "7",
                       "--epochs", "1", "--qat-epochs", "0"})
                .exit_code,
            0);
  expect_success(octet_report("calibrated", "calibrated.html"));
  expect_mentions(page("calibrated.html"), "Layers: the quantized model is not there");
  EXPECT_EQ(page("calibrated.html").find("trained with quantization"), std::string::npos);
}

TEST_F(ReportPage, TakesNoFloatModelOfAnEarlierRun) {
  ASSERT_EQ(mnist_qat(small_run("out") + Arguments{"--report", path("page.html")}).exit_code, 0);
  EXPECT_EQ(page("page.html").find("it takes the trained float model"), std::string::npos);
  // Without a page a run saves no float model: that of the one before stays.
  const Arguments other = small_run("out") + Arguments{"--seed", "1"};
  ASSERT_EQ(mnist_qat(other).exit_code, 0);
  ASSERT_EQ(mnist_qat(other + Arguments{"--resume", "--report", path("page.html")}).exit_code, 0);
  expect_mentions(page("page.html"), "Sensitivity of layers: it takes the trained float model");
}

TEST_F(ReportPage, RefusesWhatIsNoRun) {
  const ProcessResult none = octet_report("set", "page.html");
  EXPECT_EQ(none.exit_code, 1);
  expect_mentions(none.err, "metrics.json");
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const std::string shipped = path("out/mnist_int8.tflite");
  const IntegerModel model = read_tflite(shipped);
  for (const char* key : {"octet.data", "octet.normalization", "octet.classes"}) {
    IntegerModel changed = model;
    changed.metadata[key] = "[";
    write_tflite(changed, shipped);
    expect_one_error(octet_report("out", "page.html"), 1,
                     fmt::format("{}: metadata '{}'", shipped, key));
  }
  write_tflite(model, shipped);
  write_file_atomic(path("out/metrics.json"), "{\"ranges\": 3");
  const ProcessResult damaged = octet_report("out", "page.html");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_EQ(lines_in(damaged.err), 1) << damaged.err;
  std::filesystem::remove(path("out/mnist_float.tflite"));
  expect_mentions(octet_report("out", "page.html").err, "expected one file *_float.tflite");
}

TEST_F(ReportPage, IsRefusedWithoutAName) {
  expect_failure(mnist_qat({"--report", ""}), 2, "--report");
}

TEST_F(ReportPage, HoldsHostileNamesAsText) {
  const std::string name = "a<script>alert(1)<script>";
  std::filesystem::rename(path("set"), path(name));
  Arguments run = small_run("out") + Arguments{"--report", path("page.html")};
  run[1] = path(name);
  ASSERT_EQ(mnist_qat(run).exit_code, 0);
  const std::string found = page("page.html");
  EXPECT_EQ(found.find("<script>alert"), std::string::npos);
}

}  // namespace
}  // namespace octet::test::report_test
