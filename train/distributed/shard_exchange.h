#pragma once

#include <octet/core/tensor.h>
#include <octet/train/distributed/gradient_codes.h>
#include <octet/train/distributed/gradient_format.h>
#include <octet/train/distributed/shard_tree.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace octet::detail {

/// Copies on all threads.
void copy_floats(std::span<const float> from, float* to);
/// to[i] += from[i], on all threads.
void add_floats(std::span<const float> from, float* to);

/// What a shard comes to beside its gradients: a few numbers.
struct ShardNumbers {
  /// Numbers that are added over all shards.
  std::vector<double> sums;
  /// Numbers of which the smallest over all shards is kept.
  std::vector<double> least;

  void add(const ShardNumbers& more);
};

/// Adds the gradients and numbers of shards along a ShardTree, with the ranks of a group:
///
///     exchange.begin(rows);
///     while (auto shard = exchange.next_shard()) {
///       ... exchange.take(parameter, gradient); ...
///       exchange.end_shard(numbers);
///     }
///     exchange.finish();
///
/// Gradients are one vector, cut into pieces. A piece goes up the tree, and down to all ranks, for
/// itself: as soon as the last shard of a rank has its gradients, while the backward pass of this
/// shard goes on in front of them. Pieces begin with the last parameters, which are ready first.
/// Coded gradients travel as code_gradients() makes them.
class ShardExchange {
 public:
  /// `sizes` are those of the parameters; `numbers` has the sizes of a shard's. `errors` must
  /// outlive the exchange; those of another size begin as zeros.
  ShardExchange(const ShardTree& tree, ProcessGroup& group, std::vector<std::size_t> sizes,
                ShardNumbers numbers, GradientFormat format, GradientErrors& errors);
  ~ShardExchange();
  ShardExchange(const ShardExchange&) = delete;
  ShardExchange& operator=(const ShardExchange&) = delete;

  /// All ranks begin a batch together.
  void begin(std::size_t rows);
  /// The shard of this rank whose gradients come next; none after the last.
  std::optional<std::size_t> next_shard();
  /// Adds the gradient of a parameter in that shard, which is not defined where it is 0. Whoever
  /// takes the same parameter again in the same shard changes nothing.
  void take(std::size_t parameter, const Tensor& gradient);
  /// Every parameter has been taken.
  void end_shard(ShardNumbers numbers);
  /// Waits for the others.
  void finish();

  /// The sum of the gradients, on all ranks. May be exchanged for a vector of the same size.
  std::vector<float>& gradients() { return total(); }
  /// The sums of the numbers, on rank 0.
  const ShardNumbers& numbers() const { return numbers_[plan_.result]; }

 private:
  /// Elements of all gradients that travel together.
  struct Piece {
    IndexRange elements;
    IndexRange blocks;
    /// Parameters that lie in it, and those of them that the last shard has not added yet.
    std::size_t parameters = 0;
    std::size_t missing = 0;
    /// What is done with it next, an index of the plan.
    std::size_t next = 0;
    std::unique_ptr<Request> receive;
    /// Sends and the broadcast.
    std::vector<std::unique_ptr<Request>> sent;
    /// Messages of quantized gradients: received, sent, and broadcast. `outgoing` is reused.
    std::vector<std::byte> incoming;
    std::vector<std::vector<std::byte>> outgoing;
    std::size_t sends = 0;
    std::vector<std::byte> whole;
  };
  /// Memory that requests may still read or write where an exception ends a batch.
  struct Memory {
    std::vector<std::vector<float>> slots;
    std::vector<float> received;
    std::vector<float> total;
    std::vector<Piece> pieces;
  };

  std::vector<float>& total();
  static std::span<float> in(std::vector<float>& all, const Piece& piece);
  std::span<float> errors_of(std::size_t shard, const Piece& piece);
  bool holds(const Piece& piece, std::size_t parameter) const;
  int stream_of(const Piece& piece) const;
  void make_pieces();
  /// What is not a leaf and does not wait.
  void run(const ShardOp& op, Piece& piece);
  std::span<const std::byte> message_of(const ShardOp& op, Piece& piece);
  std::unique_ptr<Request> receive(Piece& piece);
  void take_received(const ShardOp& op, Piece& piece);
  std::unique_ptr<Request> broadcast(Piece& piece);
  /// Does the next thing with a piece. Returns false where it would have to wait, and `wait` does
  /// not say so.
  bool advance(Piece& piece, bool wait);
  void advance_all(bool wait);
  void start_broadcasts();
  void add_numbers();

  ShardPlan plan_;
  ShardTree tree_;
  ProcessGroup* group_;
  std::vector<std::size_t> sizes_;
  /// Where each parameter begins in the gradients.
  std::vector<std::size_t> begins_;
  GradientBlocks blocks_;
  GradientFormat format_;
  GradientErrors* errors_;
  std::unique_ptr<Memory> memory_;
  /// In slots.
  std::vector<ShardNumbers> numbers_;
  ShardNumbers zeros_;
  std::vector<ShardNumbers> of_shards_;

  /// The index in the plan of the shard that is being added, and of what follows the last one.
  std::size_t current_ = 0;
  std::size_t tail_ = 0;
  std::vector<bool> taken_;
  /// Pieces that rank 0 has begun to broadcast.
  std::size_t broadcast_ = 0;
  bool under_way_ = false;
};

}  // namespace octet::detail
