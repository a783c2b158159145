#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/tests/core/ops/op_testing.h>
#include <octet/tests/sanitizers.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace octet::test::parallel_test {
namespace {

using namespace testing;

class ParallelTest : public ::testing::Test {
 protected:
  test::KeepThreads keep_;
};

using Chunks = std::set<std::pair<std::size_t, std::size_t>>;

Chunks chunks_of(std::size_t count, std::size_t grain) {
  Chunks chunks;
  std::mutex mutex;
  parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(begin, end).second);
  });
  return chunks;
}

TEST_F(ParallelTest, ChunksDependOnTheGrainAlone) {
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    EXPECT_EQ(chunks_of(10, 4), (Chunks{{0, 4}, {4, 8}, {8, 10}}));
    EXPECT_EQ(chunks_of(8, 4), (Chunks{{0, 4}, {4, 8}}));
    EXPECT_EQ(chunks_of(3, 100), (Chunks{{0, 3}}));
    EXPECT_EQ(chunks_of(0, 4), Chunks{});
    EXPECT_EQ(chunks_of(2, 0), (Chunks{{0, 1}, {1, 2}}));
  }
}

TEST_F(ParallelTest, AShareIsOneChunkPerThread) {
  set_num_threads(3);
  EXPECT_EQ(thread_share(9, 1), 3U);
  EXPECT_EQ(thread_share(10, 1), 4U);
  EXPECT_EQ(thread_share(10, 6), 6U);
  EXPECT_EQ(thread_share(10, 1, 3), 6U);
  EXPECT_EQ(thread_share(0, 1), 1U);
  parallel_region([] {
    EXPECT_EQ(thread_share(10, 6), 4U);
    EXPECT_EQ(thread_share(10, 10), 5U);
    // Inside a loop there are no threads to wake.
    parallel_for(2, 1, [](std::size_t, std::size_t) { EXPECT_EQ(thread_share(10, 6), 6U); });
  });
  set_num_threads(1);
  EXPECT_EQ(thread_share(10, 1), 10U);
}

TEST_F(ParallelTest, RunsEachTaskOnce) {
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    for (const std::size_t count : {0U, 1U, 37U}) {
      std::vector<std::atomic<int>> runs(count);
      parallel_tasks(count, [&](std::size_t i) { ++runs[i]; });
      for (const auto& number : runs) EXPECT_EQ(number, 1);
    }
    EXPECT_THROW(parallel_tasks(5,
                                [](std::size_t i) {
                                  if (i == 3) throw std::runtime_error("task");
                                }),
                 std::runtime_error);
  }
}

/// Returns the threads that run `count` tasks, each of which waits until all have begun.
std::size_t threads_at_once(std::size_t count) {
  std::set<std::thread::id> seen;
  std::mutex mutex;
  std::condition_variable more;
  parallel_for(count, 1, [&](std::size_t, std::size_t) {
    std::unique_lock lock(mutex);
    seen.insert(std::this_thread::get_id());
    more.notify_all();
    more.wait_for(lock, std::chrono::seconds(20), [&] { return seen.size() == count; });
  });
  return seen.size();
}

TEST_F(ParallelTest, UsesTheGivenNumberOfThreads) {
  set_num_threads(3);
  EXPECT_EQ(threads_at_once(3), 3U);
  parallel_region([] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(threads_at_once(3), 3U);
  });
}

TEST_F(ParallelTest, OneThreadFollowsTheGivenOrder) {
  set_num_threads(1);
  std::vector<std::size_t> order;
  parallel_tasks(3, [&](std::size_t i) { order.push_back(i); });
  parallel_tasks(
      3, [&](std::size_t i) { order.push_back(i); }, TaskOrder::descending);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 2, 1, 0}));
}

TEST_F(ParallelTest, ARegionRunsManyLoops) {
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    std::vector<std::atomic<int>> runs(23);
    std::size_t loops = 0;
    std::size_t expected = 0;
    parallel_region([&] {
      for (; loops < 2000; ++loops) {
        const std::size_t count = loops % (runs.size() + 1);
        const auto order = loops % 2 == 0 ? TaskOrder::ascending : TaskOrder::descending;
        parallel_tasks(
            count, [&](std::size_t i) { ++runs[i]; }, order);
        expected += count;
      }
    });
    std::size_t total = 0;
    for (const auto& number : runs) total += static_cast<std::size_t>(number);
    EXPECT_EQ(loops, 2000U);
    EXPECT_EQ(total, expected);
    EXPECT_EQ(runs[22], 2000 / 24);
  }
}

TEST_F(ParallelTest, ARegionPassesExceptionsToItsCaller) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const auto fail = [](std::size_t i) {
      if (i == 5) throw NumericError("task 5");
    };
    bool went_on = false;
    parallel_region([&] {
      EXPECT_THROW(parallel_tasks(9, fail), NumericError);
      parallel_tasks(9, [&](std::size_t) {});
      went_on = true;
    });
    EXPECT_TRUE(went_on);
    EXPECT_THROW(parallel_region([&] { parallel_tasks(9, fail); }), NumericError);
    EXPECT_THROW(parallel_region([] { throw std::runtime_error("body"); }), std::runtime_error);
    EXPECT_EQ(chunks_of(100, 1).size(), 100U);
  }
}

TEST_F(ParallelTest, RegionsInsideARegionOrALoopRunInline) {
  set_num_threads(4);
  std::atomic<int> total = 0;
  const auto count = [&] { parallel_for(10, 3, [&](std::size_t, std::size_t) { ++total; }); };
  parallel_region([&] {
    parallel_region(count);
    parallel_for(8, 1, [&](std::size_t, std::size_t) { parallel_region(count); });
    count();
  });
  EXPECT_EQ(total, 4 * (1 + 8 + 1));
}

TEST_F(ParallelTest, ExceptionsReachTheCaller) {
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    const auto run = [] {
      parallel_for(100, 1, [](std::size_t begin, std::size_t) {
        if (begin == 57) throw NumericError("chunk 57");
      });
    };
    EXPECT_THROW(run(), NumericError);
    EXPECT_EQ(chunks_of(100, 1).size(), 100U);
  }
}

TEST_F(ParallelTest, NestedLoopsRunInline) {
  set_num_threads(4);
  std::atomic<int> total = 0;
  std::atomic<int> elsewhere = 0;
  parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto outer = std::this_thread::get_id();
    parallel_for(10, 3, [&](std::size_t begin, std::size_t end) {
      total += static_cast<int>(end - begin);
      elsewhere += std::this_thread::get_id() == outer ? 0 : 1;
    });
  });
  EXPECT_EQ(total, 80);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(ParallelTest, TakesConstAndMutableBodies) {
  set_num_threads(1);
  std::size_t sum = 0;
  auto body = [&sum, calls = 0](std::size_t begin, std::size_t end) mutable {
    ++calls;
    sum += end - begin;
  };
  parallel_for(10, 3, body);
  const auto constant = [&sum](std::size_t, std::size_t) { ++sum; };
  parallel_for(10, 5, constant);
  EXPECT_EQ(sum, 12U);
}

TEST_F(ParallelTest, ThreadCountIsChecked) {
  set_num_threads(5);
  EXPECT_EQ(num_threads(), 5);
  for (const int count : {0, -1, kMostThreads + 1, 1000000000}) {
    expect_error([&] { set_num_threads(count); },
                 fmt::format("set_num_threads: expected 1 to 4096 threads, found {}", count));
  }
  EXPECT_EQ(num_threads(), 5);
}

/// The program of the tests below too: prints what num_threads() is where nobody has set it.
TEST_F(ParallelTest, SetThreadsAreNeverMoreThanOpenMpAllows) {
  fmt::print("\nthreads: {}\n", num_threads());
  set_num_threads(5);
  fmt::print("\nfive would be: {}\n", num_threads());
  const char* limit = std::getenv("OMP_THREAD_LIMIT");
  EXPECT_EQ(num_threads(), limit == nullptr ? 5 : std::min(5, std::stoi(limit)));
}

struct FoundThreads {
  int unset = 0;
  int five = 0;
};

/// Runs that program with these settings of the environment, in shell syntax.
FoundThreads threads_with(const std::string& environment) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format(
      "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT {} "
      "'{}' "
      "--gtest_filter=ParallelTest.SetThreadsAreNeverMoreThanOpenMpAllows",
      environment, program);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"),
                                                               ::pclose);
  FoundThreads found;
  std::array<char, 256> line{};
  while (output && std::fgets(line.data(), static_cast<int>(line.size()), output.get())) {
    const std::string_view text(line.data());
    const auto read = [&](std::string_view label, int& number) {
      if (text.starts_with(label)) number = std::stoi(std::string(text.substr(label.size())));
    };
    read("threads: ", found.unset);
    read("five would be: ", found.five);
  }
  return found;
}

TEST(ParallelDefault, IsWhatTheVariablesOfOpenMpSay) {
  EXPECT_EQ(threads_with("OMP_NUM_THREADS=3").unset, 3);
  EXPECT_EQ(threads_with("OMP_NUM_THREADS=3").five, 5);
  const FoundThreads limited = threads_with("OMP_NUM_THREADS=7 OMP_THREAD_LIMIT=2");
  EXPECT_EQ(limited.unset, 2);
  EXPECT_EQ(limited.five, 2);
}

TEST(ParallelDefault, IsTheNumberOfProcessorsOfTheMask) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor: no mask leaves out another";
  EXPECT_EQ(threads_with("").unset, CPU_COUNT(&all));
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  EXPECT_EQ(threads_with(fmt::format("taskset -c {}", first)).unset, 1);
}

/// Runs `body` in a forked child. Returns whether it returned true within 20 seconds.
bool holds_in_child(const std::function<bool()>& body) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::_Exit(body() ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == EXIT_SUCCESS;
}

std::size_t sum_of_chunks() {
  std::atomic<std::size_t> sum = 0;
  parallel_for(100, 7, [&](std::size_t begin, std::size_t end) { sum += end - begin; });
  parallel_region([&] { parallel_tasks(10, [&](std::size_t) { ++sum; }); });
  return sum;
}

TEST_F(ParallelTest, AForkedChildRunsItsLoopsOnOneThread) {
  set_num_threads(3);
  EXPECT_EQ(threads_at_once(3), 3U);
  const auto works = [] { return num_threads() == 1 && sum_of_chunks() == 110; };
  EXPECT_TRUE(holds_in_child(works));
  EXPECT_TRUE(holds_in_child([&] { return holds_in_child(works); })) << "the child of a child";
  EXPECT_EQ(num_threads(), 3);
  EXPECT_EQ(threads_at_once(3), 3U);
}

TEST_F(ParallelTest, AForkInARegionLeavesTheChildWithoutThreads) {
  set_num_threads(3);
  parallel_region([] {
    EXPECT_EQ(threads_at_once(3), 3U);
    EXPECT_TRUE(holds_in_child([] { return num_threads() == 1 && sum_of_chunks() == 110; }));
    EXPECT_EQ(threads_at_once(3), 3U);
  });
}

TEST_F(ParallelTest, OtherThreadsOfAForkedChildHaveThreadsOfTheirOwn) {
#ifdef OCTET_TEST_TSAN
  GTEST_SKIP() << "archer, which tells ThreadSanitizer of OpenMP's loops, does not survive a fork";
#endif
  set_num_threads(3);
  EXPECT_EQ(threads_at_once(3), 3U);
  EXPECT_TRUE(holds_in_child([] {
    bool works = false;
    std::thread([&] { works = num_threads() == 3 && threads_at_once(3) == 3; }).join();
    return works;
  }));
  // A fork before this thread has led any: the child has what the parent has.
  std::thread([] {
    EXPECT_TRUE(holds_in_child([] { return num_threads() == 3 && threads_at_once(3) == 3; }));
  }).join();
}

}  // namespace
}  // namespace octet::test::parallel_test
