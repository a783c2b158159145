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

/// A loop's task. Its exceptions must not leave the threads of a region: the first one is carried
/// out by hand.
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

/// Tasks that threads share out. Each thread has neighbours of its own, the same ones in every loop
/// of as many tasks, so that what they touch stays in its caches; who is done takes from the
/// others' far ends. Nothing is allocated: where there are more threads than shares, some have one
/// together.
class TaskShares {
 public:
  TaskShares(std::size_t count, std::size_t threads, TaskOrder order);

  /// The next task of a thread; nothing where none is left.
  std::optional<std::size_t> next(std::size_t thread);

 private:
  // Aligned as a whole, so that its atomic needs no lock.
  struct alignas(8) Range {
    std::uint32_t begin, end;
  };
  struct alignas(64) Share {
    std::atomic<Range> left;
  };

  static constexpr std::size_t kMostShares = 32;

  static std::optional<std::size_t> take(Share& share, bool first);

  std::array<Share, kMostShares> shares_;
  std::size_t size_;
  TaskOrder order_;
};

/// A leader, whose program goes on, and threads that wait for the loops that it runs.
///
/// A loop ends when its tasks are done, not when every thread has come: one that the system has put
/// aside, or that still wakes up, holds up nobody.
class ThreadTeam {
 public:
  explicit ThreadTeam(int threads) : threads_(static_cast<std::size_t>(threads)) {}

  /// Of the leader: every task once, by the threads that are there. Throws the first exception of a
  /// task after all others have run.
  void run(std::size_t count, FunctionRef<void(std::size_t i)> task, TaskOrder order);
  /// Whether the leader is inside run().
  bool at_work() const { return loop_ != nullptr; }
  /// Ends serve().
  void dismiss();

  /// Of all others: works until dismissed.
  void serve(int thread);

 private:
  struct Loop;

  void announce(std::uint64_t state);
  std::uint64_t wait_beyond(std::uint64_t seen);
  bool join(std::uint64_t state);
  void wait_for_others() const;

  std::size_t threads_;
  Loop* loop_ = nullptr;
  /// Who is at work on the loop, whether it takes others, and its number.
  std::atomic<std::uint64_t> state_{0};
  /// Threads that have given up looking at the state.
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace octet::detail
