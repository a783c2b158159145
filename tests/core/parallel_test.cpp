#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/tests/core/ops/op_testing.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace octet {
namespace {

using namespace testing;

class ParallelTest : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(before_); }
  int before_ = num_threads();
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

TEST_F(ParallelTest, ChunkBoundsDependOnTheSizeAlone) {
  for (const int threads : {1, 2, 4}) {
    set_num_threads(threads);
    EXPECT_EQ(chunks_of(10, 4), (Chunks{{0, 4}, {4, 8}, {8, 10}}));
    EXPECT_EQ(chunks_of(8, 4), (Chunks{{0, 4}, {4, 8}}));
    EXPECT_EQ(chunks_of(3, 100), (Chunks{{0, 3}}));
    EXPECT_EQ(chunks_of(0, 4), Chunks{});
    EXPECT_EQ(chunks_of(2, 0), (Chunks{{0, 1}, {1, 2}}));
  }
}

TEST_F(ParallelTest, TasksAreEachRunOnce) {
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

TEST_F(ParallelTest, UsesTheThreadsItWasGiven) {
  set_num_threads(3);
  std::set<std::thread::id> seen;
  std::mutex mutex;
  parallel_for(3, 1, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3U);
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
  expect_error([] { set_num_threads(0); }, "set_num_threads: expected at least 1 thread, found 0");
  EXPECT_EQ(num_threads(), 5);
}

}  // namespace
}  // namespace octet
