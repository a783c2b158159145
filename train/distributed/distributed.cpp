#include <fmt/core.h>
#include <octet/core/printable.h>
#include <octet/train/distributed/distributed.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

namespace octet {

namespace {

class OneProcess : public detail::Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return group_or_alone(nullptr).host(); }
  bool is_first_to_fail() override { return true; }
  void abort(int exit_code) override { std::_Exit(exit_code); }
  void finish() override {}

 protected:
  void do_send(std::span<const std::byte> bytes, int to) override {
    group_or_alone(nullptr).send(bytes, to);
  }
  void do_receive(std::span<std::byte> bytes, int from) override {
    group_or_alone(nullptr).receive(bytes, from);
  }
  void do_broadcast(std::span<std::byte> /*bytes*/) override {}
  std::unique_ptr<Request> do_start_send(std::span<const std::byte> bytes, int to,
                                         int stream) override {
    return group_or_alone(nullptr).start_send(bytes, to, stream);
  }
  std::unique_ptr<Request> do_start_receive(std::span<std::byte> bytes, int from,
                                            int stream) override {
    return group_or_alone(nullptr).start_receive(bytes, from, stream);
  }
  std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> bytes) override {
    return group_or_alone(nullptr).start_broadcast(bytes);
  }
};

/// Whether a launcher has started more than this process: Open MPI's, that of MPICH and Intel,
/// MVAPICH's, or Slurm's by PMIx or PMI-2.
bool has_other_ranks() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    if (const char* value = std::getenv(size)) return std::string_view(value) != "1";
  }
  return std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
}

std::unique_ptr<detail::Transport> make_transport(int argc, char** argv) {
  if (has_other_ranks()) return detail::make_mpi_transport(argc, argv);
  return std::make_unique<OneProcess>();
}

}  // namespace

Distributed::Distributed(int argc, char** argv) : transport_(make_transport(argc, argv)) {}

Distributed::~Distributed() {
  if (std::uncaught_exceptions() == 0) transport_->finish();
}

int Distributed::rank() const { return transport_->rank(); }
int Distributed::size() const { return transport_->size(); }
std::string Distributed::host() const { return transport_->host(); }

void Distributed::fail(const std::string& message, int exit_code) {
  if (!is_root()) {
    // Long enough for rank 0, or a rank of another host, to have ended this process, where it has
    // the same to say.
    std::this_thread::sleep_for(std::chrono::seconds(2) +
                                std::chrono::milliseconds(500) * std::min(rank(), 30));
  }
  if (!transport_->is_first_to_fail()) {
    // The first has ended this process long before, unless it could not.
    std::this_thread::sleep_for(std::chrono::minutes(1));
    transport_->abort(exit_code);
  }
  // A message about the data or the numbers of a step names it itself.
  const bool names_place = place().empty() || message.find(place()) != std::string::npos;
  const std::string line = size() == 1
                               ? fmt::format("{}\n", message)
                               : fmt::format("rank {} of {} on {}{}: {}\n", rank(), size(), host(),
                                             names_place ? "" : " at " + place(), message);
  print_text(stderr, line);
  static_cast<void>(std::fflush(nullptr));
  transport_->abort(exit_code);
  std::_Exit(exit_code);
}

void Distributed::do_send(std::span<const std::byte> bytes, int to) { transport_->send(bytes, to); }
void Distributed::do_receive(std::span<std::byte> bytes, int from) {
  transport_->receive(bytes, from);
}
void Distributed::do_broadcast(std::span<std::byte> bytes) { transport_->broadcast(bytes); }

std::unique_ptr<Request> Distributed::do_start_send(std::span<const std::byte> bytes, int to,
                                                    int stream) {
  return transport_->start_send(bytes, to, stream);
}
std::unique_ptr<Request> Distributed::do_start_receive(std::span<std::byte> bytes, int from,
                                                       int stream) {
  return transport_->start_receive(bytes, from, stream);
}
std::unique_ptr<Request> Distributed::do_start_broadcast(std::span<std::byte> bytes) {
  return transport_->start_broadcast(bytes);
}

}  // namespace octet
