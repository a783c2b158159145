#pragma once

#include <octet/core/parallel.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>

namespace octet::detail {

/// A loop's task whose first exception is stored and rethrown by the caller of the loop, because no
/// exception may leave a thread of an OpenMP region.
class GuardedTask {
 public:
  explicit GuardedTask(FunctionRef<void(std::size_t i)> task) : task_(task) {}
  void run(std::size_t i);
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  FunctionRef<void(std::size_t i)> task_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

/// Divides the tasks of a loop among threads. Each thread has a share of consecutive tasks, the
/// same one in every loop of this count, so that the memory it touches stays in its caches. A
/// thread that is done takes tasks from the far end of other shares. Allocates nothing: if there
/// are more threads than shares, some threads have a share in common.
class TaskShares {
 public:
  TaskShares(std::size_t count, std::size_t threads, TaskOrder order);

  /// Returns the next task of a thread, or nothing if none is left.
  std::optional<std::size_t> next(std::size_t thread);

 private:
  // Aligned as one word, so that its atomic needs no lock.
  struct alignas(8) Range {
    std::uint32_t begin, end;
  };
  struct alignas(64) Share {
    std::atomic<Range> left;
  };

  static constexpr std::size_t kMaxShares = 32;

  static std::optional<std::size_t> take(Share& share, bool first);

  std::array<Share, kMaxShares> shares_;
  std::size_t size_;
  TaskOrder order_;
};

/// A leader, which runs the program, and threads that wait for its parallel loops.
///
/// A loop ends when its tasks are done, not when every thread has joined: a thread that the system
/// has descheduled, or that is still waking up, delays no one. See docs/performance.md, "Threads".
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads) : threads_(static_cast<std::size_t>(threads)) {}

  /// Runs every task once, on the leader and all threads that join; called by the leader. Throws
  /// the first exception of a task after all others have run.
  void run(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order);
  /// Whether the leader is inside run().
  bool at_work() const { return loop_ != nullptr; }
  /// Ends serve() on all threads; called by the leader.
  void dismiss();

  /// Joins the leader's loops until dismissed; called by every other thread with its number.
  void serve(int thread);

 private:
  struct Loop;

  void announce(std::uint64_t state);
  std::uint64_t wait_beyond(std::uint64_t seen);
  bool join(std::uint64_t state);
  void wait_for_others() const;

  std::size_t threads_;
  Loop* loop_ = nullptr;
  /// The number of threads at work on the loop, two flags, and the number of the loop: see
  /// thread_team.cpp.
  std::atomic<std::uint64_t> state_{0};
  /// Threads that have stopped polling the state and wait for changed_.
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace octet::detail
