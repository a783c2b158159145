#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/train/data_loader.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

// Streams of the loader's seed; their numbers are part of what a checkpoint relies on.
constexpr std::uint64_t kOrderStream = 1;
constexpr std::uint64_t kAugmentStream = 2;

Random stream(std::uint64_t seed, std::uint64_t purpose, Index epoch) {
  return Random(seed).fork(purpose).fork(static_cast<std::uint64_t>(epoch));
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

DataLoader::DataLoader(const Dataset& dataset, LoaderOptions options)
    : dataset_(&dataset), options_(std::move(options)), batches_(0) {
  if (dataset.empty()) {
    throw InvalidArgument(fmt::format("DataLoader: data set '{}' is empty", dataset.name()));
  }
  if (options_.batch_size == 0) {
    throw InvalidArgument("DataLoader: expected a batch size of at least 1, found 0");
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
  order_ = stream(options_.seed, kOrderStream, position_.epoch).permutation(dataset_->size());
  ordered_epoch_ = position_.epoch;
}

bool DataLoader::next(Batch& batch) {
  const auto number = static_cast<std::size_t>(position_.batch);
  if (number >= batches_) return false;
  // No overflow: number * batch_size <= examples().
  const std::size_t begin = number * options_.batch_size;
  const std::size_t count = std::min(options_.batch_size, dataset_->size() - begin);
  Batch result;
  if (options_.shuffle) {
    order_rows();
    result = dataset_->batch(std::span<const std::uint32_t>(order_).subspan(begin, count));
  } else {
    result = dataset_->batch(begin, begin + count);
  }
  if (options_.augment) {
    options_.augment(result.features, result.targets,
                     stream(options_.seed, kAugmentStream, position_.epoch).fork(number));
    check_augmented(result, count);
  }
  batch = std::move(result);
  ++position_.batch;
  return true;
}

}  // namespace octet
