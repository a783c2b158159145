#pragma once

namespace octet {

/// Lets a program end a run in order. While an object of this class lives, the first SIGINT
/// (Ctrl-C), SIGTERM or SIGHUP is noted instead of ending the process; a second one ends it at
/// once. A second SIGHUP does not: a terminal that closes may send one and its shell another. A
/// signal that the process ignored before, as under nohup, stays ignored. SIGXFSZ and SIGPIPE are
/// ignored: a file past the limit (ulimit -f) is an IoError that names it, and output to a program
/// that has ended (`| head`) fails without ending this one.
///
///     const StopSignals signals;
///     Trainer trainer(model, Adam(), {.should_stop = [&] { return signals.requested(); }});
///
/// The handlers of before come back with the destructor.
class StopSignals {
 public:
  /// Forgets what earlier objects have noted. Throws InvalidArgument where one lives already.
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether the process has been asked to stop.
  bool requested() const { return signal() != 0; }
  /// The signal that asked for it; 0: none. A shell reports it as exit code 128 + signal.
  int signal() const;
};

}  // namespace octet
