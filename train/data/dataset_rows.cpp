// Batches, parts and rows of a Dataset.

#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/dataset.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

/// Values that one chunk of a parallel gather copies.
constexpr std::size_t kGrainValues = 1U << 15;

constexpr std::size_t kRowsAhead = 2;

/// Rows row(0) to row(count - 1) of a tensor.
Tensor rows_of(const Tensor& tensor, std::size_t count, FunctionRef<std::size_t(std::size_t)> row) {
  Tensor result(tensor.shape().without_batch().with_batch(static_cast<Index>(count)));
  const std::span<const float> from = tensor.span();
  const auto size = static_cast<std::size_t>(tensor.shape().without_batch().size());
  float* out = result.mutable_data();
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(from.data() + row(i) * size, size, out + i * size);
  }
  return result;
}

/// Targets of `count` examples: row i of the result is row(i) of `targets`.
Targets rows_of(const Targets& targets, std::size_t count,
                FunctionRef<std::size_t(std::size_t)> row) {
  if (!targets.are_labels()) return rows_of(targets.values(), count, row);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = targets.labels()[row(i)];
  return labels;
}

std::size_t grain_rows(std::size_t example_size) {
  return std::max<std::size_t>(1, kGrainValues / example_size);
}

}  // namespace

Batch Dataset::batch(std::span<const std::uint32_t> rows) const {
  check_rows(rows);
  if (is_read()) return read(rows);
  Batch batch{features(rows), targets(rows)};
  gather_more(batch, rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
  return batch;
}

void Dataset::gather_more(Batch& batch, std::size_t count,
                          FunctionRef<std::size_t(std::size_t)> row) const {
  for (const Tensor& each : more_features_) {
    batch.more_features.push_back(rows_of(each, count, row));
  }
  for (const Targets& each : more_targets_) {
    batch.more_targets.push_back(rows_of(each, count, row));
  }
  for (std::size_t i = 0; i < count && !sample_weights_.empty(); ++i) {
    batch.weights.push_back(sample_weights_[row(i)]);
  }
}

Batch Dataset::batch(std::size_t begin, std::size_t end) const {
  check_range(begin, end);
  if (!is_read()) {
    Batch batch{features(begin, end), targets(begin, end)};
    gather_more(batch, end - begin, [&](std::size_t i) { return begin + i; });
    return batch;
  }
  std::vector<std::uint32_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(begin));
  return read(rows);
}

Batch Dataset::signal_batch(std::span<const std::uint32_t> rows) const {
  check_rows(rows);
  if (signals_ == nullptr) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected the signals that features were made of, found none; "
                    "DataOptions::keep_signals keeps them",
                    name_));
  }
  Batch batch{signals_->features(rows), targets(rows)};
  gather_more(batch, rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
  return batch;
}

std::span<const std::int32_t> Dataset::labels() const {
  if (labels_are_read()) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: its labels are read with their examples; ask for targets(begin, end)", name_));
  }
  if (has_labels()) return labels_;
  throw InvalidArgument(
      fmt::format("Dataset {}: expected class labels, found tensors of shape {} as targets; class "
                  "predictions and accuracy are for labels, measure() is for any targets",
                  name_, target_shape_->to_string()));
}

const Shape& Dataset::target_shape() const {
  if (!has_labels()) return *target_shape_;
  throw InvalidArgument(
      fmt::format("Dataset {}: expected tensors as targets, found class labels", name_));
}

void Dataset::check_rows(std::span<const std::uint32_t> rows) const {
  const auto wrong = std::ranges::find_if(rows, [&](std::uint32_t row) { return row >= size(); });
  if (wrong != rows.end()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: row {} is outside a set of {} examples", name_, *wrong, size()));
  }
}

void Dataset::prefetch_row(std::size_t row) const {
  // Shuffled rows are in no cache, and the processor cannot guess the next.
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; !bytes_.empty() && i < example_size_; i += kLine) {
    __builtin_prefetch(bytes_.data() + row * example_size_ + i);
  }
}

Tensor Dataset::gather(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const {
  const Shape shape = example_shape_.with_batch(static_cast<Index>(count));
  const auto copy_to = [&](auto* out, const auto& values) {
    parallel_for(count, thread_share(count, grain_rows(example_size_)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     if (i + kRowsAhead < end) prefetch_row(row(i + kRowsAhead));
                     std::copy_n(values.data() + row(i) * example_size_, example_size_,
                                 out + i * example_size_);
                   }
                 });
  };
  if (bytes_.empty()) {
    Tensor result(shape);
    copy_to(result.mutable_data(), floats_);
    return result;
  }
  const auto bytes = allocate_array<std::uint8_t>(count * example_size_);
  copy_to(bytes.get(), bytes_);
  return detail::TensorAccess::from_bytes(shape, bytes);
}

Tensor Dataset::features(std::span<const std::uint32_t> rows) const {
  if (is_read()) return batch(rows).features;
  check_rows(rows);
  return gather(rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
}

void Dataset::check_range(std::size_t begin, std::size_t end) const {
  if (begin <= end && end <= size()) return;
  throw InvalidArgument(fmt::format("Dataset {}: examples [{}, {}) are outside a set of {}", name_,
                                    begin, end, size()));
}

Tensor Dataset::features(std::size_t begin, std::size_t end) const {
  if (is_read()) return batch(begin, end).features;
  check_range(begin, end);
  return gather(end - begin, [&](std::size_t i) { return begin + i; });
}

Targets Dataset::gather_targets(std::size_t count,
                                FunctionRef<std::size_t(std::size_t)> row) const {
  if (has_labels()) {
    Labels labels(count);
    for (std::size_t i = 0; i < count; ++i) labels[i] = labels_[row(i)];
    return labels;
  }
  Tensor values(target_shape_->with_batch(static_cast<Index>(count)));
  const auto size = static_cast<std::size_t>(target_shape_->size());
  float* out = values.mutable_data();
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(targets_.data() + row(i) * size, size, out + i * size);
  }
  return values;
}

Targets Dataset::targets(std::span<const std::uint32_t> rows) const {
  if (labels_are_read()) return batch(rows).targets;
  check_rows(rows);
  return gather_targets(rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
}

Targets Dataset::targets(std::size_t begin, std::size_t end) const {
  if (labels_are_read()) return batch(begin, end).targets;
  check_range(begin, end);
  return gather_targets(end - begin, [&](std::size_t i) { return begin + i; });
}

Dataset Dataset::head(std::size_t count) const { return slice(0, std::min(count, size())); }

Dataset Dataset::slice(std::size_t begin, std::size_t end) const {
  check_range(begin, end);
  return select(end - begin, [&](std::size_t i) { return begin + i; });
}

Dataset Dataset::subset(std::span<const std::uint32_t> rows) const {
  check_rows(rows);
  return select(rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
}

void Dataset::take_names(const Dataset& from, std::size_t count,
                         FunctionRef<std::size_t(std::size_t)> row) {
  if (!from.example_names_) return;
  std::vector<std::uint32_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = from.named_rows_ ? (*from.named_rows_)[row(i)] : static_cast<std::uint32_t>(row(i));
  }
  example_names_ = from.example_names_;
  named_rows_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(rows));
}

Dataset Dataset::select_read(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const {
  std::vector<std::uint32_t> rows(count);
  Labels labels(labels_.empty() ? 0 : count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = reader_rows_ ? (*reader_rows_)[row(i)] : static_cast<std::uint32_t>(row(i));
    if (!labels.empty()) labels[i] = labels_[row(i)];
  }
  Dataset result = *this;
  result.size_ = count;
  result.labels_ = std::move(labels);
  result.reader_rows_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(rows));
  result.take_names(*this, count, row);
  return result;
}

Dataset Dataset::select(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const {
  Dataset result = is_read() ? select_read(count, row) : select_kept(count, row);
  if (signals_) result.signals_ = std::make_shared<const Dataset>(signals_->select(count, row));
  return result;
}

Dataset Dataset::select_kept(std::size_t count, FunctionRef<std::size_t(std::size_t)> row) const {
  const auto rows = [&](const auto& values, std::size_t width) {
    std::remove_cvref_t<decltype(values)> result;
    if (values.empty()) return result;
    result.reserve(count * width);
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(row(i) * width);
      result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
    return result;
  };
  Dataset result;
  result.name_ = name_;
  result.example_shape_ = example_shape_;
  result.example_size_ = example_size_;
  result.size_ = count;
  result.bytes_ = rows(bytes_, example_size_);
  result.floats_ = rows(floats_, example_size_);
  result.classes_ = classes_;
  result.class_names_ = class_names_;
  result.front_end_ = front_end_;
  result.labels_ = rows(labels_, 1);
  result.target_shape_ = target_shape_;
  if (target_shape_) {
    result.targets_ = rows(targets_, static_cast<std::size_t>(target_shape_->size()));
  }
  Batch more;
  gather_more(more, count, row);
  result.more_features_ = std::move(more.more_features);
  result.more_targets_ = std::move(more.more_targets);
  result.sample_weights_ = std::move(more.weights);
  result.take_names(*this, count, row);
  return result;
}

}  // namespace octet
