// One process: Octet without MPI.

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/train/distributed/distributed.h>

#include <cstdlib>
#include <string_view>

namespace octet::detail {
namespace {

class NoTransport : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string host() const override { return group_or_alone(nullptr).host(); }
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
};

}  // namespace

std::unique_ptr<Transport> make_transport(int /*argc*/, char** /*argv*/) {
  // Of Open MPI, and of MPICH, Intel's and others.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"}) {
    const char* size = std::getenv(variable);
    if (size == nullptr || std::string_view(size) == "1") continue;
    throw InvalidArgument(fmt::format(
        "Distributed: mpirun has started {} processes of a program that was built without MPI "
        "({}={}); build Octet with -DOCTET_MPI=ON",
        size, variable, size));
  }
  return std::make_unique<NoTransport>();
}

}  // namespace octet::detail
