#include <octet/core/buffer.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace octet {
namespace {

constexpr std::align_val_t kAlignment{64};

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
    return static_cast<float*>(::operator new[](bytes, kAlignment));
  }

  void give_back(float* memory, std::size_t bytes) noexcept {
    {
      const std::lock_guard guard(mutex_);
      // take() has made the list and once held this many, so that nothing is allocated here but by
      // a list that grows; where that fails the memory goes back to the system.
      if (kept_ + bytes <= kMostKept && keep(memory, bytes)) return;
    }
    ::operator delete[](memory, kAlignment);
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
