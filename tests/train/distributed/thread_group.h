#pragma once

#include <octet/core/error.h>
#include <octet/train/distributed/process_group.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace octet::test {

/// Ranks that are threads of this process.
class ThreadGroups {
 public:
  explicit ThreadGroups(int size) : size_(size) {}

  /// Runs body(group) of every rank at once. Throws what the first of them throws.
  static void run(int size, const std::function<void(ProcessGroup&)>& body) {
    ThreadGroups all(size);
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        Rank group(all, rank);
        try {
          body(group);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
          all.end();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  using Message = std::vector<std::byte>;
  /// From a rank, to a rank, stream.
  using Way = std::tuple<int, int, int>;

  class Rank : public ProcessGroup {
   public:
    Rank(ThreadGroups& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    std::string host() const override { return "thread"; }

   protected:
    void do_send(std::span<const std::byte> bytes, int to) override {
      do_start_send(bytes, to, kBlocking);
    }
    void do_receive(std::span<std::byte> bytes, int from) override {
      do_start_receive(bytes, from, kBlocking)->wait();
    }
    void do_broadcast(std::span<std::byte> bytes) override { do_start_broadcast(bytes)->wait(); }
    std::unique_ptr<Request> do_start_send(std::span<const std::byte> bytes, int to,
                                           int stream) override {
      all_.put({rank_, to, stream}, {bytes.begin(), bytes.end()});
      return std::make_unique<Sent>();
    }
    std::unique_ptr<Request> do_start_receive(std::span<std::byte> bytes, int from,
                                              int stream) override {
      return std::make_unique<Awaited>(all_, Way{from, rank_, stream}, bytes);
    }
    /// Every broadcast has a stream of its own, so that requests may be waited for in any order.
    std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> bytes) override {
      const int stream = kBlocking - ++broadcasts_;
      if (rank_ != 0) return do_start_receive(bytes, 0, stream);
      for (int to = 1; to < size(); ++to) do_start_send(bytes, to, stream);
      return std::make_unique<Sent>();
    }

   private:
    static constexpr int kBlocking = -1;
    ThreadGroups& all_;
    int rank_;
    int broadcasts_ = 0;
  };

  /// Bytes are copied when they are sent.
  class Sent : public Request {
   public:
    bool done() override { return true; }
    void wait() override {}
  };

  class Awaited : public Request {
   public:
    Awaited(ThreadGroups& all, Way way, std::span<std::byte> bytes)
        : all_(all), way_(way), bytes_(bytes) {}
    bool done() override {
      if (!done_ && all_.has(way_)) wait();
      return done_;
    }
    void wait() override {
      if (done_) return;
      const Message message = all_.take(way_);
      if (message.size() != bytes_.size()) throw InvalidArgument("a message of another size");
      if (!bytes_.empty()) std::memcpy(bytes_.data(), message.data(), bytes_.size());
      done_ = true;
    }

   private:
    ThreadGroups& all_;
    Way way_;
    std::span<std::byte> bytes_;
    bool done_ = false;
  };

  bool has(const Way& way) {
    const std::lock_guard lock(mutex_);
    return !messages_[way].empty();
  }
  void put(const Way& way, Message message) {
    const std::lock_guard lock(mutex_);
    messages_[way].push_back(std::move(message));
    changed_.notify_all();
  }
  Message take(const Way& way) {
    std::unique_lock lock(mutex_);
    auto& queue = messages_[way];
    changed_.wait(lock, [&] { return !queue.empty() || ended_; });
    if (queue.empty()) throw IoError("another rank has ended");
    Message message = std::move(queue.front());
    queue.pop_front();
    return message;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Way, std::deque<Message>> messages_;
  bool ended_ = false;
};

}  // namespace octet::test
