#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace octet {

/// A message or a broadcast that is under way. What it reads or writes must stay where it is, and
/// as it is, until it is done.
class Request {
 public:
  virtual ~Request() = default;
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Returns whether it is done, without waiting. Moves other requests of this rank forward too.
  virtual bool done() = 0;
  virtual void wait() = 0;
};

/// The processes, called ranks, that train one model together. Each runs the same program on the
/// same options; what one of them waits for, the others send. No function here computes: sums are
/// made by who receives, in an order of its own, so that they are the same for any number of ranks.
///
/// Distributed is such a group under MPI. A transport of your own derives from this class.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// The number of this process, from 0 to size() - 1.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The name of the machine that this process runs on.
  virtual std::string host() const = 0;

  /// Sends bytes to another rank, which calls receive() for as many. Messages between two ranks
  /// arrive in the order in which they were sent.
  void send(std::span<const std::byte> bytes, int to);
  /// Waits for them.
  void receive(std::span<std::byte> bytes, int from);
  /// Gives every rank the bytes of rank 0. All ranks call it, with as many bytes.
  void broadcast(std::span<std::byte> bytes);

  /// Starts to send to one rank, without waiting. Messages of one stream, a number from 0 to 32000
  /// and the same on both sides, arrive in the order in which they were sent; streams do not wait
  /// for each other, nor for send(). All ranks start and call broadcasts in the same order.
  std::unique_ptr<Request> start_send(std::span<const std::byte> bytes, int to, int stream);
  std::unique_ptr<Request> start_receive(std::span<std::byte> bytes, int from, int stream);
  std::unique_ptr<Request> start_broadcast(std::span<std::byte> bytes);

  /// Whether this is the rank that prints and writes files.
  bool is_root() const { return rank() == 0; }

  /// What this rank has sent and received so far; of a broadcast the bytes once, whatever way they
  /// take.
  struct Traffic {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  const Traffic& traffic() const { return traffic_; }

  /// Where in the run this rank is, for the message of one that fails: "epoch 2, step 17", as a
  /// Trainer of this group says before each step, and "" outside of training. What handles the
  /// exception that training ended with finds the place of its step.
  std::string place() const {
    return left_by_ == nullptr || left_by_ == std::current_exception() ? place_ : "";
  }
  void set_place(std::string place) {
    place_ = std::move(place);
    left_by_ = nullptr;
  }
  /// Leaves the place to what handles the exception that is being handled now.
  void leave_place() noexcept { left_by_ = std::current_exception(); }

 protected:
  virtual void do_send(std::span<const std::byte> bytes, int to) = 0;
  virtual void do_receive(std::span<std::byte> bytes, int from) = 0;
  virtual void do_broadcast(std::span<std::byte> bytes) = 0;
  virtual std::unique_ptr<Request> do_start_send(std::span<const std::byte> bytes, int to,
                                                 int stream) = 0;
  virtual std::unique_ptr<Request> do_start_receive(std::span<std::byte> bytes, int from,
                                                    int stream) = 0;
  virtual std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> bytes) = 0;

 private:
  Traffic traffic_;
  std::string place_;
  /// The exception that training ended with; null where it goes on or has ended well.
  std::exception_ptr left_by_;
};

/// `group`, or for null the group that this process is alone in.
ProcessGroup& group_or_alone(ProcessGroup* group);

}  // namespace octet
