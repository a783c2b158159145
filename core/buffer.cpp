#include <octet/core/buffer.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace octet {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : kCacheLine};
}

/// Large memory in huge pages: products walk down columns, and each row may lie on a page of its
/// own, more of them than the processor remembers the places of.
float* memory_from_system(std::size_t bytes) {
  void* memory = ::operator new[](bytes, alignment_of(bytes));
#if defined(__linux__)
  // Whole pages alone, so that nothing is resident that was not asked for.
  if (const std::size_t whole = bytes / kHugePage * kHugePage; whole > 0) {
    // Where the system has none the pages stay small.
    static_cast<void>(::madvise(memory, whole, MADV_HUGEPAGE));
  }
#endif
  return static_cast<float*>(memory);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostKept = 0;
#else
constexpr std::size_t kMostKept = std::size_t{64} << 20;
#endif

class Pool {
 public:
  float* take(std::size_t bytes) {
    {
      const std::lock_guard guard(mutex_);
      auto& free = free_[bytes];
      if (!free.empty()) {
        float* memory = free.back();
        free.pop_back();
        kept_ -= bytes;
        return memory;
      }
    }
    return memory_from_system(bytes);
  }

  void give_back(float* memory, std::size_t bytes) noexcept {
    {
      const std::lock_guard guard(mutex_);
      // take() has made the list and once held this many, so that nothing is allocated here but by
      // a list that grows; where that fails the memory goes back to the system.
      if (kept_ + bytes <= kMostKept && keep(memory, bytes)) return;
    }
    ::operator delete[](memory, alignment_of(bytes));
  }

 private:
  bool keep(float* memory, std::size_t bytes) noexcept {
    try {
      free_[bytes].push_back(memory);
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_ += bytes;
    return true;
  }

  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<float*>> free_;
  std::size_t kept_ = 0;
};

/// Never destroyed: tensors in static storage may outlive any object of this file.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

std::shared_ptr<float[]> allocate_floats(std::size_t count) {
  const std::size_t bytes = std::max<std::size_t>(count * sizeof(float), 64);
  return {pool().take(bytes), [bytes](float* memory) { pool().give_back(memory, bytes); }};
}

}  // namespace octet
