#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace octet {

/// Memory in several parts, as a hint of what to prefetch.
using MemoryParts = std::span<const std::span<const float>>;

/// Allocates `size` bytes, 64-byte aligned and uninitialised. Freed blocks are kept for the next
/// request of their size, up to 64 MiB or, with those in use, 1.25 times the most that was in use
/// within the last 1024 to 2048 requests: a step asks for the same sizes again, and memory fresh
/// from the system costs page faults. On Linux the memory lies in huge pages, where the system has
/// them. Thread-safe. Under AddressSanitizer no block is kept or shares a slab, so that every use
/// after free is seen. Throws OutOfMemory, and
/// InvalidArgument beyond an AllocationLimit.
std::shared_ptr<std::byte[]> allocate_bytes(std::size_t size);

/// While it lives, this thread allocates at most `bytes` bytes in all by allocate_bytes(), freed
/// ones counted. What a file says of its shapes is built under such a limit, so that a broken one
/// cannot ask for any amount of memory. The last one made counts.
class AllocationLimit {
 public:
  /// `what` begins the error's message: what is built.
  AllocationLimit(std::size_t bytes, std::string what);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

  std::size_t left() const { return left_; }
  /// Throws InvalidArgument where fewer bytes are left.
  void take(std::size_t bytes);

 private:
  std::size_t left_;
  std::string what_;
  AllocationLimit* outer_;
};

namespace detail {
/// Throws OutOfMemory for `count` elements of `element_size` bytes.
[[noreturn]] void throw_out_of_memory(std::size_t count, std::size_t element_size);
/// What the blocks in use and those kept take, with what is not cut off their slabs yet.
std::size_t bytes_from_system();
}  // namespace detail

/// Allocates `count` elements in the same way.
template <class T>
std::shared_ptr<T[]> allocate_array(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  if (count > static_cast<std::size_t>(-1) / sizeof(T)) {
    detail::throw_out_of_memory(count, sizeof(T));
  }
  const std::shared_ptr<std::byte[]> bytes = allocate_bytes(count * sizeof(T));
  return {bytes, reinterpret_cast<T*>(bytes.get())};
}

/// Asks the system to back [memory, memory + size), not yet touched, with huge pages where it can:
/// rows read in any order then cause fewer TLB misses. Changes no contents.
void prefer_huge_pages(void* memory, std::size_t size);

/// Per-thread scratch memory for `count` elements, 64-byte aligned and uninitialised, which the
/// next buffer with the same Purpose on this thread reuses. The memory is moved out while a buffer
/// lives, so that a nested buffer with the same Purpose gets memory of its own. Throws
/// OutOfMemory.
template <class T, class Purpose>
class ScratchBuffer {
 public:
  explicit ScratchBuffer(std::size_t count) : block_(std::exchange(spare(), {})) {
    if (block_.count >= count) return;
    // Frees the old block first: its contents are not needed.
    block_ = {};
    block_ = {allocate_array<T>(count), count};
  }
  ~ScratchBuffer() { spare() = std::move(block_); }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  T* data() const { return block_.memory.get(); }

 private:
  struct Block {
    std::shared_ptr<T[]> memory;
    std::size_t count = 0;
  };

  static Block& spare() {
    thread_local Block block;
    return block;
  }

  Block block_;
};

}  // namespace octet
