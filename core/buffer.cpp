#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
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

/// Memory from the system that blocks are cut off, from its beginning on.
class Slab {
 public:
  explicit Slab(std::size_t size) : memory_(memory_from_system(size)), size_(size) {}
  ~Slab() { ::operator delete[](memory_, alignment_of(size_)); }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  std::size_t size() const { return size_; }
  bool has_room_for(std::size_t bytes) const { return size_ - cut_ >= bytes; }
  std::byte* cut(std::size_t bytes) { return memory_ + std::exchange(cut_, cut_ + bytes); }
  /// Takes all blocks back, none of which may be in use.
  void join() { cut_ = 0; }

  /// Blocks that are in use.
  std::size_t in_use = 0;

 private:
  std::byte* memory_;
  std::size_t size_;
  std::size_t cut_ = 0;
};

struct Block {
  std::byte* memory;
  std::list<Slab>::iterator slab;
};

class Pool {
 public:
  Block take(std::size_t bytes) {
    const std::lock_guard guard(mutex_);
    std::vector<Block>& free = free_[bytes];
    const bool kept = !free.empty();
    Block block = kept ? free.back() : Block{};
    if (kept) {
      free.pop_back();
      kept_ -= bytes;
      use(block);
    }
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
    if (++requests_ % kSpan == 0) most_before_ = std::exchange(most_used_, used_);
    if (!kept) block = cut(bytes);
    trim();
    return block;
  }

  void give_back(const Block& block, std::size_t bytes) noexcept {
    const std::lock_guard guard(mutex_);
    used_ -= bytes;
    if (--block.slab->in_use == 0) {
      ++idle_slabs_;
      // trim() begins with the slabs that have been idle for longest.
      slabs_.splice(slabs_.end(), slabs_, block.slab);
    }
    try {
      // Allocates only where the list grows. If that fails, the block rests until its slab is free.
      free_[bytes].push_back(block);
      kept_ += bytes;
    } catch (const std::bad_alloc&) {
    }
    trim();
  }

  std::size_t bytes_from_system() {
    const std::lock_guard guard(mutex_);
    std::size_t sum = 0;
    for (const Slab& slab : slabs_) sum += slab.size();
    return sum;
  }

 private:
  /// What a program has used at once not long ago, it may use again, and a quarter more: free
  /// blocks of one size are no use where another is asked for.
  std::size_t most_kept() const {
    const std::size_t most = std::max(most_used_, most_before_);
    return kMaxKept == 0 ? 0 : std::max(kMaxKept, most + most / 4 - used_);
  }

  /// Gives slabs without a block in use back to the system while too much is kept. Free blocks of
  /// other slabs stay: without them their slab would have room that nobody can use.
  void trim() noexcept {
    while (kept_ > most_kept() && idle_slabs_ > 0) {
      const auto idle = std::ranges::find(slabs_, std::size_t{0}, &Slab::in_use);
      drop_blocks(idle);
      slabs_.erase(idle);
      --idle_slabs_;
    }
  }

  /// Forgets the free blocks of a slab without a block in use.
  void drop_blocks(std::list<Slab>::iterator idle) noexcept {
    for (auto& [bytes, free] : free_) {
      kept_ -= bytes * std::erase_if(free, [&](const Block& block) { return block.slab == idle; });
    }
  }

  /// Cuts a slab anew that would go back to the system, since too much is kept: one that is large
  /// enough, and that a large block takes at least half of. Its pages need not be cleared again.
  std::list<Slab>::iterator slab_to_cut_anew(std::size_t bytes) {
    auto found = slabs_.end();
    if (kept_ <= most_kept()) return found;
    for (auto slab = slabs_.begin(); slab != slabs_.end(); ++slab) {
      const bool fits = slab->in_use == 0 && slab->size() >= bytes &&
                        (bytes <= kMaxShared || slab->size() / 2 <= bytes);
      if (fits && (found == slabs_.end() || slab->size() < found->size())) found = slab;
    }
    if (found == slabs_.end()) return found;
    drop_blocks(found);
    found->join();
    return found;
  }

  Block cut(std::size_t bytes) {
    try {
      const Block block = cut_block(bytes);
      use(block);
      return block;
    } catch (...) {
      used_ -= bytes;
      throw;
    }
  }

  /// Small blocks share a slab.
  Block cut_block(std::size_t bytes) {
    auto slab = slabs_.end();
    if (bytes <= kMaxShared) {
      slab = std::ranges::find_if(slabs_, [&](const Slab& s) { return s.has_room_for(bytes); });
    }
    if (slab == slabs_.end()) slab = slab_to_cut_anew(bytes);
    if (slab == slabs_.end()) {
      // What is too much goes back to the system before more is asked for.
      trim();
      const bool shared = bytes <= kMaxShared;
      slab = slabs_.emplace(slabs_.end(), shared ? next_ : bytes);
      if (shared) next_ = std::min(2 * next_, kMaxSlab);
      ++idle_slabs_;
    }
    return {slab->cut(bytes), slab};
  }

  void use(const Block& block) {
    if (block.slab->in_use++ == 0) --idle_slabs_;
  }

  std::mutex mutex_;
  std::list<Slab> slabs_;
  /// Starts small, for programs that need little; larger slabs leave less unused.
  std::size_t next_ = kHugePage;
  /// Slabs without a block in use.
  std::size_t idle_slabs_ = 0;
  std::unordered_map<std::size_t, std::vector<Block>> free_;
  /// Bytes of the blocks that are free.
  std::size_t kept_ = 0;
  /// Bytes of the blocks that are in use, and the most that they were at once: in this span of
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

std::size_t detail::bytes_from_system() { return pool().bytes_from_system(); }

namespace {
/// The limit of this thread; null for none.
thread_local AllocationLimit* current_limit = nullptr;
}  // namespace

AllocationLimit::AllocationLimit(std::size_t bytes, std::string what)
    : left_(bytes), what_(std::move(what)), outer_(std::exchange(current_limit, this)) {}

AllocationLimit::~AllocationLimit() { current_limit = outer_; }

void AllocationLimit::take(std::size_t bytes) {
  if (bytes > left_) {
    throw InvalidArgument(fmt::format("{}: expected at most {} bytes more of tensors, found {}",
                                      what_, left_, bytes));
  }
  left_ -= bytes;
}

std::shared_ptr<std::byte[]> allocate_bytes(std::size_t size) {
  if (current_limit != nullptr) current_limit->take(size);
  if (size > static_cast<std::size_t>(-1) / 2) detail::throw_out_of_memory(size, 1);
  // Whole cache lines, so that no two blocks share one; at least one, so that addresses differ.
  const std::size_t bytes =
      std::max<std::size_t>(size + kCacheLine - 1, kCacheLine) / kCacheLine * kCacheLine;
  try {
    const Block block = pool().take(bytes);
    return {block.memory, [block, bytes](std::byte*) { pool().give_back(block, bytes); }};
  } catch (const std::bad_alloc&) {
    detail::throw_out_of_memory(size, 1);
  }
}

}  // namespace octet
