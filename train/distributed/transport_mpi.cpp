// The ranks of MPI.

#include <fmt/core.h>
#include <mpi.h>
#include <octet/core/error.h>
#include <octet/train/distributed/distributed.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

namespace octet::detail {
namespace {

/// Lengths of MPI are ints.
constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw IoError(fmt::format("{}: {}", function, text.data()));
}

/// What is not waited for stays with MPI: an exception ends all ranks.
class MpiRequest : public Request {
 public:
  explicit MpiRequest(MPI_Request request) : request_(request) {}
  bool done() override {
    int flag = 0;
    check(MPI_Test(&request_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  }
  void wait() override { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

 private:
  MPI_Request request_;
};

/// The length of a message that is sent in one piece. Throws InvalidArgument for one that is too
/// long.
int length_of(std::span<const std::byte> bytes) {
  if (bytes.size() <= kMostBytes) return static_cast<int>(bytes.size());
  throw InvalidArgument(fmt::format(
      "ProcessGroup: expected {} bytes at most in a message, found {}", kMostBytes, bytes.size()));
}

/// Behind the tag of send() and receive().
int tag_of(int stream) { return stream + 1; }

class MpiTransport : public Transport {
 public:
  MpiTransport(int argc, char** argv) {
    int provided = 0;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_FUNNELED) {
      throw InvalidArgument(
          "Distributed: expected an MPI for programs with threads (MPI_THREAD_FUNNELED), found one "
          "that was built without");
    }
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    host_ = name.data();
    share_failure();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host() const override { return host_; }
  bool is_first_to_fail() override { return std::atomic_ref(*failed_).exchange(1) == 0; }
  void abort(int exit_code) override {
    if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }
  void finish() override {
    MPI_Win_free(&window_);
    MPI_Finalize();
  }

 protected:
  void do_send(std::span<const std::byte> bytes, int to) override {
    in_pieces(bytes, [to](std::span<const std::byte> piece) {
      check(MPI_Send(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD),
            "MPI_Send");
    });
  }
  void do_receive(std::span<std::byte> bytes, int from) override {
    in_pieces(bytes, [from](std::span<std::byte> piece) {
      check(MPI_Recv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
    });
  }
  void do_broadcast(std::span<std::byte> bytes) override {
    in_pieces(bytes, [](std::span<std::byte> piece) {
      check(MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, MPI_COMM_WORLD),
            "MPI_Bcast");
    });
  }
  std::unique_ptr<Request> do_start_send(std::span<const std::byte> bytes, int to,
                                         int stream) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(bytes.data(), length_of(bytes), MPI_BYTE, to, tag_of(stream), MPI_COMM_WORLD,
                    &request),
          "MPI_Isend");
    return std::make_unique<MpiRequest>(request);
  }
  std::unique_ptr<Request> do_start_receive(std::span<std::byte> bytes, int from,
                                            int stream) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(bytes.data(), length_of(bytes), MPI_BYTE, from, tag_of(stream), MPI_COMM_WORLD,
                    &request),
          "MPI_Irecv");
    return std::make_unique<MpiRequest>(request);
  }
  std::unique_ptr<Request> do_start_broadcast(std::span<std::byte> bytes) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(bytes.data(), length_of(bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request),
          "MPI_Ibcast");
    return std::make_unique<MpiRequest>(request);
  }

 private:
  template <class Byte, class Call>
  static void in_pieces(std::span<Byte> bytes, const Call& call) {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kMostBytes))) {
      call(bytes.first(std::min(bytes.size(), kMostBytes)));
    }
  }

  /// Makes `failed_`, one for the ranks of a host: messages would not reach a rank that computes.
  void share_failure() {
    MPI_Comm of_host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &of_host),
          "MPI_Comm_split_type");
    int rank = 0;
    check(MPI_Comm_rank(of_host, &rank), "MPI_Comm_rank");
    check(MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, of_host,
                                  static_cast<void*>(&failed_), &window_),
          "MPI_Win_allocate_shared");
    MPI_Aint bytes = 0;
    int unit = 0;
    check(MPI_Win_shared_query(window_, 0, &bytes, &unit, static_cast<void*>(&failed_)),
          "MPI_Win_shared_query");
    if (rank == 0) std::atomic_ref(*failed_).store(0);
    check(MPI_Barrier(of_host), "MPI_Barrier");
    MPI_Comm_free(&of_host);
  }

  MPI_Win window_ = MPI_WIN_NULL;
  int* failed_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  std::string host_;
};

}  // namespace

std::unique_ptr<Transport> make_mpi_transport(int argc, char** argv) {
  return std::make_unique<MpiTransport>(argc, argv);
}

}  // namespace octet::detail
