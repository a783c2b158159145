#pragma once

#include <octet/core/function_ref.h>

#include <cstddef>

namespace octet {

/// Threads that parallel loops use: what set_num_threads() said, else what the machine has.
int num_threads();

/// Sets the number of threads of every later parallel loop. Throws InvalidArgument below 1.
/// Results never depend on it: no element's value depends on how a loop is cut.
void set_num_threads(int count);

/// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be smaller), on
/// num_threads() threads. The chunks are those of `grain`, whatever the number of threads. Chunks
/// must write to disjoint places. An exception of the body reaches the caller. Runs inline where
/// one chunk suffices or when called from inside another parallel loop.
void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body);

/// The grain that cuts `count` into at most one chunk for each thread, of `least` or more and a
/// multiple of `multiple`: each thread then finds in its caches what it made of the same share
/// before. `least` is what pays for waking a thread; of a parallel_region(), whose threads are
/// awake, half. Chunks depend on the number of threads; results must not.
std::size_t thread_share(std::size_t count, std::size_t least, std::size_t multiple = 1);

enum class TaskOrder { ascending, descending };

/// Calls task(i) for every i in [0, count), count below 2^32. Each thread has a share of
/// neighbours, the same one for the same count, that it goes through in `order`; inside a
/// parallel_region() one that is done helps the others. Otherwise as parallel_for.
void parallel_tasks(std::size_t count, FunctionRef<void(std::size_t i)> task,
                    TaskOrder order = TaskOrder::ascending);

/// Runs body() on the calling thread, with the other threads at hand for the loops inside it. A
/// loop by itself wakes them, which can cost more than a short one saves. Meant for a stretch of
/// many loops, such as a step of training: in between the threads wait busily. An exception of the
/// body reaches the caller.
void parallel_region(FunctionRef<void()> body);

}  // namespace octet
