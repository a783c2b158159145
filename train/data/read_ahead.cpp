#include <octet/train/data/read_ahead.h>

#include <utility>

namespace octet::detail {

ReadAhead::ReadAhead(std::function<std::vector<Batch>(std::size_t)> read, std::size_t begin,
                     std::size_t end, std::size_t depth)
    : read_(std::move(read)),
      depth_(depth),
      next_(begin),
      thread_([this, begin, end] { run(begin, end); }) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::run(std::size_t begin, std::size_t end) {
  try {
    for (std::size_t number = begin; number < end; ++number) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || ready_.size() < depth_; });
        if (stop_) return;
      }
      std::vector<Batch> batch = read_(number);
      {
        const std::lock_guard lock(mutex_);
        ready_.push_back(std::move(batch));
      }
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

std::vector<Batch> ReadAhead::take() {
  std::vector<Batch> batch;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || failure_; });
    // What was read before the failure comes first.
    if (ready_.empty()) std::rethrow_exception(failure_);
    batch = std::move(ready_.front());
    ready_.pop_front();
    ++next_;
  }
  changed_.notify_all();
  return batch;
}

}  // namespace octet::detail
