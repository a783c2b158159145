// What mnist_qat has saved stays saved, whatever fails or kills it.

#include <fcntl.h>
#include <linux/fs.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/core/faulty_file_system.h>
#include <octet/train/checkpoint.h>
#include <octet_test_paths.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

namespace octet::test::mnist_qat_nothing_lost_test {
namespace {

namespace fs = std::filesystem;

/// A folder that nobody can write to: by its permissions, or for root by the attribute that file
/// systems such as ext4 have. False where neither holds.
bool make_read_only(const fs::path& folder, bool read_only) {
  ::chmod(folder.c_str(), read_only ? 0555 : 0755);
  if (::geteuid() == 0) {
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0;
    const bool known = ::ioctl(handle, FS_IOC_GETFLAGS, &flags) == 0;
    flags = read_only ? flags | FS_IMMUTABLE_FL : flags & ~FS_IMMUTABLE_FL;
    if (known) static_cast<void>(::ioctl(handle, FS_IOC_SETFLAGS, &flags));
    ::close(handle);
  }
  return ::access(folder.c_str(), W_OK) != 0;
}

class NothingLost : public MnistQat {
 protected:
  /// Runs with the `at`-th call that saves failing with `error`; 0: killed there.
  ProcessResult run_with_fault(const Arguments& options, int at, int error) const {
    auto environment = plain_environment();
    environment["LD_PRELOAD"] = OCTET_FAULTY_CALLS;
    environment["OCTET_FAULT_AT"] = std::to_string(at);
    environment["OCTET_FAULT_ERROR"] = std::to_string(error);
    // A sanitizer's library wants to be the first.
    environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
    return run_process(Arguments{OCTET_MNIST_QAT} + small_run("out") + options, environment);
  }

  /// Every file of a finished run is there and whole, of one seed or of the other.
  void expect_whole(const FolderContents& a, const FolderContents& b) const {
    FolderContents found = contents_of(path("out"));
    // What the run before left is moved file by file.
    for (const char* folder : {"out/previous_run", "out/previous_run.moving"}) {
      if (fs::exists(path(folder))) found.merge(contents_of(path(folder)));
    }
    for (const auto& [name, bytes] : a) {
      ASSERT_TRUE(found.contains(name)) << name;
      if (name == "history.csv" || name == "metrics.json") continue;  // they hold times
      EXPECT_TRUE(found.at(name) == bytes || found.at(name) == b.at(name)) << name << " is torn";
    }
    EXPECT_NO_THROW(from_tflite(found.at("mnist_int8.tflite")));
    EXPECT_TRUE(nlohmann::json::accept(found.at("metrics.json")));
    EXPECT_EQ(found.at("history.csv").back(), '\n');
    EXPECT_NO_THROW(read_checkpoint(path("out/checkpoints/last.ckpt")));
  }

  /// The files in --out of a finished run; its checkpoints are elsewhere.
  FolderContents finish(const Arguments& options) const {
    fs::remove_all(path("out"));
    EXPECT_EQ(mnist_qat(small_run("out") + options).exit_code, 0);
    return contents_of(path("out"));
  }

  int fail_every_call(int error);
};

/// A run over the files of another, failing at each call in turn. Returns how many there are.
int NothingLost::fail_every_call(int error) {
  const Arguments other{"--seed", "7"};
  const FolderContents b = finish({});
  const auto hashes = metrics("out").at("sha256");
  const FolderContents a = finish(other);
  fs::copy(path("out"), path("finished"), fs::copy_options::recursive);
  for (int k = 1;; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    fs::remove_all(path("out"));
    fs::copy(path("finished"), path("out"), fs::copy_options::recursive);
    const ProcessResult result = run_with_fault({}, k, error);
    if (result.exit_code == 0) return k - 1;
    expect_whole(a, b);
    if (error == 0) {
      EXPECT_EQ(result.signal, SIGKILL);
    } else {
      expect_failure(result, 1, std::generic_category().message(error));
      expect_mentions(result.err, path("out/"));
      EXPECT_EQ(temporaries_in(path("out")) + temporaries_in(path("out/checkpoints")), 0U);
    }
    if (k % 3 != 0) continue;
    // The next run goes on, or over it, and leaves nothing of the failure behind.
    ProcessResult next = mnist_qat(small_run("out") + Arguments{"--resume"});
    if (next.exit_code != 0) {
      expect_mentions(next.err, "the checkpoint was made with --seed 7");
      next = mnist_qat(small_run("out"));
    }
    EXPECT_EQ(next.exit_code, 0) << next.err;
    EXPECT_EQ(metrics("out").at("sha256"), hashes);
    EXPECT_EQ(temporaries_in(path("out")) + temporaries_in(path("out/checkpoints")), 0U);
  }
}

TEST_F(NothingLost, WhereverACallFails) { EXPECT_GT(fail_every_call(ENOSPC), 40); }

TEST_F(NothingLost, WhereverASaveIsKilled) { EXPECT_GT(fail_every_call(0), 40); }

TEST_F(NothingLost, AFolderRemovedDuringTheRunIsNamed) {
  write_set(path("large"), 4000, 300);
  Process process(Arguments{OCTET_MNIST_QAT, "--data", path("large"), "--out", path("out"),
                            "--checkpoint-dir", path("saves"), "--epochs", "200", "--batch", "16"},
                  plain_environment());
  ASSERT_TRUE(process.wait_for_output("float 1/200"));
  // At once: the run writes to it.
  fs::rename(path("saves"), path("gone"));
  expect_failure(process.wait(), 1, "there is no folder '" + path("saves") + "'; make it first");
}

TEST_F(NothingLost, AReadOnlyFolderIsRefusedAndLeftAsItIs) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const FolderContents before = contents_of(path("out"));
  const bool held = make_read_only(path("out"), true);
  if (held) expect_failure(mnist_qat(small_run("out")), 1, "--out: cannot write to the folder");
  make_read_only(path("out"), false);
  EXPECT_EQ(contents_of(path("out")), before);
  if (!held) GTEST_SKIP() << "root may write to any folder here, and none can be made immutable";
}

TEST_F(NothingLost, ANewRunKeepsTheCheckpointOfAStoppedOne) {
  const std::string last = path("out/checkpoints/last.ckpt");
  // A finished run is replaced by the next, as before.
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  ASSERT_EQ(mnist_qat(small_run("out") + Arguments{"--seed", "1"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(path("out/checkpoints/stopped.ckpt")));
  // Killed with two checkpoints saved.
  fs::remove_all(path("out"));
  for (int call = 20; !fs::exists(last + ".1"); ++call) {
    fs::remove_all(path("out"));
    ASSERT_EQ(run_with_fault({}, call, 0).signal, SIGKILL);
  }
  EXPECT_FALSE(fs::exists(path("out/metrics.json")));
  const Bytes stopped = read_file(last);
  const Bytes before = read_file(last + ".1");
  const std::string kept = path("out/checkpoints/stopped.ckpt");
  const auto run_anew = [&] {
    const ProcessResult next = mnist_qat(small_run("out") + Arguments{"--seed", "2"});
    ASSERT_EQ(next.exit_code, 0) << next.err;
    expect_mentions(next.out, "is kept as " + kept + "; to go on with it, name it last.ckpt");
  };
  run_anew();
  EXPECT_EQ(read_file(kept), stopped);
  EXPECT_EQ(read_file(kept + ".1"), before);
  // Nothing is left of the earlier run once a later one is stopped that has one checkpoint.
  fs::remove(last + ".1");
  fs::remove(path("out/metrics.json"));
  const Bytes later = read_file(last);
  run_anew();
  EXPECT_EQ(read_file(kept), later);
  EXPECT_FALSE(fs::exists(kept + ".1"));
  const Bytes latest = read_file(last);
  fs::rename(last, last + ".1");
  fs::remove(path("out/metrics.json"));
  run_anew();
  EXPECT_FALSE(fs::exists(kept));
  EXPECT_EQ(read_file(kept + ".1"), latest);
  // Named again, a kept one goes on.
  write_file_atomic(last, stopped);
  ASSERT_EQ(mnist_qat(small_run("out") + Arguments{"--resume"}).exit_code, 0);
  const auto hashes = metrics("out").at("sha256");
  ASSERT_EQ(mnist_qat(small_run("fresh")).exit_code, 0);
  EXPECT_EQ(metrics("fresh").at("sha256"), hashes);
}

TEST_F(NothingLost, ADamagedCheckpointIsToldAndTheOneBeforeIsUsed) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const auto hashes = metrics("out").at("sha256");
  const std::string last = path("out/checkpoints/last.ckpt");
  Bytes damaged = read_file(last);
  damaged.resize(damaged.size() / 2);
  write_file_atomic(last, damaged);
  const ProcessResult resumed = mnist_qat(small_run("out") + Arguments{"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_mentions(resumed.err, last + ": expected an octet archive");
  expect_mentions(resumed.err, "going on from the checkpoint before it");
  expect_mentions(resumed.out, "resuming from " + last + ".1");
  EXPECT_EQ(metrics("out").at("sha256"), hashes);
}

}  // namespace
}  // namespace octet::test::mnist_qat_nothing_lost_test
