// mnist_qat stopped by a signal, and going on.

#include <octet/core/archive.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet_test_paths.h>

namespace octet::test::mnist_qat_resume_test {
namespace {

namespace fs = std::filesystem;

/// In an epoch of a long run.
constexpr std::size_t kSteps = 250;

/// Runs that take long enough to be stopped on the way.
class MnistQatResume : public MnistQat {
 protected:
  MnistQatResume() { write_set(path("large"), 4000, 300); }

  Arguments long_run(const std::string& out) const {
    return {"--data",  path("large"), "--out",    path(out), "--hidden",     "128,64",
            "--batch", "16",          "--epochs", "5",       "--qat-epochs", "4"};
  }

  /// Starts a run, signals it once stdout holds `text`, and returns how it ended. A run that was
  /// faster than the signal is tried again.
  ProcessResult stop_at(const std::string& text, int signal, const Arguments& arguments,
                        const std::string& out) {
    ProcessResult result;
    for (int attempt = 0; attempt < 5; ++attempt) {
      fs::remove_all(path(out));
      Process process(Arguments{OCTET_MNIST_QAT} + arguments, plain_environment());
      EXPECT_TRUE(process.wait_for_output(text));
      process.signal(signal);
      result = process.wait();
      if (result.exit_code != 0) break;
    }
    return result;
  }

  /// Steps of the float phase in the last checkpoint.
  std::size_t steps_saved(const std::string& out) const {
    const Archive checkpoint = Archive::read(path(out + "/checkpoints/last.ckpt"));
    return nlohmann::json::parse(checkpoint.text("trainer")).at("step");
  }

  void expect_same_result(const std::string& a, const std::string& b) {
    EXPECT_EQ(model(a), model(b));
    EXPECT_EQ(read_file(path(a + "/mnist_float.tflite")),
              read_file(path(b + "/mnist_float.tflite")));
    auto first = metrics(a);
    auto second = metrics(b);
    for (auto* m : {&first, &second}) {
      for (const char* key : {"seconds", "s_per_epoch"}) m->erase(key);
      for (auto& epoch : m->at("epochs")) {
        for (const char* key : {"seconds", "images_per_second"}) epoch.erase(key);
      }
    }
    EXPECT_EQ(first, second);
  }
};

TEST_F(MnistQatResume, GoesOnAsIfItHadNeverStopped) {
  ASSERT_EQ(mnist_qat(long_run("whole")).exit_code, 0);
  int number = 0;
  bool stopped_within_an_epoch = false;
  for (const char* text : {"float 1/5", "float 4/5", "qat   calibrated", "qat   1/4"}) {
    SCOPED_TRACE(text);
    const std::string out = "stopped" + std::to_string(number++);
    const ProcessResult stopped = stop_at(text, SIGINT, long_run(out), out);
    ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_FALSE(fs::exists(path(out + "/metrics.json")));
    EXPECT_FALSE(fs::exists(path(out + "/mnist_int8.tflite")));
    expect_mentions(stopped.err, "to go on: " OCTET_MNIST_QAT " --data ");
    expect_mentions(stopped.err, "--qat-epochs 4 --resume\n");
    stopped_within_an_epoch |= steps_saved(out) % kSteps != 0;
    const ProcessResult resumed = mnist_qat(long_run(out) + Arguments{"--resume"});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    expect_mentions(resumed.out, "resuming from ");
    expect_same_result(out, "whole");
  }
  EXPECT_TRUE(stopped_within_an_epoch);
}

TEST_F(MnistQatResume, TheControlToo) {
  const auto run = [&](const std::string& out) { return long_run(out) + Arguments{"--control"}; };
  ASSERT_EQ(mnist_qat(run("whole")).exit_code, 0);
  // Epochs of the control and of quantized training are 4.
  for (const char* text : {"float 1/4", "qat   1/4"}) {
    SCOPED_TRACE(text);
    ASSERT_EQ(stop_at(text, SIGINT, run("out"), "out").exit_code, 130);
    const ProcessResult changed = mnist_qat(long_run("out") + Arguments{"--resume"});
    expect_failure(changed, 1, "--control yes, now it is not given");
    expect_success(mnist_qat(run("out") + Arguments{"--resume"}));
    expect_same_result("out", "whole");
  }
}

TEST_F(MnistQatResume, TheBitsThatWereFoundToo) {
  const auto run = [&](const std::string& out) {
    return long_run(out) + Arguments{"--flash", "7000"};
  };
  ASSERT_EQ(mnist_qat(run("whole")).exit_code, 0);
  // Before and after the bits are searched.
  for (const char* text : {"float 1/5", "qat   1/4"}) {
    SCOPED_TRACE(text);
    ASSERT_EQ(stop_at(text, SIGINT, run("out"), "out").exit_code, 130);
    expect_failure(mnist_qat(long_run("out") + Arguments{"--resume"}), 1,
                   "the checkpoint was made with --per-channel yes, now it is no");
    expect_failure(mnist_qat(long_run("out") + Arguments{"--resume", "--flash", "7001"}), 1,
                   "the checkpoint was made with --flash 7000, now it is 7001");
    expect_success(mnist_qat(run("out") + Arguments{"--resume"}));
    expect_same_result("out", "whole");
    EXPECT_EQ(text_of(path("out/bits.csv")), text_of(path("whole/bits.csv")));
  }
}

TEST_F(MnistQatResume, ManyTimesAndByOtherThreads) {
  ASSERT_EQ(mnist_qat(long_run("whole") + Arguments{"--threads", "2"}).exit_code, 0);
  const auto run = [&](const char* threads) {
    return long_run("out") + Arguments{"--threads", threads};
  };
  ASSERT_EQ(stop_at("float 1/5", SIGTERM, run("1"), "out").exit_code, 143);
  Process second(Arguments{OCTET_MNIST_QAT} + run("2") + Arguments{"--resume"},
                 plain_environment());
  EXPECT_TRUE(second.wait_for_output("qat   1/4"));
  second.signal(SIGINT);
  const ProcessResult stopped = second.wait();
  ASSERT_TRUE(stopped.exit_code == 130 || stopped.exit_code == 0) << stopped.err;
  EXPECT_EQ(stopped.err.find("--resume --resume"), std::string::npos);
  ASSERT_EQ(mnist_qat(run("2") + Arguments{"--resume"}).exit_code, 0);
  expect_same_result("out", "whole");
}

TEST_F(MnistQatResume, TheCommandToGoOnCanBePasted) {
  const std::string odd = "it's odd; $HOME";
  const ProcessResult stopped = stop_at("float 1/5", SIGINT, long_run(odd), odd);
  ASSERT_EQ(stopped.exit_code, 130);
  const std::size_t at = stopped.err.find("to go on: ") + 10;
  const std::string command = stopped.err.substr(at, stopped.err.find('\n', at) - at);
  const ProcessResult resumed = run_process({"/bin/sh", "-c", command}, plain_environment());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(fs::exists(path(odd + "/mnist_int8.tflite")));
}

TEST_F(MnistQatResume, EverySignalToStopSavesAndSaysHowToGoOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(signal);
    const ProcessResult stopped = stop_at("float 1/5", signal, long_run("out"), "out");
    EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.err;
    expect_mentions(stopped.err, "everything up to this step is in " + path("out/checkpoints"));
    expect_mentions(stopped.err, "--resume\n");
    EXPECT_GT(steps_saved("out"), kSteps);
  }
}

TEST_F(MnistQatResume, ASecondSignalEndsAtOnceAndLosesNothingSaved) {
  ASSERT_EQ(stop_at("float 1/5", SIGINT, long_run("out"), "out").exit_code, 130);
  const std::size_t saved = steps_saved("out");
  Process process(Arguments{OCTET_MNIST_QAT} + long_run("out") + Arguments{"--resume"},
                  plain_environment());
  ASSERT_TRUE(process.wait_for_output("float 2/5"));
  // Held, so that both signals are there before any step ends.
  process.signal(SIGSTOP);
  process.signal(SIGINT);
  process.signal(SIGTERM);
  process.signal(SIGCONT);
  const ProcessResult result = process.wait();
  // The system chooses which of the two it delivers last.
  EXPECT_TRUE(result.signal == SIGINT || result.signal == SIGTERM) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_GE(steps_saved("out"), saved);
  EXPECT_EQ(mnist_qat(long_run("out") + Arguments{"--resume"}).exit_code, 0);
}

TEST_F(MnistQatResume, ASecondHangupStillSaves) {
  Process process(Arguments{OCTET_MNIST_QAT} + long_run("out"), plain_environment());
  ASSERT_TRUE(process.wait_for_output("float 1/5"));
  process.deliver(SIGHUP);
  process.deliver(SIGHUP);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGHUP);
  EXPECT_GT(steps_saved("out"), kSteps);
}

TEST_F(MnistQatResume, SignalsThatTheCallerIgnoresAreIgnored) {
  std::string command = "trap '' HUP; exec '" OCTET_MNIST_QAT "'";
  for (const std::string& word : long_run("out")) command += " '" + word + "'";
  Process process({"/bin/sh", "-c", command}, plain_environment());
  ASSERT_TRUE(process.wait_for_output("float 1/5"));
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait().exit_code, 0);
}

TEST_F(MnistQatResume, ATerminalThatGoesDoesNotKeepTheRunFromSaving) {
  const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  const bool ready = screen >= 0 && ::grantpt(screen) == 0 && ::unlockpt(screen) == 0;
  const std::string terminal = ready ? ::ptsname(screen) : "";
  if (::access(terminal.c_str(), R_OK | W_OK) != 0) {
    GTEST_SKIP() << "no pseudo-terminal can be opened here (" << std::strerror(errno)
                 << "): /dev/ptmx or a mounted /dev/pts is missing";
  }
  std::string command = "exec '" OCTET_MNIST_QAT "'";
  for (const std::string& word : long_run("out")) command += " '" + word + "'";
  Process process({"/bin/sh", "-c", command + " >" + terminal + " 2>&1"}, plain_environment());
  std::string seen;
  for (char text[256]; seen.find("float 2/5") == std::string::npos;) {
    const ::ssize_t got = ::read(screen, text, sizeof text);
    if (got <= 0) break;
    seen.append(text, static_cast<std::size_t>(got));
  }
  ::close(screen);
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGHUP);
  EXPECT_GT(steps_saved("out"), kSteps);
}

TEST_F(MnistQat, AReaderThatEndsDoesNotKeepTheRunFromTrainingAndExporting) {
  std::string command = "{ '" OCTET_MNIST_QAT "'";
  for (const std::string& word : small_run("out")) command += " '" + word + "'";
  command += "; echo $? >'" + path("code") + "'; } | (read line)";
  const ProcessResult piped = run_process({"/bin/sh", "-c", command}, plain_environment());
  EXPECT_EQ(text_of(path("code")), "1\n");
  EXPECT_EQ(lines_in(piped.err), 1);
  expect_mentions(piped.err, "mnist_qat: cannot write to standard output");
  expect_mentions(piped.err, "has its reader ended? All files are in " + path("out"));
  ASSERT_EQ(mnist_qat(small_run("whole")).exit_code, 0);
  EXPECT_EQ(model("out"), model("whole"));
  EXPECT_EQ(metrics("out").at("sha256"), metrics("whole").at("sha256"));
}

TEST_F(MnistQat, AFinishedRunResumesToTheSameAndCanTrainOnAtAConstantRate) {
  const Arguments run = small_run("out") + Arguments{"--qat-schedule", "constant"};
  ASSERT_EQ(mnist_qat(run).exit_code, 0);
  const Bytes before = model("out");
  ASSERT_EQ(mnist_qat(run + Arguments{"--resume"}).exit_code, 0);
  EXPECT_EQ(model("out"), before);
  Arguments longer = run;
  longer[11] = "3";  // --qat-epochs
  ASSERT_EQ(mnist_qat(longer + Arguments{"--resume"}).exit_code, 0);
  EXPECT_EQ(metrics("out").at("epochs").size(), 5U);
  longer[3] = path("whole");
  ASSERT_EQ(mnist_qat(longer).exit_code, 0);
  EXPECT_EQ(model("out"), model("whole"));
}

TEST_F(MnistQat, ARateThatFallsIsTiedToItsEpochs) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const std::string history = text_of(path("out/history.csv"));
  Arguments longer = small_run("out");
  longer[11] = "3";  // --qat-epochs
  const ProcessResult refused = mnist_qat(longer + Arguments{"--resume"});
  EXPECT_EQ(refused.exit_code, 1);
  expect_mentions(refused.err,
                  "made with --qat-schedule cosine over 1 epochs, now it is cosine over 3");
  EXPECT_EQ(text_of(path("out/history.csv")), history);
}

TEST_F(MnistQat, CheckpointsGoWhereTheyAreTold) {
  const Arguments elsewhere = {"--checkpoint-dir", path("elsewhere")};
  ASSERT_EQ(mnist_qat(small_run("out") + elsewhere).exit_code, 0);
  EXPECT_FALSE(fs::exists(path("out/checkpoints")));
  EXPECT_TRUE(fs::exists(path("elsewhere/last.ckpt")));
  const Bytes before = model("out");
  fs::remove(path("out/mnist_int8.tflite"));
  ASSERT_EQ(mnist_qat(small_run("out") + elsewhere + Arguments{"--resume"}).exit_code, 0);
  EXPECT_EQ(model("out"), before);
}

TEST_F(MnistQat, ResumeWithoutACheckpointIsAnError) {
  expect_failure(mnist_qat(small_run("out") + Arguments{"--resume"}), 1, "last.ckpt");
  fs::create_directories(path("out/checkpoints"));
  write_file_atomic(path("out/checkpoints/last.ckpt"), std::string_view("junk"));
  expect_failure(mnist_qat(small_run("out") + Arguments{"--resume"}), 1, "last.ckpt");
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  Bytes damaged = read_file(path("out/checkpoints/last.ckpt"));
  damaged[damaged.size() / 2] ^= 1U;
  write_file_atomic(path("out/checkpoints/last.ckpt"), damaged);
  fs::remove(path("out/checkpoints/last.ckpt.1"));
  expect_failure(mnist_qat(small_run("out") + Arguments{"--resume"}), 1, "checksum");
}

TEST_F(MnistQat, ACheckpointWithoutItsNotesIsNamed) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const std::string last = path("out/checkpoints/last.ckpt");
  Archive checkpoint = Archive::read(last);
  auto notes = nlohmann::json::parse(checkpoint.text("notes"));
  notes["float_bytes"] = "many";
  checkpoint.add_text("notes", notes.dump());
  write_file_atomic(last, checkpoint.to_bytes());
  expect_failure(mnist_qat(small_run("out") + Arguments{"--resume"}), 1,
                 "'" + last + "' does not say what the training in float came to");
}

TEST_F(MnistQat, ResumeWithOtherOptionsIsAnError) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const auto resume_with = [&](const Arguments& option) {
    Arguments arguments = small_run("out");
    const auto at = std::ranges::find(arguments, option.front());
    if (at != arguments.end()) {
      at[1] = option.back();
      return mnist_qat(arguments + Arguments{"--resume"});
    }
    return mnist_qat(arguments + option + Arguments{"--resume"});
  };
  const std::vector<std::string> lines = {"--epochs 3",
                                          "--batch 33",
                                          "--lr 0.02",
                                          "--qat-lr 0.02",
                                          "--hidden 12,8",
                                          "--seed 1",
                                          "--per-channel",
                                          "--tfmot-ranges",
                                          "--weight-bits 5",
                                          "--layer-bits dense=5",
                                          "--activation-bits 5",
                                          "--batch-norm",
                                          "--batch-statistics",
                                          "--dropout 0.1",
                                          "--input-dropout 0.1",
                                          "--shift 1",
                                          "--full-grid",
                                          "--scales lsq",
                                          "--count-oscillations",
                                          "--rounding double"};
  for (const std::string& line : lines) {
    const Arguments option = words_of(line);
    expect_failure(resume_with(option), 1, "the checkpoint was made with " + option.front());
  }
  // Another set, of the same name but another size.
  write_set(path("more/set"), 502, 203);
  expect_failure(resume_with({"--data", path("more/set")}), 1,
                 "the checkpoint was made with data set (501 + 203 images");
  // Another set, of the same name and size.
  write_set(path("other/set"), 501, 203);
  Bytes labels = read_file(path("other/set/train-labels-idx1-ubyte"));
  std::swap(labels[8], labels[9]);
  write_file_atomic(path("other/set/train-labels-idx1-ubyte"), labels);
  expect_failure(resume_with({"--data", path("other/set")}), 1,
                 "--resume: the data set is no longer the one that the checkpoint was made with");
}

}  // namespace
}  // namespace octet::test::mnist_qat_resume_test
