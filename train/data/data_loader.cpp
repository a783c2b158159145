#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/data_loader.h>
#include <octet/train/data/read_ahead.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace octet {
namespace {

// Streams of the loader's seed; their numbers are part of what a checkpoint relies on.
constexpr std::uint64_t kOrderStream = 1;
constexpr std::uint64_t kAugmentStream = 2;

Random stream(std::uint64_t seed, std::uint64_t purpose, Index epoch) {
  return Random(seed).fork(purpose).fork(static_cast<std::uint64_t>(epoch));
}

/// How batches are cut.
struct Cut {
  std::size_t batch_size;
  std::size_t shards;
  IndexRange own;
  bool of_signals;

  explicit Cut(const LoaderOptions& options)
      : batch_size(options.batch_size),
        shards(options.shards),
        own(options.own_shards),
        of_signals(options.augments_signals) {}
};

/// Examples [begin, end) of a set in the order `order`, or as it stands where that is null.
Batch batch_of(const Dataset& set, const std::vector<std::uint32_t>* order, bool of_signals,
               std::size_t begin, std::size_t end) {
  if (order == nullptr && !of_signals) return set.batch(begin, end);
  std::vector<std::uint32_t> in_place;
  if (order == nullptr) {
    in_place.resize(end - begin);
    std::iota(in_place.begin(), in_place.end(), static_cast<std::uint32_t>(begin));
  }
  const std::span<const std::uint32_t> rows =
      order == nullptr ? std::span<const std::uint32_t>(in_place)
                       : std::span<const std::uint32_t>(*order).subspan(begin, end - begin);
  return of_signals ? set.signal_batch(rows) : set.batch(rows);
}

/// Own shards of batch `number` of a set, in the order of batch_of().
std::vector<Batch> shards_of(const Dataset& set, const std::vector<std::uint32_t>* order,
                             const Cut& cut, std::size_t number) {
  // No overflow: number * batch_size < set.size().
  const std::size_t first = number * cut.batch_size;
  const std::size_t rows = std::min(cut.batch_size, set.size() - first);
  std::vector<Batch> result;
  for (std::size_t shard = cut.own.begin; shard < cut.own.end; ++shard) {
    const IndexRange part = part_of(rows, cut.shards, shard);
    if (part.empty()) {
      result.emplace_back();
    } else {
      result.push_back(batch_of(set, order, cut.of_signals, first + part.begin, first + part.end));
    }
  }
  return result;
}

void check_augmented(const Batch& batch, std::size_t rows) {
  const Tensor& features = batch.features;
  if (features.defined() && features.rank() > 0 && features.dim(0) == static_cast<Index>(rows) &&
      batch.targets.size() == rows) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "DataLoader: the augmentation must keep the {} rows of its batch, but left features {} and "
      "{} targets",
      rows, features.defined() ? features.shape().to_string() : "no tensor", batch.targets.size()));
}

}  // namespace

DataLoader::~DataLoader() = default;
DataLoader::DataLoader(DataLoader&&) noexcept = default;
DataLoader& DataLoader::operator=(DataLoader&&) noexcept = default;

DataLoader::DataLoader(const Dataset& dataset, LoaderOptions options)
    : dataset_(&dataset), options_(std::move(options)), batches_(0) {
  if (dataset.empty()) {
    throw InvalidArgument(fmt::format("DataLoader: data set '{}' is empty", dataset.name()));
  }
  if (options_.augment && (dataset.inputs() > 1 || dataset.outputs() > 1)) {
    throw InvalidArgument(fmt::format(
        "DataLoader: expected a set of one input and one target to augment, found '{}' with {} and "
        "{}; augment the tensors before they become a data set",
        dataset.name(), dataset.inputs(), dataset.outputs()));
  }
  if (options_.augments_signals && (!options_.augment || dataset.signals() == nullptr)) {
    throw InvalidArgument(
        fmt::format("DataLoader: expected an augmentation of signals and a set that keeps them "
                    "(DataOptions::keep_signals), found {} and {} in '{}'",
                    options_.augment ? "one" : "none",
                    dataset.signals() == nullptr ? "none" : "signals", dataset.name()));
  }
  if (options_.batch_size == 0) {
    throw InvalidArgument("DataLoader: expected a batch size of at least 1, found 0");
  }
  if (options_.read_ahead == 0) {
    throw InvalidArgument("DataLoader: expected read_ahead of at least 1 batch, found 0");
  }
  if (options_.shards == 0 || options_.shards > options_.batch_size) {
    throw InvalidArgument(
        fmt::format("DataLoader: expected from 1 to {0} shards for batches of {0}, found {1}",
                    options_.batch_size, options_.shards));
  }
  if (options_.own_shards.empty()) options_.own_shards = {0, options_.shards};
  if (options_.own_shards.begin > options_.own_shards.end ||
      options_.own_shards.end > options_.shards) {
    throw InvalidArgument(fmt::format("DataLoader: expected own shards in [0, {}), found [{}, {})",
                                      options_.shards, options_.own_shards.begin,
                                      options_.own_shards.end));
  }
  const std::size_t whole = dataset.size() / options_.batch_size;
  const bool remainder = dataset.size() % options_.batch_size != 0;
  batches_ = whole + (remainder && !options_.drop_last ? 1 : 0);
  if (batches_ == 0) {
    throw InvalidArgument(fmt::format(
        "DataLoader: drop_last leaves no batch: {} examples in '{}' do not fill one of {}",
        dataset.size(), dataset.name(), options_.batch_size));
  }
}

std::size_t DataLoader::examples() const {
  if (!options_.drop_last) return dataset_->size();
  return batches_ * options_.batch_size;
}

std::size_t DataLoader::rows_of(std::size_t number) const {
  const std::size_t begin = number * options_.batch_size;
  return begin < examples() ? std::min(options_.batch_size, examples() - begin) : 0;
}

void DataLoader::seek(LoaderPosition position) {
  if (position.epoch < 0) {
    throw InvalidArgument(
        fmt::format("DataLoader: expected an epoch of 0 or more, found {}", position.epoch));
  }
  if (position.batch < 0 || static_cast<std::size_t>(position.batch) > batches_) {
    throw InvalidArgument(fmt::format(
        "DataLoader: batch {} is outside [0, {}]; was the position saved with another batch size "
        "or data set?",
        position.batch, batches_));
  }
  position_ = position;
}

void DataLoader::order_rows() {
  if (ordered_epoch_ == position_.epoch) return;
  order_ = std::make_shared<const std::vector<std::uint32_t>>(
      stream(options_.seed, kOrderStream, position_.epoch).permutation(dataset_->size()));
  ordered_epoch_ = position_.epoch;
}

std::vector<Batch> DataLoader::read_ahead(std::size_t number) {
  if (!ahead_ || ahead_epoch_ != position_.epoch || ahead_->next() != number) {
    ahead_.reset();
    // The loader may be moved, and order_ replaced, while the thread reads.
    const Cut cut(options_);
    const auto read = [set = dataset_, order = order_, cut](std::size_t i) {
      return shards_of(*set, order.get(), cut, i);
    };
    ahead_ = std::make_unique<detail::ReadAhead>(read, number, batches_, options_.read_ahead);
    ahead_epoch_ = position_.epoch;
  }
  try {
    std::vector<Batch> batch = ahead_->take();
    if (number + 1 == batches_) ahead_.reset();
    return batch;
  } catch (...) {
    ahead_.reset();
    throw;
  }
}

void DataLoader::augment(std::vector<Batch>& shards, std::size_t number) const {
  if (!options_.augment) return;
  const Random of_batch = stream(options_.seed, kAugmentStream, position_.epoch).fork(number);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    Batch& shard = shards[i];
    const std::size_t rows = shard.targets.size();
    if (rows == 0) continue;
    options_.augment(
        shard.features, shard.targets,
        options_.shards == 1 ? of_batch : of_batch.fork(options_.own_shards.begin + i));
    check_augmented(shard, rows);
  }
}

bool DataLoader::next(std::vector<Batch>& shards) {
  const auto number = static_cast<std::size_t>(position_.batch);
  if (number >= batches_) return false;
  if (options_.shuffle) order_rows();
  const bool is_read =
      options_.augments_signals ? dataset_->signals()->is_read() : dataset_->is_read();
  std::vector<Batch> result =
      is_read ? read_ahead(number) : shards_of(*dataset_, order_.get(), Cut(options_), number);
  augment(result, number);
  shards = std::move(result);
  ++position_.batch;
  return true;
}

bool DataLoader::next(Batch& batch) {
  if (options_.shards != 1) {
    throw InvalidArgument(fmt::format(
        "DataLoader::next: expected batches in one piece, found {} shards; give next() a "
        "std::vector<Batch>",
        options_.shards));
  }
  std::vector<Batch> whole;
  if (!next(whole)) return false;
  batch = std::move(whole.front());
  return true;
}

}  // namespace octet
