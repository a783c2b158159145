// A run into the folder of another leaves nothing of that in its place.

#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/core/faulty_file_system.h>

#include <set>

namespace octet::test::mnist_qat_outputs_test {
namespace {

namespace fs = std::filesystem;

class MnistQatOutputs : public MnistQat {
 protected:
  /// A run with every output that there is, whose pages are in its folder.
  FolderContents run_with_everything() const {
    EXPECT_EQ(mnist_qat(small_run("out") +
                        Arguments{"--flash", "900", "--report", path("out/report.html")})
                  .exit_code,
              0);
    EXPECT_EQ(run_process({OCTET_TOOL, "report", path("out"), "--data", path("set"), "--out",
                           path("out/later.html")},
                          plain_environment())
                  .exit_code,
              0);
    write_file_atomic(path("out/mine.html"), std::string_view("<!doctype html> of the user"));
    FolderContents contents = contents_of(path("out"));
    contents.erase("mine.html");
    for (const char* name :
         {"report.html", "later.html", "bits.csv", "bits.svg", "mnist_int8.c", "mnist_int8.h",
          "mnist_int8.tflite", "mnist_float.tflite", "metrics.json", "history.csv"}) {
      EXPECT_TRUE(contents.contains(name)) << name;
    }
    return contents;
  }
  std::set<std::string> names_in(const std::string& folder) const {
    std::set<std::string> names;
    for (const auto& [name, bytes] : contents_of(path(folder))) names.insert(name);
    return names;
  }
};

TEST_F(MnistQatOutputs, OfARunBeforeAreSetAside) {
  const FolderContents before = run_with_everything();
  // Codes of int16 have no C source.
  const ProcessResult next = mnist_qat(small_run("out") + Arguments{"--activation-bits", "16"});
  ASSERT_EQ(next.exit_code, 0) << next.err;
  expect_mentions(next.out, "what the run before left here is in " + path("out/previous_run"));
  EXPECT_EQ(names_in("out"), (std::set<std::string>{"history.csv", "metrics.json", "mine.html",
                                                    "mnist_float.tflite", "mnist_int8.tflite"}));
  EXPECT_EQ(contents_of(path("out/previous_run")), before);
  EXPECT_FALSE(fs::exists(path("out/checkpoints/stopped.ckpt")));
  // The folder holds what `octet report` takes to be one run.
  EXPECT_EQ(run_process({OCTET_TOOL, "report", path("out"), "--data", path("set"), "--out",
                         path("page.html")},
                        plain_environment())
                .exit_code,
            0);
}

TEST_F(MnistQatOutputs, StaySetAsideUntilAnotherRunHasEnded) {
  const FolderContents before = run_with_everything();
  // Diverges in its first steps.
  Arguments run = small_run("out");
  *(std::ranges::find(run, "--lr") + 1) = "1e30";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(mnist_qat(run).exit_code, 1);
    EXPECT_EQ(names_in("out"), (std::set<std::string>{"mine.html"}));
    EXPECT_EQ(contents_of(path("out/previous_run")), before);
    EXPECT_FALSE(fs::exists(path("out/checkpoints/stopped.ckpt")));
  }
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  EXPECT_EQ(contents_of(path("out/previous_run")), before);
}

TEST_F(MnistQatOutputs, AreBroughtBackWhereTheRunBeforeGoesOn) {
  const Arguments run = small_run("out") + Arguments{"--report", path("out/report.html")};
  ASSERT_EQ(mnist_qat(run).exit_code, 0);
  const Bytes in_float = read_file(path("out/mnist_float.tflite"));
  Arguments diverges = small_run("out");
  *(std::ranges::find(diverges, "--lr") + 1) = "1e30";
  EXPECT_EQ(mnist_qat(diverges).exit_code, 1);
  expect_success(mnist_qat(run + Arguments{"--resume"}));
  EXPECT_EQ(read_file(path("out/mnist_float.tflite")), in_float);
  EXPECT_FALSE(fs::exists(path("out/previous_run")));
}

TEST_F(MnistQatOutputs, OfAnotherProgramAreSetAside) {
  const FolderContents before = run_with_everything();
  fs::copy(path("out/mnist_float.tflite"), path("float.tflite"));
  expect_success(run_process({OCTET_TOOL, "quantize", path("float.tflite"), "--data", path("set"),
                              "--out", path("out"), "--json"},
                             plain_environment()));
  EXPECT_EQ(names_in("out"),
            (std::set<std::string>{"history.csv", "metrics.json", "mine.html", "model_float.tflite",
                                   "model_int8.c", "model_int8.h", "model_int8.onnx",
                                   "model_int8.tflite"}));
  EXPECT_EQ(contents_of(path("out/previous_run")), before);
}

TEST_F(MnistQatOutputs, StayWhereTheNextRunIsRefused) {
  const FolderContents before = run_with_everything();
  Arguments nowhere = small_run("out");
  nowhere[1] = path("nowhere");
  expect_failure(mnist_qat(nowhere), 1, "nowhere");
  expect_failure(mnist_qat(small_run("out") + Arguments{"--epochs", "x"}), 2, "--epochs");
  expect_failure(mnist_qat(small_run("out") + Arguments{"--resume"}), 1,
                 "the checkpoint was made with");
  FolderContents after = contents_of(path("out"));
  after.erase("mine.html");
  EXPECT_EQ(after, before);
  EXPECT_FALSE(fs::exists(path("out/previous_run")));
}

}  // namespace
}  // namespace octet::test::mnist_qat_outputs_test
