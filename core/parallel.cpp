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

void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  const std::size_t step = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count + step - 1) / step;
  const auto run_chunk = [&](std::size_t chunk) {
    body(chunk * step, std::min(count, (chunk + 1) * step));
  };
  const int threads =
      static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(num_threads()), chunks));
  if (threads <= 1 || omp_in_parallel() != 0) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) run_chunk(chunk);
    return;
  }
  // An exception must not leave an OpenMP region: the first one is carried out by hand.
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    try {
      run_chunk(chunk);
    } catch (...) {
#pragma omp critical(octet_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace octet
