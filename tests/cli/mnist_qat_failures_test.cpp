// Runs of mnist_qat that cannot go on: each says why in one line.

#include <octet/tests/cli/mnist_qat.h>
#include <octet_test_paths.h>
#include <sys/file.h>

#include <filesystem>

namespace octet::test::mnist_qat_failures_test {
namespace {

namespace fs = std::filesystem;

TEST_F(MnistQat, AShiftOfAWholeImageIsRefused) {
  write_set(path("set"), 50, 20);
  expect_failure(mnist_qat({"--data", path("set"), "--out", path("out"), "--shift", "1000"}), 1,
                 "the shift");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(MnistQat, WrongDataIsOneLineAndExitCode1) {
  const auto run = [&](const std::string& data) {
    return mnist_qat({"--data", data, "--out", path("out"), "--epochs", "1"});
  };
  expect_failure(run(path("nowhere")), 1, "nowhere");
  std::filesystem::create_directories(path("empty"));
  expect_failure(run(path("empty")), 1, "found an empty folder");
  expect_failure(run(path("set/t10k-labels-idx1-ubyte")), 1, "give the folder that holds it");
  std::filesystem::copy(path("set"), path("broken"));
  write_file_atomic(path("broken/t10k-labels-idx1-ubyte"), std::string_view("no labels"));
  expect_failure(run(path("broken")), 1, "t10k-labels");
  std::filesystem::remove(path("broken/t10k-labels-idx1-ubyte"));
  expect_failure(run(path("broken")), 1, "t10k-labels");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(MnistQat, AFolderThatCannotBeWrittenIsOneLineAndExitCode1) {
  write_file_atomic(path("file"), std::string_view("in the way"));
  expect_failure(mnist_qat(small_run("file")), 1, "file");
  EXPECT_EQ(text_of(path("file")), "in the way");
  expect_failure(mnist_qat({"--data", path("set"), "--out", "/proc/octet"}), 1, "/proc/octet");
  expect_failure(mnist_qat(small_run("out") + Arguments{"--checkpoint-dir", path("file/x")}), 1,
                 "file/x");
  expect_failure(mnist_qat(small_run("file")), 1, "a file of that name is in the way");
  expect_failure(mnist_qat(small_run("out") + Arguments{"--checkpoint-dir", path("file/x")}), 1,
                 "--checkpoint-dir: cannot write to the folder");
  // A folder stands where the model should go.
  std::filesystem::create_directories(path("taken/mnist_int8.tflite"));
  expect_failure(mnist_qat(small_run("taken")), 1, "mnist_int8.tflite");
}

TEST_F(MnistQat, WhatCannotBeQuantizedIsRefusedBeforeTraining) {
  const ProcessResult result =
      mnist_qat(small_run("out") + Arguments{"--freeze-oscillations", "0.1"});
  expect_failure(result, 1, "freeze");
  EXPECT_FALSE(fs::exists(path("out/history.csv")));
}

TEST_F(MnistQat, ImagesThatANetworkCannotTakeAreRefusedBeforeTraining) {
  const ProcessResult result =
      mnist_qat({"--data", path("set"), "--out", path("out"), "--network", "lenet5"});
  expect_failure(result, 1, "conv2d_1");
  EXPECT_FALSE(std::filesystem::exists(path("out/checkpoints/last.ckpt")));
}

TEST_F(MnistQat, ResumingWithoutACheckpointSaysWhatToDoAndMakesNothing) {
  const ProcessResult result = mnist_qat(small_run("none") + Arguments{"--resume"});
  expect_failure(result, 1, "none/checkpoints/last.ckpt");
  expect_mentions(result.err, "start anew without --resume");
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(MnistQat, ResumingWithOtherShardsIsRefusedByName) {
  ASSERT_EQ(mnist_qat(small_run("out") + Arguments{"--shards", "4"}).exit_code, 0);
  const Arguments again = small_run("out") + Arguments{"--resume"};
  expect_failure(mnist_qat(again), 1, "--shards 4, now it is not given");
  expect_failure(mnist_qat(again + Arguments{"--shards", "2"}), 1, "--shards 4, now it is 2");
}

TEST_F(MnistQat, SeveralProcessesWithoutMpiAreRefused) {
  if (OCTET_WITH_MPI == 1) GTEST_SKIP() << "built with MPI: see tests/mpi";
  auto variables = plain_environment();
  variables["OMPI_COMM_WORLD_SIZE"] = "4";
  expect_failure(run_process(Arguments{OCTET_MNIST_QAT} + small_run("out"), variables), 1,
                 "-DOCTET_MPI=ON");
}

TEST_F(MnistQat, AnUnknownCodePathIsRefusedBeforeAnythingIsMade) {
  auto environment = plain_environment();
  environment["OCTET_ISA"] = "nonsense";
  const ProcessResult result =
      run_process(Arguments{OCTET_MNIST_QAT} + small_run("out"), environment);
  expect_failure(result, 1, "OCTET_ISA: expected an instruction set of this processor");
  EXPECT_EQ(result.out, "");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(MnistQat, ANetTooLargeForTheMachineIsRefusedBeforeTraining) {
  // 4 billion weights in each of 15 layers: a TiB of them with their moments.
  std::string hidden = "65536";
  for (int i = 0; i < 15; ++i) hidden += ",65536";
  Arguments run = small_run("out");
  run[5] = hidden;
  expect_failure(mnist_qat(run), 1, "try a smaller --hidden or --batch");
}

TEST_F(MnistQat, AFolderOfAnotherRunIsLeftAlone) {
  std::filesystem::create_directories(path("out"));
  const int handle = ::open(path("out").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(handle, LOCK_EX | LOCK_NB), 0);
  expect_failure(mnist_qat(small_run("out")), 1, "another run is writing to");
  expect_failure(mnist_qat(small_run("x") + Arguments{"--checkpoint-dir", path("out")}), 1,
                 "--checkpoint-dir: another run");
  EXPECT_FALSE(std::filesystem::exists(path("out/checkpoints/last.ckpt")));
  ::close(handle);
  EXPECT_EQ(mnist_qat(small_run("out") + Arguments{"--checkpoint-dir", path("out")}).exit_code, 0);
}

TEST_F(MnistQat, AFullDiskIsOneLineThatNamesTheFile) {
  const auto shell = [&](const std::string& before, const Arguments& arguments,
                         const std::string& after) {
    std::string command = before + "exec '" OCTET_MNIST_QAT "'";
    for (const std::string& word : arguments) command += " '" + word + "'";
    return run_process({"/bin/sh", "-c", command + after}, plain_environment());
  };
  // Files may not grow past 4 KiB, which is more than an OpenMP runtime of its own shares.
  const ProcessResult limited = shell("ulimit -f 8; ", small_run("limited"), " >/dev/null");
  expect_failure(limited, 1, "last.ckpt': File too large");
  EXPECT_FALSE(std::filesystem::exists(path("limited")));
  const Arguments json{"--json", "--log-level", "off"};
  const ProcessResult full =
      shell("", small_run("full") + json, " 2>'" + path("err") + "' >/dev/full");
  EXPECT_EQ(full.exit_code, 1);
  expect_mentions(text_of(path("err")), "mnist_qat: cannot write to standard output");
  EXPECT_TRUE(std::filesystem::exists(path("full/metrics.json")));
}

TEST_F(MnistQat, DivergenceSaysWhere) {
  const ProcessResult result =
      mnist_qat({"--data", path("set"), "--out", path("out"), "--lr", "1e30", "--epochs", "2"});
  expect_failure(result, 1, "training stopped at epoch 1, step ");
  EXPECT_FALSE(fs::exists(path("out/mnist_int8.tflite")));
}

}  // namespace
}  // namespace octet::test::mnist_qat_failures_test
