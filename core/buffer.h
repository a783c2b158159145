#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace octet {

/// Memory that is read soon, in parts.
using MemoryParts = std::span<const std::span<const float>>;

/// `size` bytes, 64-byte aligned and uninitialised. What is given back is kept for the next request
/// of its size, up to 64 MiB in all: a training step asks for the same sizes over and over, and
/// memory fresh from the system costs a page fault every 4 KiB. On Linux it lies in huge pages,
/// where the system has them. Thread-safe. Under AddressSanitizer nothing is kept or put together,
/// so that it sees every use after free. Throws std::bad_alloc.
std::shared_ptr<std::byte[]> allocate_bytes(std::size_t size);

/// The same for `count` elements.
template <class T>
std::shared_ptr<T[]> allocate_array(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);
  if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
  const std::shared_ptr<std::byte[]> bytes = allocate_bytes(count * sizeof(T));
  return {bytes, reinterpret_cast<T*>(bytes.get())};
}

/// Asks the system to put [memory, memory + size), not yet touched, into huge pages where it can:
/// rows read in any order then cost fewer misses of the address cache. Changes no contents.
void prefer_huge_pages(void* memory, std::size_t size);

/// Memory of this thread for `count` floats, 64-byte aligned and uninitialised. The next call for
/// the same purpose takes it back, also one that a callee makes.
template <class Purpose>
float* thread_floats(std::size_t count) {
  thread_local std::shared_ptr<float[]> memory;
  thread_local std::size_t size = 0;
  if (size < count) {
    memory.reset();
    size = 0;
    memory = allocate_array<float>(count);
    size = count;
  }
  return memory.get();
}

}  // namespace octet
