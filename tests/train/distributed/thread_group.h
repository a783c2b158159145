#pragma once

#include <octet/core/error.h>
#include <octet/train/distributed/process_group.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
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

  class Rank : public ProcessGroup {
   public:
    Rank(ThreadGroups& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    std::string host() const override { return "thread"; }

   protected:
    void do_send(std::span<const std::byte> bytes, int to) override {
      all_.put({rank_, to}, {bytes.begin(), bytes.end()});
    }
    void do_receive(std::span<std::byte> bytes, int from) override {
      const Message message = all_.take({from, rank_});
      if (message.size() != bytes.size()) throw InvalidArgument("a message of another size");
      if (!bytes.empty()) std::memcpy(bytes.data(), message.data(), bytes.size());
    }
    void do_broadcast(std::span<std::byte> bytes) override {
      if (rank_ != 0) return do_receive(bytes, 0);
      for (int to = 1; to < size(); ++to) do_send(bytes, to);
    }

   private:
    ThreadGroups& all_;
    int rank_;
  };

  void put(std::pair<int, int> way, Message message) {
    const std::lock_guard lock(mutex_);
    messages_[way].push_back(std::move(message));
    changed_.notify_all();
  }
  Message take(std::pair<int, int> way) {
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
  std::map<std::pair<int, int>, std::deque<Message>> messages_;
  bool ended_ = false;
};

}  // namespace octet::test
