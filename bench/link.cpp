// octet_bench_link HOSTS DELAY_US MBIT_PER_SECOND: a network of hosts 10.9.0.1, 10.9.0.2, ... on
// one machine, for kernels without tc netem. Makes the interfaces octet1, octet2, ..., prints
// "ready", and forwards IPv4 packets between them until it is killed: each waits until those before
// it have left its host at that rate, and then for the delay. scripts/bench_link.sh puts the
// interfaces into namespaces. Linux, as root.

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <system_error>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

/// The last byte of an IPv4 packet's destination.
constexpr std::size_t kDestination = 19;
constexpr std::size_t kLargestPacket = 65536;
/// A switch with so much memory for each host drops nothing that TCP sends on such links.
constexpr std::size_t kMostQueued = std::size_t{64} << 20U;

struct Packet {
  std::vector<char> bytes;
  Clock::time_point due;
  std::size_t to = 0;
};

/// What a host sends.
struct Host {
  int file = -1;
  std::deque<Packet> queue;
  std::size_t queued = 0;
  Clock::time_point free_at{};
};

int open_interface(const std::string& name) {
  const int file = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  if (::ioctl(file, TUNSETIFF, &request) < 0) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  return file;
}

class Network {
 public:
  Network(std::size_t hosts, nanoseconds delay, double bytes_per_second)
      : hosts_(hosts), delay_(delay), bytes_per_second_(bytes_per_second) {
    for (std::size_t i = 0; i < hosts; ++i) {
      hosts_[i].file = open_interface("octet" + std::to_string(i + 1));
    }
  }

  [[noreturn]] void run() {
    std::vector<pollfd> files;
    for (const Host& host : hosts_) files.push_back({host.file, POLLIN, 0});
    while (true) {
      const timespec wait = until_next();
      if (::ppoll(files.data(), files.size(), &wait, nullptr) > 0) {
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
          if ((files[i].revents & POLLIN) != 0) take_from(hosts_[i]);
        }
      }
      for (Host& host : hosts_) deliver(host);
    }
  }

 private:
  /// All packets that a host has sent.
  void take_from(Host& host) {
    while (true) {
      const auto size = ::read(host.file, memory_.data(), memory_.size());
      if (size <= 0) return;
      take(host, static_cast<std::size_t>(size));
    }
  }

  void take(Host& host, std::size_t bytes) {
    if (bytes <= kDestination) return;
    const auto to = static_cast<unsigned char>(memory_[kDestination]);
    // IPv6 and hosts that are not there.
    if (memory_[0] >> 4 != 4 || to < 1 || to > hosts_.size()) return;
    if (host.queued + bytes > kMostQueued) return;
    const Clock::time_point now = Clock::now();
    const std::chrono::duration<double> takes(static_cast<double>(bytes) / bytes_per_second_);
    host.free_at = std::max(now, host.free_at) + duration_cast<nanoseconds>(takes);
    host.queued += bytes;
    host.queue.push_back({{memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(bytes)},
                          host.free_at + delay_,
                          to - std::size_t{1}});
  }

  void deliver(Host& host) {
    const Clock::time_point now = Clock::now();
    for (; !host.queue.empty() && host.queue.front().due <= now; host.queue.pop_front()) {
      const Packet& packet = host.queue.front();
      host.queued -= packet.bytes.size();
      // What an interface does not take is lost, as in any network.
      static_cast<void>(::write(hosts_[packet.to].file, packet.bytes.data(), packet.bytes.size()) <
                        0);
    }
  }

  timespec until_next() const {
    nanoseconds wait = std::chrono::seconds(1);
    for (const Host& host : hosts_) {
      if (host.queue.empty()) continue;
      wait = std::min(wait, duration_cast<nanoseconds>(host.queue.front().due - Clock::now()));
    }
    const auto left = std::max<std::int64_t>(wait.count(), 0);
    constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
    return {left / kNanosPerSecond, left % kNanosPerSecond};
  }

  std::array<char, kLargestPacket> memory_{};
  std::vector<Host> hosts_;
  nanoseconds delay_;
  double bytes_per_second_;
};

}  // namespace

int main(int argc, char** argv) {
  constexpr double kMbitBytes = 125'000.0;
  if (argc != 4) {
    std::fputs("usage: octet_bench_link HOSTS DELAY_US MBIT_PER_SECOND\n", stderr);
    return 2;
  }
  try {
    const long hosts = std::strtol(argv[1], nullptr, 10);
    const long delay = std::strtol(argv[2], nullptr, 10);
    const double rate = std::strtod(argv[3], nullptr);
    if (hosts < 1 || hosts > 200 || delay < 0 || !(rate > 0.0)) {
      std::fputs("octet_bench_link: expected 1 to 200 hosts, a delay and a rate above 0\n", stderr);
      return 2;
    }
    Network network(static_cast<std::size_t>(hosts), std::chrono::microseconds(delay),
                    rate * kMbitBytes);
    // Wakes up when a packet is due, not up to 50 microseconds later.
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    std::puts("ready");
    std::fflush(stdout);
    network.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octet_bench_link: %s\n", error.what());
    return 1;
  }
}
