// examples/training_run.cpp, stopped and resumed.

#include <octet/tests/cli/process.h>

namespace octet::test::training_run_test {
namespace {

/// The example in a folder of its own.
std::vector<std::string> in_folder(const std::filesystem::path& folder, const std::string& option) {
  std::filesystem::create_directories(folder);
  return {"/bin/sh", "-c", "cd \"$0\" && exec '" OCTET_TRAINING_RUN "' " + option, folder.string()};
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  return text.substr(text.rfind('\n', end) + 1);
}

TEST(TrainingRunExample, StoppedAndResumedEndsInTheSameBytes) {
  const ScratchDirectory scratch;
  const std::map<std::string, std::string> environment = {{"OMP_WAIT_POLICY", "passive"}};
  const ProcessResult whole = run_process(in_folder(scratch.path() / "whole", ""), environment);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  expect_mentions(last_line(whole.out), "  digits_int8.tflite");

  const auto folder = scratch.path() / "stopped";
  Process process(in_folder(folder, ""), environment);
  ASSERT_TRUE(process.wait_for_output("float 1/3"));
  process.signal(SIGINT);
  const ProcessResult stopped = process.wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGINT) << stopped.err;
  EXPECT_EQ(last_line(stopped.out), "to go on: " OCTET_TRAINING_RUN " --resume\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "digits_run/metrics.json"));

  const ProcessResult resumed = run_process(in_folder(folder, "--resume"), environment);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out.find("float 1/3"), std::string::npos) << "it began anew";
  EXPECT_EQ(last_line(resumed.out), last_line(whole.out));
  EXPECT_EQ(read_file(folder / "digits_run/digits_int8.tflite"),
            read_file(scratch.path() / "whole/digits_run/digits_int8.tflite"));
}

TEST(TrainingRunExample, WithoutACheckpointResumingIsAnError) {
  const ScratchDirectory scratch;
  const ProcessResult result = run_process(in_folder(scratch.path() / "empty", "--resume"));
  EXPECT_EQ(result.exit_code, 1);
  expect_mentions(result.err, "resume: there is no checkpoint 'digits_run/checkpoints/last.ckpt'");
}

}  // namespace
}  // namespace octet::test::training_run_test
