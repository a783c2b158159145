#include <octet/core/error.h>
#include <octet/train/distributed/process_group.h>

#include <string>

namespace octet {
namespace {

/// One process: there is nobody to send to.
class Alone : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return "this machine"; }
  void do_send(std::span<const std::byte> /*bytes*/, int /*to*/) override { fail("send"); }
  void do_receive(std::span<std::byte> /*bytes*/, int /*from*/) override { fail("receive"); }
  void do_broadcast(std::span<std::byte> /*bytes*/) override { fail("broadcast"); }
  std::unique_ptr<Request> do_start_send(std::span<const std::byte> /*bytes*/, int /*to*/,
                                         int /*stream*/) override {
    fail("start_send");
  }
  std::unique_ptr<Request> do_start_receive(std::span<std::byte> /*bytes*/, int /*from*/,
                                            int /*stream*/) override {
    fail("start_receive");
  }
  std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> /*bytes*/) override {
    fail("start_broadcast");
  }

 private:
  [[noreturn]] static void fail(const char* function) {
    throw InvalidArgument(std::string("ProcessGroup::") + function +
                          ": expected another rank, found a group of one process");
  }
};

}  // namespace

void ProcessGroup::send(std::span<const std::byte> bytes, int to) {
  do_send(bytes, to);
  traffic_.sent += bytes.size();
}

void ProcessGroup::receive(std::span<std::byte> bytes, int from) {
  do_receive(bytes, from);
  traffic_.received += bytes.size();
}

void ProcessGroup::broadcast(std::span<std::byte> bytes) {
  // The group of one is shared by every trainer of the process, so nothing of it may be written.
  if (size() == 1) return;
  do_broadcast(bytes);
  (is_root() ? traffic_.sent : traffic_.received) += bytes.size();
}

std::unique_ptr<Request> ProcessGroup::start_send(std::span<const std::byte> bytes, int to,
                                                  int stream) {
  traffic_.sent += bytes.size();
  return do_start_send(bytes, to, stream);
}

std::unique_ptr<Request> ProcessGroup::start_receive(std::span<std::byte> bytes, int from,
                                                     int stream) {
  traffic_.received += bytes.size();
  return do_start_receive(bytes, from, stream);
}

std::unique_ptr<Request> ProcessGroup::start_broadcast(std::span<std::byte> bytes) {
  (is_root() ? traffic_.sent : traffic_.received) += bytes.size();
  return do_start_broadcast(bytes);
}

ProcessGroup& group_or_alone(ProcessGroup* group) {
  static Alone alone;
  return group != nullptr ? *group : alone;
}

}  // namespace octet
