#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

namespace octet {
namespace {

std::atomic<int> requested_threads{0};

int machine_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

int num_threads() {
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return requested > 0 ? requested : machine_threads();
}

void set_num_threads(int count) {
  if (count < 1) {
    throw InvalidArgument(
        fmt::format("set_num_threads: expected at least 1 thread, found {}", count));
  }
  requested_threads.store(count, std::memory_order_relaxed);
}

namespace {

/// Runs task(i), or keeps its exception for after the OpenMP region, which it must not leave: the
/// first one is carried out by hand.
class Failure {
 public:
  void guard(FunctionRef<void(std::size_t)> task, std::size_t i) {
    try {
      task(i);
    } catch (...) {
#pragma omp critical(octet_parallel_failure)
      if (!first_) first_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

/// Threads for `count` calls; 1 inside another parallel loop.
int threads_for(std::size_t count) {
  if (omp_in_parallel() != 0) return 1;
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(num_threads()), count));
}

}  // namespace

void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  const std::size_t step = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count + step - 1) / step;
  const auto run_chunk = [&](std::size_t chunk) {
    body(chunk * step, std::min(count, (chunk + 1) * step));
  };
  const int threads = threads_for(chunks);
  if (threads <= 1) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) run_chunk(chunk);
    return;
  }
  Failure failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) failure.guard(run_chunk, chunk);
  failure.rethrow();
}

void parallel_tasks(std::size_t count, FunctionRef<void(std::size_t i)> task) {
  const int threads = threads_for(count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    return;
  }
  Failure failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (std::size_t i = 0; i < count; ++i) failure.guard(task, i);
  failure.rethrow();
}

}  // namespace octet
