#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/thread_team.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

namespace octet {
namespace {

std::atomic<int> requested_threads{0};

/// The team that this thread leads.
thread_local detail::ThreadTeam* own_team = nullptr;

/// Whether this thread leads a team whose threads wait for a loop.
bool leads_team() { return own_team != nullptr && !own_team->at_work(); }

/// The most threads that loops may use and that OpenMP gives: OMP_THREAD_LIMIT.
int thread_limit() {
  static const int limit = std::clamp(omp_get_thread_limit(), 1, kMostThreads);
  return limit;
}

/// OMP_NUM_THREADS, else the processors that this process may run on, which a CPU mask or a
/// container may have made fewer than the machine has.
int default_threads() {
  static const int threads = std::max(1, omp_get_max_threads());
  return threads;
}

/// Whether this thread has led OpenMP threads, and whether a fork has left them behind: GNU's
/// OpenMP would wait for them in the child for ever. A thread that starts in the child has threads
/// of its own.
thread_local bool has_threads = false;
thread_local bool has_lost_threads = false;

void note_lost_threads() { has_lost_threads = has_lost_threads || has_threads; }

/// To be called before this thread first leads OpenMP threads.
void note_threads() {
  // It fails only where there is no memory.
  static const bool watches_forks = pthread_atfork(nullptr, nullptr, note_lost_threads) == 0;
  if (!watches_forks) throw std::bad_alloc();
  has_threads = true;
}

/// Runs `body` as the team's leader. Returns its exception, which must not cross the OpenMP region.
std::exception_ptr lead(detail::ThreadTeam& team, FunctionRef<void()> body) {
  detail::ThreadTeam* const outer = std::exchange(own_team, &team);
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  own_team = outer;
  team.dismiss();
  return failure;
}

/// Runs a loop outside a region. Which tasks a thread runs depends on the number of threads alone,
/// so that its per-thread buffers are complete after the first loop.
void run_loop(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order) {
  note_threads();
  detail::GuardedTask guarded(task);
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): clang-tidy does not see the OpenMP pragma.
  const auto threads = static_cast<int>(std::min(static_cast<std::size_t>(num_threads()), count));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < count; ++i) {
    guarded.run(order == TaskOrder::ascending ? i : count - 1 - i);
  }
  guarded.rethrow();
}

/// The team's threads come from an OpenMP region, whose threads later loops outside of any region
/// use again: two pools of threads would compete for the processors.
void run_region(int threads, FunctionRef<void()> body) {
  note_threads();
  detail::ThreadTeam team(threads);
  std::exception_ptr failure;
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    if (thread == 0) {
      failure = lead(team, body);
    } else {
      team.serve(thread);
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int num_threads() {
  if (has_lost_threads) return 1;
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return std::min(requested > 0 ? requested : default_threads(), thread_limit());
}

void set_num_threads(int count) {
  if (count < 1 || count > kMostThreads) {
    throw InvalidArgument(
        fmt::format("set_num_threads: expected 1 to {} threads, found {}", kMostThreads, count));
  }
  requested_threads.store(count, std::memory_order_relaxed);
}

std::size_t thread_share(std::size_t count, std::size_t least, std::size_t multiple) {
  const auto threads = static_cast<std::size_t>(num_threads());
  const std::size_t grain = leads_team() ? least / 2 : least;
  const std::size_t share = std::max({grain, (count + threads - 1) / threads, std::size_t{1}});
  return (share + multiple - 1) / multiple * multiple;
}

void parallel_region(FunctionRef<void()> body) {
  const int threads = num_threads();
  // A thread inside another parallel loop or region has no threads to lead.
  if (threads == 1 || omp_in_parallel() != 0) return body();
  run_region(threads, body);
}

void parallel_tasks(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order) {
  const bool leads = leads_team();
  const bool alone = count <= 1 || num_threads() == 1 || (!leads && omp_in_parallel() != 0);
  if (alone) {
    for (std::size_t i = 0; i < count; ++i) task(order == TaskOrder::ascending ? i : count - 1 - i);
    return;
  }
  if (leads) return own_team->run(count, task, order);
  run_loop(count, task, order);
}

void parallel_for(std::size_t count, std::size_t grain,
                  FunctionRef<void(std::size_t begin, std::size_t end)> body) {
  const std::size_t step = std::max<std::size_t>(grain, 1);
  parallel_tasks((count + step - 1) / step, [&](std::size_t chunk) {
    body(chunk * step, std::min(count, (chunk + 1) * step));
  });
}

}  // namespace octet
