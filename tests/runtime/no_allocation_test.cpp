#include <gtest/gtest.h>
#include <octet/core/buffer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/runtime/models.h>
#include <octet/tests/sanitizers.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#ifndef OCTET_TEST_SANITIZED
namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) != 0) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

// Every other form of new and delete calls one of these. Not inlined: GCC would take the free() in
// them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace octet::test {
namespace {

TEST(NoAllocation, TheCounterCounts) {
  // Called as functions: a new expression may be optimised away.
  const long before = allocations;
  ::operator delete(::operator new(100));
  ::operator delete (::operator new (100, std::align_val_t{64}), std::align_val_t{64});
  const long counted_here = allocations - before;
  EXPECT_EQ(counted_here, 2);
}

long allocations_of(std::size_t floats) {
  const long before = allocations;
  allocate_array<float>(floats);
  return allocations - before;
}

TEST(NoAllocation, ABufferOfASizeSeenBeforeIsNotAllocatedAgain) {
  constexpr std::size_t kFloats = 12345;
  const long first = allocations_of(kFloats);
  // What may stay is the handle's count of owners.
  EXPECT_LE(allocations_of(kFloats), 1);
  EXPECT_GT(first, 1);
  // Another size takes no other's buffer, and beyond 64 MiB none is kept.
  EXPECT_GT(allocations_of(kFloats + 16), 1);
  constexpr std::size_t kTooMuch = (std::size_t{64} << 20) / sizeof(float) + 1;
  allocations_of(kTooMuch);
  EXPECT_GT(allocations_of(kTooMuch), 1);
}

TEST(NoAllocation, InvokeAllocatesNothing) {
  const KeepThreads keep;
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const Rounding rounding :
         {Rounding::fp32, Rounding::single_rounding, Rounding::double_rounding}) {
      for (const Index batch : {1, 37, 100}) {
        Interpreter interpreter(make_mlp(1, {70, 33, 10}, true, true), {rounding, batch});
        const long before = allocations;
        interpreter.invoke();
        interpreter.input<float>()[0] = 1.0F;
        interpreter.invoke();
        const long counted_here = allocations - before;
        EXPECT_EQ(counted_here, 0) << threads << " threads, batch " << batch;
      }
    }
  }
}

}  // namespace
}  // namespace octet::test

#endif  // OCTET_TEST_SANITIZED
