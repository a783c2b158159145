#include <gtest/gtest.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace octet::test::buffer_test {
namespace {

TEST(Buffer, IsAlignedAndLargeEnough) {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{5000}, std::size_t{1} << 20}) {
    for (int times = 0; times < 3; ++times) {
      const auto memory = allocate_array<float>(count);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0U);
      std::fill_n(memory.get(), count, 1.0F);
    }
  }
}

TEST(Buffer, LiveBlocksDoNotOverlap) {
  std::vector<std::shared_ptr<float[]>> alive;
  for (int i = 0; i < 50; ++i) {
    alive.push_back(allocate_array<float>(33));
    std::fill_n(alive.back().get(), 33, static_cast<float>(i));
    // A block that was freed in between is returned at most once.
    allocate_array<float>(33);
  }
  for (int i = 0; i < 50; ++i) {
    const float* memory = alive[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(std::count(memory, memory + 33, static_cast<float>(i)), 33);
  }
}

TEST(Buffer, BlocksOfAllSizesDoNotOverlap) {
  struct Block {
    std::shared_ptr<std::uint8_t[]> memory;
    std::size_t size;
    std::uint8_t mark;
  };
  std::vector<Block> blocks;
  const auto take = [&](std::size_t size) {
    const auto mark = static_cast<std::uint8_t>(blocks.size() + 1);
    blocks.push_back({allocate_array<std::uint8_t>(size), size, mark});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().memory.get()) % 64, 0U);
    std::fill_n(blocks.back().memory.get(), size, mark);
  };
  // Several in a slab, some that do not fit the rest of it, some too large for any slab.
  for (std::size_t i = 0; i < 60; ++i) take(i * i * 997 % (3U << 20) + i % 2);
  // Memory is reused while its neighbours live.
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = {};
  for (std::size_t i = 0; i < 60; ++i) take(i * i * 997 % (3U << 20) + i % 3);
  for (const Block& block : blocks) {
    EXPECT_EQ(std::count(block.memory.get(), block.memory.get() + block.size, block.mark),
              static_cast<long>(block.size));
  }
}

/// Phases that ask for other sizes, as training and evaluation do, while some blocks of each slab
/// live on.
TEST(Buffer, TakesNoMoreFromTheSystemPhaseByPhase) {
  constexpr int kBlocks = 100;
  std::vector<std::shared_ptr<std::byte[]>> lasting;
  std::size_t early = 0;
  for (int phase = 0; phase < 24; ++phase) {
    const std::size_t size = (std::size_t{1} << 20) + (phase % 2 == 0 ? 0U : 100'000U);
    std::vector<std::shared_ptr<std::byte[]>> alive;
    for (int i = 0; i < kBlocks; ++i) {
      auto& list = phase < 2 && i % 7 == 0 ? lasting : alive;
      list.push_back(allocate_bytes(size));
    }
    if (phase == 5) early = detail::bytes_from_system();
    if (phase > 5) {
      EXPECT_LE(detail::bytes_from_system(), early) << "phase " << phase;
    }
  }
  EXPECT_GT(early, std::size_t{kBlocks} << 20);
}

TEST(Buffer, RefusesImpossibleSizes) {
  EXPECT_THROW(allocate_array<float>(static_cast<std::size_t>(-1) / 2), OutOfMemory);
  EXPECT_THROW(allocate_bytes(static_cast<std::size_t>(-1)), OutOfMemory);
}

TEST(Buffer, ALimitCountsWhatIsAllocatedWhileItLives) {
  {
    AllocationLimit limit(100, "layer \"a\"");
    static_cast<void>(allocate_array<float>(10));
    EXPECT_EQ(limit.left(), 60U);
    {
      const AllocationLimit inner(8, "inner");
      EXPECT_THROW(static_cast<void>(allocate_array<float>(3)), InvalidArgument);
    }
    try {
      static_cast<void>(allocate_array<float>(16));
      ADD_FAILURE() << "64 bytes of 60";
    } catch (const InvalidArgument& error) {
      EXPECT_STREQ(error.what(),
                   "layer \"a\": expected at most 60 bytes more of tensors, found 64");
    }
    std::thread([] { EXPECT_NO_THROW(static_cast<void>(allocate_array<float>(100))); }).join();
  }
  EXPECT_NO_THROW(static_cast<void>(allocate_array<float>(100)));
}

TEST(Buffer, HugePagesChangeNoContents) {
  std::vector<std::uint8_t> memory(5U << 20, 7);
  prefer_huge_pages(memory.data(), memory.size());
  prefer_huge_pages(memory.data() + 1, 100);
  prefer_huge_pages(nullptr, 0);
  EXPECT_EQ(std::ranges::count(memory, 7), static_cast<long>(memory.size()));
}

struct One;
struct Other;

/// The address of a scratch buffer of this thread.
template <class Purpose>
float* scratch_address(std::size_t count) {
  return ScratchBuffer<float, Purpose>(count).data();
}

TEST(ScratchBuffer, IsReusedByTheSameThreadForTheSamePurpose) {
  float* one = scratch_address<One>(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % 64, 0U);
  EXPECT_NE(scratch_address<Other>(100), one);
  EXPECT_EQ(scratch_address<One>(50), one);
  EXPECT_EQ(scratch_address<One>(0), one);
  float* elsewhere = nullptr;
  std::thread([&] {
    const ScratchBuffer<float, One> kept(100);
    elsewhere = kept.data();
  }).join();
  EXPECT_NE(elsewhere, one);
}

TEST(ScratchBuffer, GrowsAndKeepsTheLargerBlock) {
  float* larger = nullptr;
  {
    const ScratchBuffer<float, One> buffer(1000);
    larger = buffer.data();
    std::fill_n(larger, 1000, 1.0F);
  }
  const ScratchBuffer<float, One> again(1000);
  EXPECT_EQ(again.data(), larger);
  EXPECT_EQ(again.data()[999], 1.0F);
}

TEST(ScratchBuffer, NestedBuffersDoNotShareMemory) {
  const ScratchBuffer<float, One> outer(10);
  std::fill_n(outer.data(), 10, 1.0F);
  {
    const ScratchBuffer<float, One> inner(2000);
    EXPECT_NE(inner.data(), outer.data());
    std::fill_n(inner.data(), 2000, 2.0F);
  }
  EXPECT_EQ(std::count(outer.data(), outer.data() + 10, 1.0F), 10);
}

TEST(Buffer, IsAllocatedAndFreedByAnyThread) {
  constexpr int kThreads = 4;
  std::latch all_here(kThreads);
  std::atomic<int> wrong = 0;
  const auto work = [&](float mark) {
    all_here.arrive_and_wait();
    for (int i = 0; i < 100'000; ++i) {
      const std::size_t count = 20 + static_cast<std::size_t>(i % 3);
      const auto memory = allocate_array<float>(count);
      std::fill_n(memory.get(), count, mark);
      if (std::count(memory.get(), memory.get() + count, mark) != static_cast<long>(count)) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, static_cast<float>(t + 1));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  // Allocated by one thread, freed by another.
  auto memory = allocate_array<float>(40);
  std::thread([kept = std::move(memory)]() mutable { kept.reset(); }).join();
}

}  // namespace
}  // namespace octet::test::buffer_test
