#include <octet/core/thread_team.h>
#include <sched.h>

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

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits a little longer every time: some microseconds with the processor kept, which the next loop
/// of a step takes to come; then giving way to whoever else wants the processor.
class Patience {
 public:
  void wait() {
    if (++count_ <= kSpins) {
      relax();
    } else {
      sched_yield();
    }
  }
  bool exhausted() const { return count_ > kSpins + kYields; }

 private:
  static constexpr int kSpins = 1000;
  static constexpr int kYields = 1000;
  int count_ = 0;
};

}  // namespace

TaskShares::TaskShares(std::size_t count, std::size_t threads, TaskOrder order)
    : shares_(threads), order_(order) {
  assert(count <= std::numeric_limits<std::uint32_t>::max());
  for (std::size_t t = 0; t < threads; ++t) {
    shares_[t].left = {static_cast<std::uint32_t>(count * t / threads),
                       static_cast<std::uint32_t>(count * (t + 1) / threads)};
  }
}

std::optional<std::size_t> TaskShares::next(std::size_t thread) {
  for (std::size_t t = 0; t < shares_.size(); ++t) {
    const bool own = t == 0;
    const bool first = own == (order_ == TaskOrder::ascending);
    if (const auto task = take(shares_[(thread + t) % shares_.size()], first)) return task;
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
  FunctionRef<void(std::size_t i)> task;
  std::mutex mutex;
  std::exception_ptr failure;

  void work(std::size_t thread) {
    while (const auto i = shares.next(thread)) {
      try {
        task(*i);
      } catch (...) {
        const std::lock_guard guard(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  }
};

void ThreadTeam::run(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order) {
  Loop loop{TaskShares(count, threads_, order), task, {}, {}};
  loop_ = &loop;
  const std::uint64_t number = number_of(state_.load(std::memory_order_relaxed)) + 1;
  state_.store(number << kNumberBits | kOpen, std::memory_order_release);
  state_.notify_all();
  loop.work(0);
  state_.fetch_and(~kOpen, std::memory_order_relaxed);
  wait_for_others();
  loop_ = nullptr;
  if (loop.failure) std::rethrow_exception(loop.failure);
}

void ThreadTeam::dismiss() {
  state_.fetch_or(kDismissed, std::memory_order_relaxed);
  state_.notify_all();
}

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

/// The state, once it is of another loop than that of number `seen`.
std::uint64_t ThreadTeam::wait_beyond(std::uint64_t seen) const {
  Patience patience;
  for (;;) {
    const std::uint64_t state = state_.load(std::memory_order_acquire);
    if (number_of(state) != seen || (state & kDismissed) != 0) return state;
    if (patience.exhausted()) {
      state_.wait(state, std::memory_order_acquire);
    } else {
      patience.wait();
    }
  }
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
  Patience patience;
  while ((state_.load(std::memory_order_acquire) & kWorkers) != 0) patience.wait();
}

}  // namespace octet::detail
