#include <octet/core/error.h>
#include <octet/train/run/file_size_signal.h>
#include <octet/train/run/stop_signals.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace octet {
namespace {

constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};
/// Errors of the write that causes them, too.
constexpr std::array kIgnored = {SIGXFSZ, SIGPIPE};

std::atomic<bool> alive{false};
std::atomic<int> first_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not lock");

/// What was installed before.
std::array<struct sigaction, kStopping.size()> stopping_before;
std::array<struct sigaction, kIgnored.size()> ignored_before;

extern "C" void note_signal(int signal) {
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal) || signal == SIGHUP) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void detail::ignore_file_size_signal() { ::signal(SIGXFSZ, SIG_IGN); }

StopSignals::StopSignals() {
  if (alive.exchange(true)) {
    throw InvalidArgument(
        "StopSignals: expected no other object of this class, found one; signals belong to the "
        "process: make one object and pass it on");
  }
  first_signal = 0;
  struct sigaction note {};
  note.sa_handler = note_signal;
  note.sa_flags = SA_RESTART;
  ::sigemptyset(&note.sa_mask);
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    ::sigaction(kStopping[i], nullptr, &stopping_before[i]);
    if (stopping_before[i].sa_handler != SIG_IGN) ::sigaction(kStopping[i], &note, nullptr);
  }
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  for (std::size_t i = 0; i < kIgnored.size(); ++i) {
    ::sigaction(kIgnored[i], &ignore, &ignored_before[i]);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    ::sigaction(kStopping[i], &stopping_before[i], nullptr);
  }
  for (std::size_t i = 0; i < kIgnored.size(); ++i) {
    ::sigaction(kIgnored[i], &ignored_before[i], nullptr);
  }
  alive = false;
}

int StopSignals::signal() const { return first_signal; }

}  // namespace octet
