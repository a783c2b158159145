#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace octet {

/// Threads that parallel loops use: what set_num_threads() said, else what the machine has.
int num_threads();

/// Sets the number of threads of every later parallel loop. Throws InvalidArgument below 1.
/// Results never depend on it: loops are cut into chunks whose bounds depend on the size alone.
void set_num_threads(int count);

namespace detail {

using ChunkFn = void (*)(void* context, std::size_t begin, std::size_t end);
void parallel_chunks(std::size_t count, std::size_t grain, ChunkFn run, void* context);

}  // namespace detail

/// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be smaller), on
/// num_threads() threads. The chunks are the same for any number of threads. Chunks must write to
/// disjoint places. An exception of the body reaches the caller. Runs inline where one chunk
/// suffices or when called from inside another parallel loop.
template <class Body>
void parallel_for(std::size_t count, std::size_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::parallel_chunks(
      count, grain,
      [](void* context, std::size_t begin, std::size_t end) {
        (*static_cast<Plain*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace octet
