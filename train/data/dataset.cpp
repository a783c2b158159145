#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/fingerprint.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

/// Throws InvalidArgument unless there is a row of at least one value for each example.
void check_rows_of(std::string_view set, std::string_view what, std::size_t number,
                   const Tensor& tensor, std::size_t examples) {
  if (tensor.defined() && tensor.rank() > 0 && tensor.dim(0) == static_cast<Index>(examples) &&
      tensor.shape().without_batch().size() > 0) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "Dataset {}: expected {} {} of shape [{}, ...], one row per example as the first have, found "
      "{}",
      set, what, number, examples, tensor.defined() ? tensor.shape().to_string() : "no tensor"));
}

}  // namespace

std::vector<Tensor> Batch::inputs() const {
  std::vector<Tensor> all = {features};
  all.insert(all.end(), more_features.begin(), more_features.end());
  return all;
}

std::vector<Targets> Batch::all_targets() const {
  std::vector<Targets> all = {targets};
  all.insert(all.end(), more_targets.begin(), more_targets.end());
  return all;
}

Dataset::Dataset(std::string name, Shape example_shape, std::size_t size, std::size_t values)
    : name_(std::move(name)), example_shape_(std::move(example_shape)), size_(size) {
  if (example_shape_.size() == 0) {
    throw InvalidArgument(fmt::format("Dataset {}: examples of shape {} hold no values", name_,
                                      example_shape_.to_string()));
  }
  example_size_ = static_cast<std::size_t>(example_shape_.size());
  // Divided, not multiplied: the count times a huge shape could overflow.
  if (values % example_size_ != 0 || values / example_size_ != size_) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected {} examples (one a label) of shape {}, {} values each, found {} "
        "values in all",
        name_, size_, example_shape_.to_string(), example_size_, values));
  }
}

void Dataset::set_labels(std::vector<std::int32_t> labels, int classes) {
  labels_ = std::move(labels);
  classes_ = classes;
  if (classes_ < 1) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected at least 1 class, found {}", name_, classes_));
  }
  check_labels(labels_);
}

void Dataset::check_labels(std::span<const std::int32_t> labels) const {
  const auto wrong = std::ranges::find_if(
      labels, [&](std::int32_t label) { return label < 0 || label >= classes_; });
  if (wrong != labels.end()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: label {} of example {} is outside [0, {}); are labels counted "
                    "from 1, or is the class count too small?",
                    name_, *wrong, wrong - labels.begin(), classes_));
  }
}

void Dataset::set_targets(const Tensor& targets) {
  if (!targets.defined() || targets.rank() < 1 || targets.dim(0) != static_cast<Index>(size_) ||
      targets.shape().without_batch().size() == 0) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected targets of shape [{}, ...], one row per example, found {}", name_,
        size_, targets.defined() ? targets.shape().to_string() : "no tensor"));
  }
  labels_.clear();
  classes_ = 0;
  class_names_.clear();
  target_shape_ = targets.shape().without_batch();
  targets_.assign(targets.span().begin(), targets.span().end());
}

Dataset Dataset::from_bytes(std::string name, Shape example_shape, std::vector<std::uint8_t> pixels,
                            std::vector<std::int32_t> labels, int classes) {
  Dataset set(std::move(name), std::move(example_shape), labels.size(), pixels.size());
  set.set_labels(std::move(labels), classes);
  set.bytes_ = std::move(pixels);
  return set;
}

Dataset Dataset::from_floats(std::string name, Shape example_shape, std::vector<float> values,
                             std::vector<std::int32_t> labels, int classes) {
  Dataset set(std::move(name), std::move(example_shape), labels.size(), values.size());
  set.set_labels(std::move(labels), classes);
  set.floats_ = std::move(values);
  return set;
}

Dataset Dataset::from_tensors(std::string name, const Tensor& features, const Tensor& targets) {
  if (!features.defined() || features.rank() < 1) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected features of shape [n, ...], one row per example, found "
                    "{}",
                    name, features.defined() ? "a scalar" : "no tensor"));
  }
  Dataset set(std::move(name), features.shape().without_batch(),
              static_cast<std::size_t>(features.dim(0)), features.span().size());
  set.set_targets(targets);
  set.floats_.assign(features.span().begin(), features.span().end());
  return set;
}

Dataset Dataset::from_tensors(std::string name, const std::vector<Tensor>& features,
                              const std::vector<Targets>& targets) {
  if (features.empty() || targets.empty()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected features for each input and targets for each output of a "
                    "model, found {} and {}",
                    name, features.size(), targets.size()));
  }
  const bool has_rows = features[0].defined() && features[0].rank() > 0;
  const Tensor rows = targets[0].are_labels() && has_rows ? Tensor::zeros({features[0].dim(0), 1})
                      : targets[0].are_labels()           ? Tensor()
                                                          : targets[0].values();
  Dataset set = from_tensors(std::move(name), features[0], rows);
  for (std::size_t i = 1; i < features.size(); ++i) {
    check_rows_of(set.name_, "features", i + 1, features[i], set.size_);
    set.more_features_.push_back(features[i].clone());
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].are_labels()) {
      set.check_own_labels(i + 1, targets[i].labels());
    } else if (i > 0) {
      check_rows_of(set.name_, "targets", i + 1, targets[i].values(), set.size_);
    }
    if (i > 0) {
      set.more_targets_.push_back(targets[i].are_labels() ? targets[i]
                                                          : Targets(targets[i].values().clone()));
    }
  }
  if (targets[0].are_labels() && !set.empty()) {
    const Labels& labels = targets[0].labels();
    set.target_shape_.reset();
    set.targets_.clear();
    set.set_labels(labels, 1 + *std::ranges::max_element(labels));
  }
  return set;
}

void Dataset::check_own_labels(std::size_t number, const Labels& labels) const {
  if (labels.size() != size_) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected targets {} to be {} labels, one per example, found {}",
                    name_, number, size_, labels.size()));
  }
  const auto wrong = std::ranges::find_if(labels, [](std::int32_t label) { return label < 0; });
  if (wrong == labels.end()) return;
  throw InvalidArgument(
      fmt::format("Dataset {}: expected targets {} to be labels of 0 or more, found {} in row {}",
                  name_, number, *wrong, wrong - labels.begin()));
}

Dataset Dataset::for_other_targets() const {
  if (is_read()) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected a set in memory, found one that is read: its reader gives targets",
        name_));
  }
  Dataset result = *this;
  result.more_targets_.clear();
  return result;
}

Dataset Dataset::with_targets(const Tensor& targets) const {
  Dataset result = for_other_targets();
  result.set_targets(targets);
  return result;
}

Dataset Dataset::with_labels(Labels labels, int classes) const {
  if (labels.size() != size_) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected a label for each of {} examples, found {}", name_, size_,
                    labels.size()));
  }
  Dataset result = for_other_targets();
  result.targets_.clear();
  result.target_shape_.reset();
  result.class_names_.clear();
  result.set_labels(std::move(labels), classes);
  return result;
}

Dataset Dataset::with_features(Dataset features) const {
  const bool fits = features.size() == size() && inputs() == 1 && features.inputs() == 1;
  if (!fits || is_read() != features.is_read()) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected features of one input for its {} examples, {}, found {} in {}", name_,
        size(), is_read() ? "from a reader" : "in memory", features.size(), features.name()));
  }
  // All but the features, which are the most by far.
  features.name_ = name_;
  features.classes_ = classes_;
  features.class_names_ = class_names_;
  // Features of another shape are no longer what the description says.
  if (features.example_shape_ == example_shape_) features.description_ = description_;
  features.labels_ = labels_;
  features.target_shape_ = target_shape_;
  features.targets_ = targets_;
  features.more_targets_ = more_targets_;
  features.sample_weights_ = sample_weights_;
  features.example_names_ = example_names_;
  features.named_rows_ = named_rows_;
  return features;
}

Dataset Dataset::with_class_names(std::vector<std::string> names) const& {
  return Dataset(*this).with_class_names(std::move(names));
}

Dataset Dataset::with_class_names(std::vector<std::string> names) && {
  if (names.size() != static_cast<std::size_t>(classes_)) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected a name for each of the {} classes, found {}", name_,
                    classes_, names.size()));
  }
  class_names_ = std::move(names);
  return std::move(*this);
}

Dataset Dataset::with_sample_weights(std::vector<float> weights) const& {
  return Dataset(*this).with_sample_weights(std::move(weights));
}

Dataset Dataset::with_sample_weights(std::vector<float> weights) && {
  if (is_read() || weights.size() != size_) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected a set in memory, and a weight for each of its {} "
                    "examples, found {}{}",
                    name_, size_, weights.size(), is_read() ? " and a reader" : ""));
  }
  const auto wrong = std::ranges::find_if_not(
      weights, [](float weight) { return weight >= 0.0F && std::isfinite(weight); });
  if (wrong != weights.end()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected finite weights of 0 or more, found {} of example {}",
                    name_, *wrong, wrong - weights.begin()));
  }
  if (std::ranges::none_of(weights, [](float weight) { return weight > 0.0F; })) {
    throw InvalidArgument(fmt::format("Dataset {}: expected a weight above 0, found none", name_));
  }
  sample_weights_ = std::move(weights);
  return std::move(*this);
}

Dataset Dataset::with_example_names(std::function<std::string(std::size_t row)> names) && {
  example_names_ = std::move(names);
  named_rows_.reset();
  return std::move(*this);
}

std::string Dataset::example_name(std::size_t row) const {
  check_range(row, row + 1);
  if (!example_names_) return fmt::format("example {}", row);
  return example_names_(named_rows_ ? (*named_rows_)[row] : row);
}

Dataset Dataset::with_description(std::shared_ptr<const DataDescription> description) && {
  description_ = std::move(description);
  return std::move(*this);
}

Dataset Dataset::with_front_end(std::string description) && {
  front_end_ = std::move(description);
  return std::move(*this);
}

Dataset Dataset::with_signals(Dataset signals) && {
  if (signals.size() != size()) {
    throw InvalidArgument(fmt::format("Dataset {}: expected signals of its {} examples, found {}",
                                      name_, size(), signals.size()));
  }
  signals_ = std::make_shared<const Dataset>(std::move(signals));
  return std::move(*this);
}

struct Dataset::SharedReader {
  explicit SharedReader(std::shared_ptr<DatasetReader> of) : reader(std::move(of)) {}

  std::shared_ptr<DatasetReader> reader;
  std::mutex mutex;
};

Dataset Dataset::from_reader(std::string name, std::shared_ptr<DatasetReader> reader) {
  if (!reader)
    throw InvalidArgument(fmt::format("Dataset {}: expected a reader, found null", name));
  const Shape example = reader->example_shape();
  const auto size = static_cast<std::size_t>(example.size());
  if (size == 0 || reader->size() > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected at most 2^32 - 1 examples of at least one value, found "
                    "{} of shape {}",
                    name, reader->size(), example.to_string()));
  }
  Dataset set;
  set.name_ = std::move(name);
  set.example_shape_ = example;
  set.example_size_ = size;
  set.size_ = reader->size();
  set.classes_ = reader->classes();
  if (set.classes_ < 0) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected at least 1 class, or 0 for tensors, found {}", set.name_,
                    set.classes_));
  }
  if (set.classes_ == 0) set.target_shape_ = reader->target_shape();
  if (const std::span<const std::int32_t> labels = reader->labels(); !labels.empty()) {
    if (labels.size() != set.size_ || set.classes_ == 0) {
      throw InvalidArgument(fmt::format(
          "Dataset {}: expected a reader's labels of {} examples of {} classes, found {}",
          set.name_, set.size_, set.classes_, labels.size()));
    }
    set.set_labels({labels.begin(), labels.end()}, set.classes_);
  }
  set.reader_ = std::make_shared<SharedReader>(std::move(reader));
  return set;
}

std::string Dataset::identity() const {
  if (!is_read()) return "";
  std::string identity;
  {
    const std::lock_guard lock(reader_->mutex);
    identity = reader_->reader->identity();
  }
  if (identity.empty() || !reader_rows_) return identity;
  const std::span rows = std::as_bytes(std::span(*reader_rows_));
  return fmt::format("{} rows {:016x}", identity,
                     xxh64({reinterpret_cast<const std::uint8_t*>(rows.data()), rows.size()}));
}

Batch Dataset::read(std::span<const std::uint32_t> rows) const {
  std::vector<std::uint32_t> of_reader(rows.begin(), rows.end());
  if (reader_rows_) {
    for (std::uint32_t& row : of_reader) row = (*reader_rows_)[row];
  }
  Batch batch;
  {
    const std::lock_guard lock(reader_->mutex);
    batch = reader_->reader->read(of_reader);
  }
  const auto count = static_cast<Index>(rows.size());
  const Shape expected = example_shape_.with_batch(count);
  const bool features_fit = batch.features.defined() && batch.features.shape() == expected;
  const bool targets_fit =
      batch.more_features.empty() && batch.more_targets.empty() &&
      batch.targets.are_labels() == has_labels() && batch.targets.size() == rows.size() &&
      (has_labels() || batch.targets.values().shape() == target_shape_->with_batch(count));
  if (!features_fit || !targets_fit) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected the reader to return features {} and {} targets of its own kind and "
        "shape, found features {} and {} {}",
        name_, expected.to_string(), count,
        batch.features.defined() ? batch.features.shape().to_string() : "undefined",
        batch.targets.size(), batch.targets.are_labels() ? "labels" : "targets that are tensors"));
  }
  if (has_labels()) check_labels(batch.targets.labels());
  if (!batch.weights.empty()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected the reader to return no weights, found {}: examples that "
                    "are read weigh 1 each",
                    name_, batch.weights.size()));
  }
  return batch;
}

}  // namespace octet
