#pragma once

#include <octet/train/distributed/process_group.h>

#include <memory>
#include <string>

namespace octet {

namespace detail {

/// How the ranks of a Distributed reach each other.
class Transport : public ProcessGroup {
 public:
  /// True for the first of the ranks on this host that asks, and never again.
  virtual bool is_first_to_fail() = 0;
  /// Ends all ranks.
  virtual void abort(int exit_code) = 0;
  /// Waits for all ranks to come here, and ends what the constructor has started.
  virtual void finish() = 0;
};

/// Starts MPI. Throws InvalidArgument where Octet was built without it.
std::unique_ptr<Transport> make_mpi_transport(int argc, char** argv);

}  // namespace detail

/// The ranks that `mpirun -np N program` has started, by MPI, in a build with -DOCTET_MPI=ON; else,
/// and without mpirun, one process.
///
///     int main(int argc, char** argv) {
///       Distributed group(argc, argv);
///       try {
///         Trainer trainer(model, Adam(1e-3F), {.shards = 8, .group = &group});
///         ...
///       } catch (const std::exception& error) {
///         group.fail(error.what());
///       }
///     }
///
/// One object in a process, made first in main(). MPI is called by the thread that made it alone.
class Distributed : public ProcessGroup {
 public:
  /// MPI is started where a launcher (mpirun, srun) says by its environment that there are several
  /// processes. Throws InvalidArgument where there are and the program was built without MPI: each
  /// would train by itself, and all write the same files.
  Distributed(int argc, char** argv);
  /// Waits for the other ranks, unless an exception leads here: then mpirun ends them.
  ~Distributed() override;

  int rank() const override;
  int size() const override;
  std::string host() const override;

  /// Ends all ranks: prints one line on stderr, which names rank, host and place() where there are
  /// several, and exits with `exit_code`. What fails on several is told by one of them alone: by
  /// the first on each host that fails, and the hosts wait for each other for 2 to 17 s, by rank.
  [[noreturn]] void fail(const std::string& message, int exit_code = 1);

 protected:
  void do_send(std::span<const std::byte> bytes, int to) override;
  void do_receive(std::span<std::byte> bytes, int from) override;
  void do_broadcast(std::span<std::byte> bytes) override;
  std::unique_ptr<Request> do_start_send(std::span<const std::byte> bytes, int to,
                                         int stream) override;
  std::unique_ptr<Request> do_start_receive(std::span<std::byte> bytes, int from,
                                            int stream) override;
  std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> bytes) override;

 private:
  std::unique_ptr<detail::Transport> transport_;
};

}  // namespace octet
