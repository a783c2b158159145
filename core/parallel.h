#pragma once

#include <octet/core/function_ref.h>

#include <cstddef>

namespace octet {

/// Returns the number of threads that parallel loops use: that of set_num_threads(); else that of
/// the environment variable OMP_NUM_THREADS; else that of the processors which this process may run
/// on, as a CPU mask (taskset, a container) leaves them when it is first asked for. Never more than
/// OMP_THREAD_LIMIT.
///
/// In a child process it is 1 on the thread that called fork(), if that thread had run parallel
/// loops on several threads before: they are not there in the child. Other threads of the child are
/// not affected. A child that is forked inside a parallel_region() must not leave the region: it
/// has to end in exec() or _exit().
int num_threads();

/// The most threads that loops may use: OpenMP ends the process where the system cannot start all.
inline constexpr int kMostThreads = 4096;

/// Sets the number of threads of every later parallel loop. Throws InvalidArgument below 1 and
/// above kMostThreads. Results never depend on it: no element's value depends on how a loop is cut.
void set_num_threads(int count);

/// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be smaller), on
/// num_threads() threads. The chunks do not depend on the number of threads. Chunks must write to
/// disjoint places. An exception of the body reaches the caller. Runs inline if there is only one
/// chunk, or when called from inside another parallel loop.
void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body);

/// Kinds of work. The value of each is its grain: how many elements of it justify waking a thread.
enum class Work : std::size_t {
  transcendental = 1U << 12,         ///< exp, log, tanh, ... of floats.
  draw_normals = 1U << 13,           ///< Normal random numbers.
  draw_uniforms = 1U << 14,          ///< Uniform random numbers.
  write_floats = 1U << 14,           ///< Packing or converting to floats or quantized values.
  map_floats = 1U << 15,             ///< A few additions or comparisons of floats per element.
  read_floats = 1U << 15,            ///< One pass over floats with a small result.
  read_bytes = 3U << 15,             ///< One pass over bytes with a small result.
  float_multiply_adds = 1U << 17,    ///< Products of floats.
  integer_multiply_adds = 1U << 20,  ///< Products of int8 values.
};

/// The fewest items, each of `elements_per_item` elements, that justify waking a thread.
constexpr std::size_t parallel_grain(Work work, std::size_t elements_per_item = 1) {
  const std::size_t elements = elements_per_item > 0 ? elements_per_item : 1;
  return (static_cast<std::size_t>(work) + elements - 1) / elements;
}

/// Returns the grain that cuts `count` into at most one chunk per thread, each of at least `least`
/// (see parallel_grain; half of that inside a parallel_region(), whose threads are awake) and a
/// multiple of `multiple`. A thread then gets the same share of every loop of this count, and finds
/// it in its caches. Chunks depend on the number of threads; results must not.
std::size_t thread_share(std::size_t count, std::size_t least, std::size_t multiple = 1);

enum class TaskOrder { ascending, descending };

/// Calls task(i) for every i in [0, count), count below 2^32. Each thread goes through a share of
/// consecutive tasks in `order`, always the same share for the same count; inside a
/// parallel_region(), a thread that is done takes tasks from the others. Otherwise as parallel_for.
void parallel_tasks(std::size_t count, FunctionRef<void(std::size_t i)> task,
                    TaskOrder order = TaskOrder::ascending);

/// Runs body() on the calling thread and keeps the other threads awake for the loops inside it. A
/// loop outside a region has to wake them, which can cost more than a short loop saves. Meant for
/// a sequence of many loops, such as a training step: between loops the threads spin. An exception
/// of the body reaches the caller. The body is inside an OpenMP region: an OpenMP region of its own
/// is nested, which OpenMP runs on one thread unless omp_set_max_active_levels() allows more.
void parallel_region(FunctionRef<void()> body);

}  // namespace octet
