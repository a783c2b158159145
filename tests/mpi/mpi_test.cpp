// mnist_qat on several ranks: the same bytes as on one, and an end for all where one fails.

#include <octet/tests/cli/mnist_qat.h>
#include <octet/tests/sanitizers.h>
#include <octet/train/checkpoint.h>

#include <chrono>
#include <functional>
#include <sstream>

namespace octet::test::mpi_test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Hashes = std::map<std::string, std::string>;

/// Kills at random moments; fewer where each takes long.
#ifdef OCTET_TEST_SANITIZED
constexpr int kKills = 5;
#else
constexpr int kKills = 25;
#endif
/// How long it may take until all ranks have ended, on a machine that is busy.
constexpr double kMostSeconds = 60.0;
/// And then mpirun, which looks after them once a second.
constexpr double kMostSecondsOfMpirun = 20.0;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// As root, in a container, and with more ranks than processors.
std::map<std::string, std::string> mpi_environment() {
  auto variables = plain_environment();
  variables["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  variables["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  variables["OMPI_MCA_rmaps_base_oversubscribe"] = "1";
  variables["OMPI_MCA_hwloc_base_binding_policy"] = "none";
  variables["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
  // Open MPI leaks in modules that it unloads, so that no suppression can name them.
  variables["ASAN_OPTIONS"] = "detect_leaks=0";
  return variables;
}

Arguments ranks(int count, const Arguments& arguments) {
  return Arguments{OCTET_MPIRUN, "-np", std::to_string(count), OCTET_MNIST_QAT} + arguments;
}

ProcessResult run_ranks(int count, const Arguments& arguments) {
  return run_process(ranks(count, arguments), mpi_environment());
}

/// Whether it became true in that time.
bool within(double seconds, const std::function<bool()>& condition) {
  for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

/// Rank 0 with some arguments, and `others` ranks with others. Fails where they do not end.
ProcessResult run_apart(const Arguments& first, const Arguments& second, int others) {
  Process process(
      ranks(1, first) + Arguments{":", "-np", std::to_string(others), OCTET_MNIST_QAT} + second,
      mpi_environment());
  if (!within(kMostSeconds, [&] { return process.has_ended(); })) {
    ADD_FAILURE() << "the ranks wait for each other";
    process.signal(SIGTERM);
  }
  return process.wait();
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// Fails unless all ranks ended in failure and one of them said once why.
void expect_one_message(const ProcessResult& result, std::string_view part) {
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(count_of(result.err, "mnist_qat: "), 1U) << result.err;
  expect_mentions(result.err, part);
}

class Mpi : public MnistQat {
 protected:
  Arguments run(const std::string& out) const {
    return small_run(out) + Arguments{"--shards", "8", "--threads", "1"};
  }
  Hashes hashes(const std::string& out) const { return metrics(out).at("sha256").get<Hashes>(); }
  /// Expects equal hashes from a run on one process and from runs on several.
  void expect_same(const Arguments& options, const std::vector<int>& counts) {
    const std::string whole = "whole" + std::to_string(++runs_);
    const auto arguments = [&](const std::string& out) {
      return Arguments{"--out", path(out), "--threads", "1"} + options;
    };
    ASSERT_EQ(mnist_qat(arguments(whole)).exit_code, 0);
    for (const int count : counts) {
      const std::string out = "ranks" + std::to_string(++runs_);
      const ProcessResult result = run_ranks(count, arguments(out));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_EQ(hashes(out), hashes(whole)) << count << " ranks";
      EXPECT_EQ(model(out), model(whole));
      // One rank prints.
      EXPECT_EQ(count_of(result.out, hashes(out).at("model")), 1U);
      EXPECT_EQ(count_of(result.out, "data: "), 1U);
      EXPECT_EQ(result.err, "");
    }
  }

  int runs_ = 0;
};

TEST_F(Mpi, SameBytesOnAnyNumberOfRanks) {
  const Arguments data = {"--data", path("set"), "--epochs", "2",       "--qat-epochs",
                          "2",      "--lr",      "0.01",     "--batch", "32"};
  expect_same(data + Arguments{"--hidden", "12,7", "--shards", "8"}, {1, 2, 3, 4, 8});
  expect_same(data + Arguments{"--hidden", "9", "--shards", "5", "--batch-norm", "--dropout", "0.2",
                               "--batch-statistics", "--scales", "lsq", "--weight-bits", "4"},
              {2, 5});
}

TEST_F(Mpi, SameBytesOfAConvolutionalNetwork) {
  write_set(path("images"), 29, 7, 16, 17);
  expect_same({"--data", path("images"), "--network", "resnet8", "--epochs", "1", "--qat-epochs",
               "1", "--batch", "8", "--shards", "4"},
              {2, 4});
  expect_same({"--data", path("images"), "--network", "dscnn", "--epochs", "1", "--qat-epochs", "1",
               "--batch", "8", "--shards", "4", "--backward", "int8"},
              {2, 4});
}

TEST_F(Mpi, SameBytesWithCodedGradients) {
  expect_same({"--data", path("set"), "--epochs", "2", "--qat-epochs", "2", "--lr", "0.01",
               "--batch", "32", "--hidden", "300,7", "--shards", "6", "--gradients", "int8"},
              {2, 3, 6});
}

TEST_F(Mpi, CodedGradientsTakeAQuarterOfTheBytes) {
  const auto sent = [&](const std::string& format) {
    const ProcessResult result =
        run_ranks(2, {"--data", path("set"), "--out", path(format), "--hidden", "256", "--epochs",
                      "1", "--qat-epochs", "0", "--batch", "32", "--threads", "1", "--gradients",
                      format, "--profile"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream lines(result.out.substr(result.out.find("B received")));
    std::string word;
    double number = 0.0;
    // Rank 0's line: rank, host, step, exchange, efficiency, %, sent.
    lines >> word >> word >> word >> word >> word >> word >> word >> word >> number;
    return number;
  };
  const double floats = sent("float32");
  const double codes = sent("int8");
  EXPECT_GT(floats, 4.0 * (63 * 256));
  EXPECT_LT(codes, 0.3 * floats);
  EXPECT_GT(codes, 0.2 * floats);
}

TEST_F(Mpi, BitsAreSearchedByAllRanks) {
  const Arguments options = run("bits1") + Arguments{"--flash", "700"};
  ASSERT_EQ(mnist_qat(options).exit_code, 0);
  for (const int count : {2, 4}) {
    const std::string out = "bits" + std::to_string(count);
    const ProcessResult result = run_ranks(count, run(out) + Arguments{"--flash", "700"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(hashes(out), hashes("bits1"));
    EXPECT_EQ(text_of(path(out + "/bits.csv")), text_of(path("bits1/bits.csv")));
    EXPECT_EQ(count_of(result.out, "bits: "), 1U);
  }
}

TEST_F(Mpi, TheReportIsMeasuredByAllRanksAndWrittenByOne) {
  const auto sensitivities = [&](int count) {
    const std::string out = "report" + std::to_string(count);
    const Arguments options = run(out) + Arguments{"--report", path(out + ".html")};
    const ProcessResult result = count == 1 ? mnist_qat(options) : run_ranks(count, options);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string page = text_of(path(out + ".html"));
    const std::size_t begin = page.find("id=\"layers\"");
    return page.substr(begin, page.find("id=\"advice\"") - begin);
  };
  const std::string alone = sensitivities(1);
  EXPECT_GT(alone.size(), 1000U);
  EXPECT_EQ(sensitivities(3), alone);
}

TEST_F(Mpi, SeveralRanksCutABatchIntoEightUnlessTold) {
  ASSERT_EQ(run_ranks(2, small_run("two")).exit_code, 0);
  ASSERT_EQ(mnist_qat(run("eight")).exit_code, 0);
  EXPECT_EQ(hashes("two"), hashes("eight"));
}

TEST_F(Mpi, TheProfileNamesWhatEveryRankExchanges) {
  const ProcessResult result = run_ranks(2, run("out") + Arguments{"--profile"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_mentions(result.out, "exchange broadcast");
  EXPECT_EQ(count_of(result.out, "efficiency"), 2U);
  // Rank 0 receives the sums of the other once, and gives the whole to it, floats of gradients and
  // state: 9 * 7 inputs, 12 and 7 hidden units, 4 classes.
  const double gradients = 4.0 * (63 * 12 + 12 + 12 * 7 + 7 + 7 * 4 + 4);
  const std::string table = result.out.substr(result.out.find("efficiency"));
  std::istringstream lines(table.substr(table.find('\n') + 1));
  for (const int rank : {0, 1}) {
    int number = -1;
    std::string host;
    std::string percent;
    double step = 0.0;
    double exchange = 0.0;
    double efficiency = 0.0;
    double sent = 0.0;
    double received = 0.0;
    lines >> number >> host >> step >> exchange >> efficiency >> percent >> sent >> received;
    EXPECT_EQ(number, rank);
    EXPECT_LT(exchange, step);
    EXPECT_NEAR(efficiency, 100.0 * (1.0 - exchange / step), 0.2);
    EXPECT_GE(sent, gradients);
    EXPECT_LT(sent, gradients + 300.0);
    EXPECT_GE(received, gradients);
    EXPECT_LT(received, gradients + 300.0);
  }
}

TEST_F(Mpi, MoreRanksThanShardsAreRefused) {
  expect_one_message(run_ranks(3, small_run("out") + Arguments{"--shards", "2"}),
                     "found 2 for 3 ranks");
}

TEST_F(Mpi, HelpAndWrongOptionsAreSaidOnce) {
  EXPECT_EQ(count_of(run_ranks(3, {"--help"}).out, "Trains a network"), 1U);
  expect_one_message(run_ranks(3, {"--epochs", "-1"}), "--epochs");
}

TEST_F(Mpi, AWrongOptionOfSomeRanksEndsAll) {
  const Arguments right = run("out");
  struct Row {
    Arguments more;
    std::string message;
  };
  const std::vector<Row> rows = {
      {{"--shift", "-1"}, "--shift: expected a whole number from 0 to 1024, found \"-1\""},
      {{"--frob"}, "not expected: --frob"},
      {{"--target", "tflm", "--rounding", "fp32"}, "--target and --rounding: "},
      {{"--help"}, "--help or --version: "},
      {{"--version"}, "--help or --version: "},
      {{"--report", path("page.html")}, "--report: "},
      {{"--profile"}, "--profile: "},
      {{"--control"}, "control"},
      {{"--shift", "3"}, "--shift: "}};
  for (const auto& [more, message] : rows) {
    const Arguments wrong = right + more;
    for (const auto& [first, second] : {std::pair(wrong, right), std::pair(right, wrong)}) {
      SCOPED_TRACE(more.front() + (first == wrong ? " of rank 0" : " of ranks 1 and 2"));
      const ProcessResult result = run_apart(first, second, 2);
      expect_one_message(result, "rank 0 of 3 on ");
      expect_mentions(result.err, "was started with something else than rank 0 on ");
      expect_mentions(result.err, message);
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_EQ(count_of(result.out, "Trains a network"), 0U);
      EXPECT_FALSE(fs::exists(path("out")));
    }
  }
  EXPECT_EQ(run_ranks(3, right + Arguments{"--shift", "-1"}).exit_code, 2);
}

TEST_F(Mpi, RanksThatDifferAreNamed) {
  write_set(path("other"), 502, 203);
  expect_one_message(run_apart(run("a"), run("a") + Arguments{"--seed", "7"}, 1),
                     "--seed: 7 against 0");
  Arguments elsewhere = run("b");
  elsewhere[1] = path("other");
  expect_one_message(run_apart(run("b"), elsewhere, 1), "rank 1 on ");
}

TEST_F(Mpi, RanksWithoutTheirDataEndAll) {
  Arguments nowhere = run("out");
  nowhere[1] = path("missing");
  const auto begin = Clock::now();
  const ProcessResult result = run_apart(run("out"), nowhere, 2);
  EXPECT_LT(seconds_since(begin), kMostSeconds);
  // The message comes from rank 1 or 2.
  expect_one_message(result, " of 3 on ");
  expect_mentions(result.err, "missing");
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(Mpi, TrainingThatDivergesIsToldOnceWithRankAndStep) {
  Arguments diverging = run("out");
  *(std::ranges::find(diverging, "--lr") + 1) = "1e30";
  const auto begin = Clock::now();
  const ProcessResult result = run_ranks(4, diverging);
  EXPECT_LT(seconds_since(begin), kMostSeconds);
  expect_one_message(result, " of 4 on ");
  expect_mentions(result.err, "training stopped at epoch 1, step ");
  EXPECT_EQ(count_of(result.err, "epoch 1, step "), 1U) << result.err;
}

TEST(MpiRank, ThatThrowsInAStepNamesItself) {
  const ProcessResult result =
      run_process({OCTET_MPIRUN, "-np", "2", OCTET_FAILING_RANK}, mpi_environment());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(count_of(result.err, "the sensor is gone"), 1U) << result.err;
  expect_mentions(result.err, "rank 1 of 2 on ");
  expect_mentions(result.err, " at epoch 3, step 2: the sensor is gone");
}

struct ProcessState {
  char state = 'X';  ///< that of /proc; X where there is no such process
  ::pid_t parent = 0;
};

ProcessState state_of(::pid_t id) {
  std::ifstream file("/proc/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  // "id (name) state parent": the name may hold anything.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  ProcessState result;
  if (!(fields >> result.state >> result.parent)) return {};
  return result;
}

/// Z is what ended and was not waited for.
bool is_running(::pid_t id) {
  const char state = state_of(id).state;
  return state != 'X' && state != 'Z';
}

/// The ranks that a running mpirun has started.
std::vector<::pid_t> children_of(::pid_t parent) {
  std::vector<::pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (state_of(std::stoi(name)).parent == parent) found.push_back(std::stoi(name));
  }
  std::ranges::sort(found);
  return found;
}

class MpiKilled : public Mpi {
 protected:
  MpiKilled() { write_set(path("more"), 600, 100); }
  Arguments long_run(const std::string& out) const {
    return {"--data",   path("more"), "--out",     path(out), "--hidden",     "32,16",
            "--batch",  "8",          "--epochs",  "3",       "--qat-epochs", "3",
            "--shards", "8",          "--threads", "1"};
  }
  /// Kills one of the ranks; false where mpirun said then that all had ended well. Fails where a
  /// rank goes on, or mpirun does, whose own end is its matter only where a rank died before all
  /// had begun: Open MPI 4.1 on PMIx 4.2 may then wait for a mutex in memory that it has freed.
  static bool kill_one(Process& process, const std::vector<::pid_t>& children, std::size_t rank) {
    const bool begun = process.output().find("data: ") != std::string::npos;
    ::kill(children[rank], SIGKILL);
    EXPECT_TRUE(within(kMostSeconds, [&] { return std::ranges::none_of(children, is_running); }))
        << "a rank goes on without another";
    if (!within(kMostSecondsOfMpirun, [&] { return process.has_ended(); })) {
      EXPECT_FALSE(begun) << "mpirun does not end";
      process.signal(SIGKILL);
    }
    return process.wait().exit_code != 0;
  }
};

TEST_F(MpiKilled, ARankAtAnyMomentEndsAllAndTheRunGoesOnOnOtherRanks) {
  ASSERT_EQ(mnist_qat(long_run("whole")).exit_code, 0);
  const auto begin = Clock::now();
  ASSERT_EQ(run_ranks(4, long_run("timed")).exit_code, 0);
  const double seconds = seconds_since(begin);
  const Random random(20240617);
  int kills = 0;
  // What runs that were killed go on on, 1 without mpirun.
  std::vector<int> counts = {8, 6, 4, 2, 1};
  for (std::uint64_t i = 0; (kills < kKills || !counts.empty()) && i < 10 * kKills; ++i) {
    const std::string out = "killed" + std::to_string(i);
    Process process(ranks(4, long_run(out)), mpi_environment());
    std::this_thread::sleep_for(
        std::chrono::duration<double>(seconds * static_cast<double>(random.uniform(i))));
    const auto children = children_of(process.id());
    // Not begun yet, or ended.
    if (children.size() < 4) continue;
    if (!kill_one(process, children, random.below(i, 4))) continue;
    ++kills;
    if (!fs::exists(path(out + "/checkpoints/last.ckpt"))) continue;
    EXPECT_NO_THROW(read_checkpoint(path(out + "/checkpoints/last.ckpt")));
    if (counts.empty()) continue;
    const Arguments again = long_run(out) + Arguments{"--resume"};
    const int count = counts.back();
    const ProcessResult rest = count == 1 ? mnist_qat(again) : run_ranks(count, again);
    ASSERT_EQ(rest.exit_code, 0) << rest.err;
    expect_mentions(rest.out, "resuming from");
    EXPECT_EQ(hashes(out), hashes("whole"));
    counts.pop_back();
  }
  EXPECT_GE(kills, kKills);
  EXPECT_TRUE(counts.empty()) << "kills after the first epoch";
}

}  // namespace
}  // namespace octet::test::mpi_test
