#include <octet/core/thread_team.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <thread>

namespace octet::detail {
namespace {

// The fields of ThreadTeam's state word: bits 0 to 29 count the threads at work besides the leader,
// bit 30 says that threads may still join, bit 31 that serve() shall end, and bits 32 to 63 number
// the loop.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 30;
constexpr std::uint64_t kDismissed = std::uint64_t{1} << 31;
constexpr std::uint64_t kWorkers = kOpen - 1;
constexpr int kNumberBits = 32;

std::uint64_t number_of(std::uint64_t state) { return state >> kNumberBits; }

/// Whether a thread that has seen loop number `seen` should stop waiting.
bool has_news(std::uint64_t state, std::uint64_t seen) {
  return number_of(state) != seen || (state & kDismissed) != 0;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How often a waiting thread polls without yielding: as long as the next loop of a training step
/// takes to come at most, about twice what waking a thread costs.
constexpr int kSpins = 5000;
/// How often it then polls while yielding, so that it costs a leader on the same processor next to
/// nothing, before it sleeps.
constexpr int kYields = 2000;

void wait_a_moment(int times) {
  if (times < kSpins) {
    relax();
  } else {
    std::this_thread::yield();
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
    : size_(std::min(threads, kMaxShares)), order_(order) {
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
  // Sequentially consistent with wait_beyond(): a thread counts as a sleeper before its last look.
  state_.store(state, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  { const std::lock_guard guard(mutex_); }
  changed_.notify_all();
}

/// Waits until the state has another loop number than `seen` or the team is dismissed.
std::uint64_t ThreadTeam::wait_beyond(std::uint64_t seen) {
  for (int times = 0; times < kSpins + kYields; ++times) {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if (has_news(state, seen)) return state;
    wait_a_moment(times);
  }
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  changed_.wait(lock, [&] { return has_news(state_.load(std::memory_order_seq_cst), seen); });
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  return state_.load(std::memory_order_acquire);
}

/// Joins the loop of `state`. Returns false if it takes no more threads.
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
