#include <malloc.h>
#include <octet/tests/robustness/counting_new.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace octet::test {
namespace {

std::atomic<long> live{0};
std::atomic<std::size_t> bytes_live{0};
std::atomic<std::size_t> bytes_peak{0};
/// Allocations until the one that fails; 0 or less: none does.
std::atomic<long> until_failure{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (until_failure.load() > 0 && until_failure.fetch_sub(1) == 1) throw std::bad_alloc();
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), size) != 0) {
    throw std::bad_alloc();
  }
  ++live;
  const std::size_t now = bytes_live.fetch_add(::malloc_usable_size(memory)) + size;
  std::size_t peak = bytes_peak.load();
  while (now > peak && !bytes_peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  --live;
  bytes_live -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

long live_allocations() { return live; }
std::size_t live_bytes() { return bytes_live; }
std::size_t peak_bytes() { return bytes_peak; }
void reset_peak() { bytes_peak = bytes_live.load(); }

FailAllocation::FailAllocation(long number) { until_failure = number; }
FailAllocation::~FailAllocation() { until_failure = 0; }
bool FailAllocation::happened() const { return until_failure <= 0; }

}  // namespace octet::test

// All forms that this code uses: in a sanitizer's library the others do not call these. Not
// inlined: GCC would take the free() in them for a mismatch.
#define OCTET_COUNTED [[gnu::noinline]]
using octet::test::allocate;
using octet::test::release;

OCTET_COUNTED void* operator new(std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
OCTET_COUNTED void* operator new[](std::size_t size) {
  return allocate(size, alignof(std::max_align_t));
}
OCTET_COUNTED void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
OCTET_COUNTED void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
OCTET_COUNTED void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return allocate(size, alignof(std::max_align_t));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
OCTET_COUNTED void operator delete(void* memory) noexcept { release(memory); }
OCTET_COUNTED void operator delete[](void* memory) noexcept { release(memory); }
OCTET_COUNTED void operator delete(void* memory, std::size_t) noexcept { release(memory); }
OCTET_COUNTED void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
OCTET_COUNTED void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
OCTET_COUNTED void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
OCTET_COUNTED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
OCTET_COUNTED void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
OCTET_COUNTED void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  release(memory);
}
