#pragma once

#include <octet/train/data/dataset.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace octet::detail {

/// Reads the batches begin, begin + 1, ..., end - 1, each as shards, on a thread of its own, at
/// most `depth` of them ahead of the one that was taken last.
class ReadAhead {
 public:
  ReadAhead(std::function<std::vector<Batch>(std::size_t number)> read, std::size_t begin,
            std::size_t end, std::size_t depth);
  /// Waits for the read that is under way, if any.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// The number of the batch that take() returns next.
  std::size_t next() const { return next_; }
  /// Waits for that batch. Throws what reading it threw; the thread has then ended, and there is
  /// nothing more to take.
  std::vector<Batch> take();

 private:
  void run(std::size_t begin, std::size_t end);

  std::function<std::vector<Batch>(std::size_t)> read_;
  std::size_t depth_;
  std::size_t next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::vector<Batch>> ready_;
  std::exception_ptr failure_;
  bool stop_ = false;
  /// The last member: the thread uses all others.
  std::thread thread_;
};

}  // namespace octet::detail
