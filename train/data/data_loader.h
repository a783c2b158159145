#pragma once

#include <octet/core/random.h>
#include <octet/core/tensor.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/parts.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace octet {

namespace detail {
class ReadAhead;
}

/// Changes a batch before it is trained on. It may write into `features` or put another tensor with
/// as many rows there, and the same goes for the targets (mixing examples, say). A function that
/// takes labels as std::span<const std::int32_t> is one too. `random` differs for each batch and
/// depends on (seed, epoch, batch) alone. It is for sets of one input and one target.
using Augment = std::function<void(Tensor& features, Targets& targets, Random random)>;

struct LoaderOptions {
  std::size_t batch_size = 128;
  bool shuffle = true;
  std::uint64_t seed = 0;
  /// Leaves out the last batch where it would be smaller than the others.
  bool drop_last = false;
  Augment augment = nullptr;
  /// Gives `augment`, as features, the signals that the features of a set were made of
  /// (Dataset::signals()), of which it makes features: see augment_signals().
  bool augments_signals = false;
  /// How many batches a thread reads ahead of the one that is trained on, where the data set is one
  /// that is read (Dataset::from_reader()). At least 1.
  std::size_t read_ahead = 2;
  /// Into how many shards of consecutive rows every batch is cut, see part_of(): each is read and
  /// augmented by itself, with random numbers of its own. In a batch of fewer rows some are empty.
  std::size_t shards = 1;
  /// The shards that are read; where empty, all.
  IndexRange own_shards{};
};

/// Where a loader stands: the epoch, and the batch of it that next() returns next.
struct LoaderPosition {
  Index epoch = 0;
  Index batch = 0;

  bool operator==(const LoaderPosition&) const = default;
};

/// Cuts a data set into batches, in a new order each epoch. The order is a pure function of
/// (seed, epoch), so a run that resumes at a position sees what an uninterrupted one sees.
///
///     for (Index epoch = 0; epoch < epochs; ++epoch) {
///       loader.start_epoch(epoch);
///       for (Batch batch; loader.next(batch);) step(batch);
///     }
class DataLoader {
 public:
  /// Keeps a reference to `dataset`, which must outlive the loader. Throws InvalidArgument for an
  /// empty set, a batch size of 0, or where drop_last leaves no batch.
  explicit DataLoader(const Dataset& dataset, LoaderOptions options = {});
  explicit DataLoader(const Dataset&& dataset, LoaderOptions options = {}) = delete;
  ~DataLoader();
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;

  const Dataset& dataset() const { return *dataset_; }
  const LoaderOptions& options() const { return options_; }

  /// Batches in an epoch.
  std::size_t batches() const { return batches_; }
  /// Examples in an epoch: the whole set unless drop_last leaves some out.
  std::size_t examples() const;

  /// Moves to the first batch of `epoch`. Throws InvalidArgument below 0.
  void start_epoch(Index epoch) { seek({epoch, 0}); }

  /// Fills `batch` with the epoch's next one; false, with `batch` as it was, after the last. Throws
  /// what the data set's reader throws; called again, it reads that batch anew. Throws
  /// InvalidArgument where batches are cut into shards.
  bool next(Batch& batch);
  /// Fills `shards` with the epoch's next batch, one for each of options().own_shards, in ascending
  /// order; false after the last batch. An empty shard has undefined features.
  bool next(std::vector<Batch>& shards);

  /// The number of examples in batch `number` of an epoch, those of all its shards together.
  std::size_t rows_of(std::size_t number) const;

  LoaderPosition position() const { return position_; }
  /// Goes on from `position`. Throws InvalidArgument for an epoch below 0 or a batch outside
  /// [0, batches()].
  void seek(LoaderPosition position);

 private:
  void order_rows();
  /// Own shards of batch `number` of the epoch, by the thread that reads ahead.
  std::vector<Batch> read_ahead(std::size_t number);
  void augment(std::vector<Batch>& shards, std::size_t number) const;

  const Dataset* dataset_;
  LoaderOptions options_;
  std::size_t batches_;
  LoaderPosition position_;
  /// The order of the rows in `ordered_epoch_`; null when not shuffled. Shared with the thread that
  /// reads ahead.
  std::shared_ptr<const std::vector<std::uint32_t>> order_;
  Index ordered_epoch_ = -1;
  /// The thread that reads the rows of epoch `ahead_epoch_` ahead.
  std::unique_ptr<detail::ReadAhead> ahead_;
  Index ahead_epoch_ = -1;
};

}  // namespace octet
