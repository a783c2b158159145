#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

// See docs/performance.md, "Buffers".

namespace octet {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMaxKept = 0;
constexpr std::size_t kMaxShared = 0;
#else
constexpr std::size_t kMaxKept = std::size_t{64} << 20;
/// Larger blocks have a slab of their own.
constexpr std::size_t kMaxShared = kHugePage;
#endif
constexpr std::size_t kMaxSlab = 4 * kHugePage;
/// Requests after which the pool looks at how much was in use: more than a step of most networks.
constexpr std::size_t kSpan = 1024;

std::align_val_t alignment_of(std::size_t bytes) {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : kCacheLine};
}

/// Allocates memory from the system, in huge pages where it is large. Products walk down columns,
/// where each row may lie on a page of its own: more small pages than the TLB holds. Neighbours in
/// a huge page also spread evenly over the sets of the second-level cache; small pages do so only
/// by chance.
std::byte* memory_from_system(std::size_t bytes) {
  void* memory = ::operator new[](bytes, alignment_of(bytes));
  prefer_huge_pages(memory, bytes);
  return static_cast<std::byte*>(memory);
}

/// Cuts blocks off memory from the system; small blocks share a slab. Not thread-safe.
class Slabs {
 public:
  std::byte* take(std::size_t bytes) {
    if (bytes > kMaxShared) return cut(*add(bytes), bytes);
    const auto roomy = std::ranges::find_if(
        slabs_, [&](const auto& slab) { return slab.second.size - slab.second.used >= bytes; });
    if (roomy != slabs_.end()) return cut(*roomy, bytes);
    const std::size_t size = next_;
    next_ = std::min(2 * size, kMaxSlab);
    return cut(*add(size), bytes);
  }

  /// Frees a block. A slab without blocks goes back to the system.
  void give_back(std::byte* block) noexcept {
    const auto slab = std::prev(slabs_.upper_bound(block));
    if (--slab->second.blocks > 0) return;
    ::operator delete[](slab->first, alignment_of(slab->second.size));
    slabs_.erase(slab);
  }

 private:
  struct Slab {
    std::size_t size;
    std::size_t used = 0;
    std::size_t blocks = 0;
  };
  using Map = std::map<std::byte*, Slab>;

  Map::iterator add(std::size_t size) {
    std::byte* memory = memory_from_system(size);
    try {
      return slabs_.emplace(memory, Slab{size}).first;
    } catch (...) {
      ::operator delete[](memory, alignment_of(size));
      throw;
    }
  }

  static std::byte* cut(Map::value_type& place, std::size_t bytes) {
    auto& [memory, slab] = place;
    std::byte* block = memory + slab.used;
    slab.used += bytes;
    ++slab.blocks;
    return block;
  }

  Map slabs_;
  /// Starts small, for programs that need little; larger slabs leave less unused.
  std::size_t next_ = kHugePage;
};

class Pool {
 public:
  std::byte* take(std::size_t bytes) {
    const std::lock_guard guard(mutex_);
    auto& free = free_[bytes];
    std::byte* memory = nullptr;
    if (free.empty()) {
      memory = slabs_.take(bytes);
    } else {
      memory = free.back();
      free.pop_back();
      kept_ -= bytes;
    }
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
    if (++requests_ % kSpan == 0) begin_span();
    while (kept_ > most_kept()) release_one();
    return memory;
  }

  void give_back(std::byte* memory, std::size_t bytes) noexcept {
    const std::lock_guard guard(mutex_);
    used_ -= bytes;
    // Allocates only where the free list grows; if that fails, the block goes back to its slab.
    if (kept_ + bytes > most_kept() || !keep(memory, bytes)) slabs_.give_back(memory);
  }

 private:
  /// What a program has used at once not long ago, it may use again.
  std::size_t most_kept() const {
    return kMaxKept == 0 ? 0 : std::max(kMaxKept, std::max(most_used_, most_before_) - used_);
  }

  void begin_span() noexcept {
    most_before_ = most_used_;
    most_used_ = used_;
    if (kept_ <= most_kept()) return;
    // All of them: some from each slab would keep every slab.
    while (kept_ > 0) release_one();
  }

  bool keep(std::byte* memory, std::size_t bytes) noexcept {
    try {
      free_[bytes].push_back(memory);
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_ += bytes;
    return true;
  }

  /// Returns one free block to its slab.
  void release_one() noexcept {
    const auto found =
        std::ranges::find_if(free_, [](const auto& free) { return !free.second.empty(); });
    slabs_.give_back(found->second.back());
    found->second.pop_back();
    kept_ -= found->first;
  }

  std::mutex mutex_;
  Slabs slabs_;
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;
  std::size_t kept_ = 0;
  /// Bytes of the blocks that are not free, and the most that they were at once: in this span of
  /// requests, and in the one before.
  std::size_t used_ = 0;
  std::size_t most_used_ = 0;
  std::size_t most_before_ = 0;
  std::size_t requests_ = 0;
};

/// Never destroyed: tensors in static storage may outlive any object of this file.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

void prefer_huge_pages(void* memory, std::size_t size) {
#if defined(__linux__)
  // Whole pages only, so that nothing becomes resident that was not asked for.
  if (void* place = memory; std::align(kHugePage, kHugePage, place, size) != nullptr) {
    // Where the system has no huge pages, the pages stay small.
    static_cast<void>(::madvise(place, size / kHugePage * kHugePage, MADV_HUGEPAGE));
  }
#else
  static_cast<void>(memory);
  static_cast<void>(size);
#endif
}

void detail::throw_out_of_memory(std::size_t count, std::size_t element_size) {
  const std::string bytes =
      element_size == 1 ? fmt::format("{}", count) : fmt::format("{} x {}", count, element_size);
  throw OutOfMemory(
      fmt::format("out of memory: expected {} bytes, found that the system has less", bytes));
}

std::shared_ptr<std::byte[]> allocate_bytes(std::size_t size) {
  if (size > static_cast<std::size_t>(-1) / 2) detail::throw_out_of_memory(size, 1);
  // Whole cache lines, so that no two blocks share one; at least one, so that addresses differ.
  const std::size_t bytes =
      std::max<std::size_t>(size + kCacheLine - 1, kCacheLine) / kCacheLine * kCacheLine;
  try {
    return {pool().take(bytes), [bytes](std::byte* memory) { pool().give_back(memory, bytes); }};
  } catch (const std::bad_alloc&) {
    detail::throw_out_of_memory(size, 1);
  }
}

}  // namespace octet
