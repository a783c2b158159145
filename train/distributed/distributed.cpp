#include <fmt/format.h>
#include <octet/train/distributed/distributed.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

namespace octet {

Distributed::Distributed(int argc, char** argv) : transport_(detail::make_transport(argc, argv)) {}

Distributed::~Distributed() {
  if (std::uncaught_exceptions() == 0) transport_->finish();
}

int Distributed::rank() const { return transport_->rank(); }
int Distributed::size() const { return transport_->size(); }
std::string Distributed::host() const { return transport_->host(); }

void Distributed::fail(const std::string& message, int exit_code) {
  if (!is_root()) {
    // Long enough for rank 0 to have ended this process, where it has the same to say.
    std::this_thread::sleep_for(std::chrono::seconds(2) +
                                std::chrono::milliseconds(20) * (rank() % 100));
  }
  const std::string line =
      size() == 1 ? fmt::format("{}\n", message)
                  : fmt::format("rank {} of {} on {}: {}\n", rank(), size(), host(), message);
  static_cast<void>(std::fputs(line.c_str(), stderr));
  static_cast<void>(std::fflush(nullptr));
  transport_->abort(exit_code);
  std::_Exit(exit_code);
}

void Distributed::do_send(std::span<const std::byte> bytes, int to) { transport_->send(bytes, to); }
void Distributed::do_receive(std::span<std::byte> bytes, int from) {
  transport_->receive(bytes, from);
}
void Distributed::do_broadcast(std::span<std::byte> bytes) { transport_->broadcast(bytes); }

}  // namespace octet
