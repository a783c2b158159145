// What mnist_qat makes of its command line.

#include <octet/tests/cli/mnist_qat.h>

namespace octet::test {
namespace {

TEST(MnistQatUsage, HelpAndVersion) {
  const ProcessResult version = mnist_qat({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out.substr(0, 6), "octet ");
  EXPECT_EQ(lines_in(version.out), 1);
  const ProcessResult help = mnist_qat({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* option :
       {"--data",    "--out",         "--epochs",       "--qat-epochs", "--batch",
        "--lr",      "--qat-lr",      "--qat-schedule", "--hidden",     "--seed",
        "--threads", "--per-channel", "--tfmot-ranges", "--rounding",   "--checkpoint-dir",
        "--resume",  "--log-level",   "--no-progress",  "--json",       "--simulation",
        "--profile", "--help",        "--version",      "256,128"}) {
    expect_mentions(help.out, option);
  }
}

TEST(MnistQatUsage, WrongOptionsAndValuesAreOneLineAndExitCode2) {
  const std::vector<Arguments> wrong = {{"--frob"},
                                        {"stray"},
                                        {"--data"},
                                        {"--data", ""},
                                        {"--out"},
                                        {"--out", ""},
                                        {"--checkpoint-dir", ""},
                                        {"--epochs", "-1"},
                                        {"--epochs", "1.5"},
                                        {"--epochs", "many"},
                                        {"--epochs", "99999999999"},
                                        {"--epochs", "1", "--epochs", "2"},
                                        {"--qat-epochs", "-1"},
                                        {"--qat-epochs", "x"},
                                        {"--batch", "0"},
                                        {"--batch", "-3"},
                                        {"--batch", "1e99"},
                                        {"--lr", "0"},
                                        {"--lr", "-1"},
                                        {"--lr", "nan"},
                                        {"--lr", "inf"},
                                        {"--lr", "1e-60"},
                                        {"--lr", "1e60"},
                                        {"--lr", "0.1x"},
                                        {"--qat-lr", "0"},
                                        {"--qat-lr", "x"},
                                        {"--hidden", ""},
                                        {"--hidden", "0"},
                                        {"--hidden", "-5"},
                                        {"--hidden", "12,,7"},
                                        {"--hidden", "12,"},
                                        {"--hidden", ",12"},
                                        {"--hidden", "12,a"},
                                        {"--hidden", "12 7"},
                                        {"--hidden", "99999999999"},
                                        {"--seed", "-1"},
                                        {"--seed", "1.5"},
                                        {"--seed", ""},
                                        {"--seed", "18446744073709551616"},
                                        {"--threads", "0"},
                                        {"--threads", "-2"},
                                        {"--threads", "x"},
                                        {"--rounding", "up"},
                                        {"--rounding", ""},
                                        {"--log-level", "loud"},
                                        {"--json=3"},
                                        {"--resume=maybe"},
                                        {"--per-channel=0"}};
  for (const Arguments& arguments : wrong) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    const ProcessResult result = mnist_qat(arguments);
    // CLI11 names a flag without its dashes.
    const std::string option = arguments.front();
    expect_failure(result, 2,
                   option.substr(option.rfind('-') + 1, option.find('=') - option.rfind('-') - 1));
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(MnistQat, WrongDataIsOneLineAndExitCode1) {
  const auto run = [&](const std::string& data) {
    return mnist_qat({"--data", data, "--out", path("out"), "--epochs", "1"});
  };
  expect_failure(run(path("nowhere")), 1, "nowhere");
  std::filesystem::create_directories(path("empty"));
  expect_failure(run(path("empty")), 1, "train-images");
  std::filesystem::copy(path("set"), path("broken"));
  write_file_atomic(path("broken/t10k-labels-idx1-ubyte"), std::string_view("no labels"));
  expect_failure(run(path("broken")), 1, "t10k-labels");
  std::filesystem::remove(path("broken/t10k-labels-idx1-ubyte"));
  expect_failure(run(path("broken")), 1, "t10k-labels");
  EXPECT_FALSE(std::filesystem::exists(path("out/metrics.json")));
}

TEST_F(MnistQat, AFolderThatCannotBeWrittenIsOneLineAndExitCode1) {
  write_file_atomic(path("file"), std::string_view("in the way"));
  expect_failure(mnist_qat(small_run("file")), 1, "file");
  EXPECT_EQ(text_of(path("file")), "in the way");
  expect_failure(mnist_qat({"--data", path("set"), "--out", "/proc/octet"}), 1, "/proc/octet");
  expect_failure(mnist_qat(small_run("out") + Arguments{"--checkpoint-dir", path("file/x")}), 1,
                 "file/x");
  // A folder stands where the model should go.
  std::filesystem::create_directories(path("taken/mnist_int8.tflite"));
  expect_failure(mnist_qat(small_run("taken")), 1, "mnist_int8.tflite");
}

}  // namespace
}  // namespace octet::test
