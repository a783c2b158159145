#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace octet {

/// Memory that is read soon, in parts.
using MemoryParts = std::span<const std::span<const float>>;

/// Memory for `count` floats, 64-byte aligned and uninitialised. What is given back is kept for the
/// next request of its size, up to 64 MiB in all: a training step asks for the same sizes over and
/// over, and memory fresh from the system costs a page fault every 4 KiB. Thread-safe. Under
/// AddressSanitizer nothing is kept, so that it sees every use after free.
std::shared_ptr<float[]> allocate_floats(std::size_t count);

/// Memory of this thread for `count` floats, 64-byte aligned and uninitialised. The next call for
/// the same purpose takes it back, also one that a callee makes.
template <class Purpose>
float* thread_floats(std::size_t count) {
  thread_local std::shared_ptr<float[]> memory;
  thread_local std::size_t size = 0;
  if (size < count) {
    memory.reset();
    size = 0;
    memory = allocate_floats(count);
    size = count;
  }
  return memory.get();
}

}  // namespace octet
