// Equal seeds give equal models, byte for byte: whatever the threads, the run, the processor, and
// where it was killed on the way.

#include <octet/core/kernels/isa.h>
#include <octet/tests/cli/mnist_qat.h>
#include <octet_test_paths.h>

#include <chrono>
#include <set>

namespace octet::test::mnist_qat_same_bytes_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSeedOfKills = 20240611;
constexpr int kKills = 20;

using Hashes = std::map<std::string, std::string>;

class SameBytes : public MnistQat {
 protected:
  /// The hashes of a whole run.
  Hashes hashes(const Arguments& options,
                const std::map<std::string, std::string>& environment = {}) {
    const std::string out = "out" + std::to_string(++runs_);
    return hashes_of(small_run(out) + options, out, environment);
  }

  /// The hashes of a convolutional network, trained on few images.
  Hashes network_hashes(const std::string& network,
                        const std::map<std::string, std::string>& environment = {}) {
    if (!fs::exists(path("images"))) write_set(path("images"), 13, 5, 16, 17);
    const std::string out = "out" + std::to_string(++runs_);
    return hashes_of({"--data", path("images"), "--out", path(out), "--network", network,
                      "--epochs", "1", "--qat-epochs", "1", "--batch", "8"},
                     out, environment);
  }

 private:
  Hashes hashes_of(const Arguments& run, const std::string& out,
                   const std::map<std::string, std::string>& environment) {
    auto variables = plain_environment();
    variables.insert(environment.begin(), environment.end());
    const ProcessResult result = run_process(Arguments{OCTET_MNIST_QAT} + run, variables);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    auto found = metrics(out).at("sha256").get<Hashes>();
    EXPECT_EQ(found.size(), 3U);
    for (const auto& [name, hash] : found) {
      EXPECT_EQ(hash.size(), 64U) << name;
      expect_mentions(result.out, hash);
    }
    return found;
  }

  int runs_ = 0;
};

TEST_F(SameBytes, OnAnyNumberOfThreadsAndInEveryRun) {
  for (const Arguments& options :
       {Arguments{}, Arguments{"--per-channel", "--simulation", "fake_quant"}}) {
    const auto one = hashes(options + Arguments{"--threads", "1"});
    for (const char* threads : {"1", "2", "3", "4", "7"}) {
      EXPECT_EQ(hashes(options + Arguments{"--threads", threads}), one) << threads << " threads";
    }
    for (const auto& [name, hash] : hashes(options + Arguments{"--seed", "1"})) {
      EXPECT_NE(hash, one.at(name)) << name;
    }
  }
}

TEST_F(SameBytes, OnEveryCodePathWithAndWithoutTheSystemsFusedFunctions) {
  const auto expected = hashes({});
  for (const KernelTable* table : available_kernels()) {
    const std::string name(to_string(table->isa));
    EXPECT_EQ(hashes({}, {{"OCTET_ISA", name}}), expected) << name;
    // The C library then computes exp() and the like as on a processor without FMA and AVX2.
    EXPECT_EQ(
        hashes({}, {{"OCTET_ISA", name}, {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4"}}),
        expected)
        << name;
  }
}

TEST_F(SameBytes, OfConvolutionalNetworksOnEveryCodePath) {
  for (const char* network : {"lenet5", "dscnn", "resnet8", "mobilenet"}) {
    const auto expected = network_hashes(network);
    for (const KernelTable* table : available_kernels()) {
      const std::string name(to_string(table->isa));
      EXPECT_EQ(network_hashes(network, {{"OCTET_ISA", name}}), expected) << network << name;
    }
  }
}

TEST_F(MnistQat, TheHashOfTheModelIsThatOfTheFile) {
  ASSERT_EQ(mnist_qat(small_run("out")).exit_code, 0);
  const ProcessResult sum =
      run_process({"/bin/sh", "-c", "sha256sum \"$0\"", path("out/mnist_int8.tflite")});
  ASSERT_EQ(sum.exit_code, 0) << sum.err;
  EXPECT_EQ(sum.out.substr(0, 64), metrics("out").at("sha256").at("model"));
}

class KilledAndResumed : public MnistQat {
 protected:
  KilledAndResumed() { write_set(path("more"), 600, 100); }

  Arguments run(const std::string& out) const {
    return {"--data",  path("more"), "--out",    path(out), "--hidden",     "32,16",
            "--batch", "8",          "--epochs", "3",       "--qat-epochs", "3"};
  }
};

TEST_F(KilledAndResumed, AtAnyMomentEndsInTheSameBytes) {
  const auto begin = Clock::now();
  ASSERT_EQ(mnist_qat(run("whole")).exit_code, 0);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto expected = metrics("whole").at("sha256");
  std::printf("seed of the kill points: %llu\n", static_cast<unsigned long long>(kSeedOfKills));
  const Random random(kSeedOfKills);
  int kills = 0;
  std::set<std::string> resumed_from;
  for (std::uint64_t i = 0; kills < kKills && i < 10 * kKills; ++i) {
    const std::string out = "killed" + std::to_string(i);
    Process process(Arguments{OCTET_MNIST_QAT} + run(out), plain_environment());
    const double moment = seconds * static_cast<double>(random.uniform(i));
    std::this_thread::sleep_for(std::chrono::duration<double>(moment));
    process.signal(SIGKILL);
    if (process.wait().signal != SIGKILL) continue;
    ++kills;
    const bool saved = fs::exists(path(out + "/checkpoints/last.ckpt"));
    const ProcessResult resumed =
        mnist_qat(run(out) + (saved ? Arguments{"--resume"} : Arguments{}));
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(metrics(out).at("sha256"), expected) << "killed after " << moment << " s";
    EXPECT_EQ(model(out), model("whole"));
    const auto of_epoch = resumed.out.find(saved ? "resuming from" : "data: ");
    EXPECT_NE(of_epoch, std::string::npos);
    resumed_from.insert(std::to_string(lines_in(resumed.out)));
    fs::remove_all(path(out));
  }
  EXPECT_EQ(kills, kKills);
  EXPECT_GE(resumed_from.size(), 3U) << "kills in several epochs leave different amounts to do";
}

}  // namespace
}  // namespace octet::test::mnist_qat_same_bytes_test
