#include <octet/core/thread_team.h>
#include <sched.h>

#include <algorithm>
#include <cassert>
#include <limits>

namespace octet::detail {
namespace {

// The parts of ThreadTeam's state: threads at work, two flags, the number of the loop.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 30;
constexpr std::uint64_t kDismissed = std::uint64_t{1} << 31;
constexpr std::uint64_t kWorkers = kOpen - 1;
constexpr int kNumberBits = 32;

std::uint64_t number_of(std::uint64_t state) { return state >> kNumberBits; }

/// Whether a thread that waits for another loop than `seen` has waited long enough.
bool calls(std::uint64_t state, std::uint64_t seen) {
  return number_of(state) != seen || (state & kDismissed) != 0;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How often a thread that waits looks with the processor kept: for about 60 us, which the next
/// loop of a step takes to come at the most. Waking a thread costs half of that.
constexpr int kSpins = 5000;
/// How often it looks after giving way: one that shares its processor with the leader then costs it
/// next to nothing.
constexpr int kYields = 2000;

void wait_a_moment(int times) {
  if (times < kSpins) {
    relax();
  } else {
    sched_yield();
  }
}

}  // namespace

void GuardedTask::run(std::size_t i) {
  try {
    task_(i);
  } catch (...) {
    const std::lock_guard guard(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

TaskShares::TaskShares(std::size_t count, std::size_t threads, TaskOrder order)
    : size_(std::min(threads, kMostShares)), order_(order) {
  assert(count <= std::numeric_limits<std::uint32_t>::max());
  for (std::size_t t = 0; t < size_; ++t) {
    shares_[t].left = {static_cast<std::uint32_t>(count * t / size_),
                       static_cast<std::uint32_t>(count * (t + 1) / size_)};
  }
}

std::optional<std::size_t> TaskShares::next(std::size_t thread) {
  for (std::size_t t = 0; t < size_; ++t) {
    const bool own = t == 0;
    const bool first = own == (order_ == TaskOrder::ascending);
    if (const auto task = take(shares_[(thread + t) % size_], first)) return task;
  }
  return {};
}

std::optional<std::size_t> TaskShares::take(Share& share, bool first) {
  Range left = share.left.load(std::memory_order_relaxed);
  while (left.begin < left.end) {
    const Range rest = first ? Range{left.begin + 1, left.end} : Range{left.begin, left.end - 1};
    if (share.left.compare_exchange_weak(left, rest, std::memory_order_relaxed)) {
      return first ? left.begin : rest.end;
    }
  }
  return {};
}

struct ThreadTeam::Loop {
  TaskShares shares;
  GuardedTask task;

  void work(std::size_t thread) {
    while (const auto i = shares.next(thread)) task.run(*i);
  }
};

void ThreadTeam::run(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order) {
  Loop loop{TaskShares(count, threads_, order), GuardedTask(task)};
  loop_ = &loop;
  const std::uint64_t number = number_of(state_.load(std::memory_order_relaxed)) + 1;
  announce(number << kNumberBits | kOpen);
  loop.work(0);
  state_.fetch_and(~kOpen, std::memory_order_relaxed);
  wait_for_others();
  loop_ = nullptr;
  loop.task.rethrow();
}

void ThreadTeam::dismiss() { announce(state_.load(std::memory_order_relaxed) | kDismissed); }

void ThreadTeam::serve(int thread) {
  std::uint64_t state = 0;
  for (;;) {
    state = wait_beyond(number_of(state));
    if ((state & kDismissed) != 0) return;
    if (!join(state)) continue;
    loop_->work(static_cast<std::size_t>(thread));
    state_.fetch_sub(1, std::memory_order_release);
  }
}

void ThreadTeam::announce(std::uint64_t state) {
  // In the one order of both: a thread counts as a sleeper before it looks for the last time.
  state_.store(state, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard guard(mutex_); }
  changed_.notify_all();
}

/// The state, once it is of another loop than that of number `seen`.
std::uint64_t ThreadTeam::wait_beyond(std::uint64_t seen) {
  for (int times = 0; times < kSpins + kYields; ++times) {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if (calls(state, seen)) return state;
    wait_a_moment(times);
  }
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  changed_.wait(lock, [&] { return calls(state_.load(std::memory_order_seq_cst), seen); });
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return state_.load(std::memory_order_acquire);
}

/// Whether the loop of `state` still had work to give, and this thread is one of its own now.
bool ThreadTeam::join(std::uint64_t state) {
  const std::uint64_t number = number_of(state);
  while (number_of(state) == number && (state & kOpen) != 0) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void ThreadTeam::wait_for_others() const {
  for (int times = 0; (state_.load(std::memory_order_acquire) & kWorkers) != 0; ++times) {
    wait_a_moment(times);
  }
}

}  // namespace octet::detail
