#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/dataset.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

/// Values that one chunk of a parallel gather copies.
constexpr std::size_t kGrainValues = 1U << 15;

constexpr std::size_t kRowsAhead = 2;

std::size_t grain_rows(std::size_t example_size) {
  return std::max<std::size_t>(1, kGrainValues / example_size);
}

}  // namespace

Dataset::Dataset(std::string name, Shape example_shape, std::vector<std::int32_t> labels,
                 int classes, std::size_t values)
    : name_(std::move(name)),
      example_shape_(std::move(example_shape)),
      classes_(classes),
      labels_(std::move(labels)) {
  if (example_shape_.size() == 0) {
    throw InvalidArgument(fmt::format("Dataset {}: examples of shape {} hold no values", name_,
                                      example_shape_.to_string()));
  }
  example_size_ = static_cast<std::size_t>(example_shape_.size());
  // Divided, not multiplied: labels times a huge shape could overflow.
  if (values % example_size_ != 0 || values / example_size_ != labels_.size()) {
    throw InvalidArgument(fmt::format(
        "Dataset {}: expected {} examples (one a label) of shape {}, {} values each, found {} "
        "values in all",
        name_, labels_.size(), example_shape_.to_string(), example_size_, values));
  }
  if (classes_ < 1) {
    throw InvalidArgument(
        fmt::format("Dataset {}: expected at least 1 class, found {}", name_, classes_));
  }
  const auto wrong = std::ranges::find_if(
      labels_, [&](std::int32_t label) { return label < 0 || label >= classes_; });
  if (wrong != labels_.end()) {
    throw InvalidArgument(
        fmt::format("Dataset {}: label {} of example {} is outside [0, {}); are labels counted "
                    "from 1, or is the class count too small?",
                    name_, *wrong, wrong - labels_.begin(), classes_));
  }
}

Dataset Dataset::from_bytes(std::string name, Shape example_shape, std::vector<std::uint8_t> pixels,
                            std::vector<std::int32_t> labels, int classes) {
  Dataset set(std::move(name), std::move(example_shape), std::move(labels), classes, pixels.size());
  set.bytes_ = std::move(pixels);
  return set;
}

Dataset Dataset::from_floats(std::string name, Shape example_shape, std::vector<float> values,
                             std::vector<std::int32_t> labels, int classes) {
  Dataset set(std::move(name), std::move(example_shape), std::move(labels), classes, values.size());
  set.floats_ = std::move(values);
  return set;
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
    copy_to(result.data(), floats_);
    return result;
  }
  const auto bytes = allocate_array<std::uint8_t>(count * example_size_);
  copy_to(bytes.get(), bytes_);
  return detail::TensorAccess::from_bytes(shape, bytes);
}

Tensor Dataset::features(std::span<const std::uint32_t> rows) const {
  check_rows(rows);
  return gather(rows.size(), [&](std::size_t i) { return std::size_t{rows[i]}; });
}

Tensor Dataset::features(std::size_t begin, std::size_t end) const {
  if (begin > end || end > size()) {
    throw InvalidArgument(fmt::format("Dataset {}: examples [{}, {}) are outside a set of {}",
                                      name_, begin, end, size()));
  }
  return gather(end - begin, [&](std::size_t i) { return begin + i; });
}

Labels Dataset::labels(std::span<const std::uint32_t> rows) const {
  check_rows(rows);
  Labels result(rows.size());
  std::ranges::transform(rows, result.begin(), [&](std::uint32_t row) { return labels_[row]; });
  return result;
}

Dataset Dataset::head(std::size_t count) const {
  const std::size_t kept = std::min(count, size());
  const auto first = [](const auto& values, std::size_t n) {
    return std::remove_cvref_t<decltype(values)>(
        values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min(n, values.size())));
  };
  Dataset result;
  result.name_ = name_;
  result.example_shape_ = example_shape_;
  result.example_size_ = example_size_;
  result.classes_ = classes_;
  result.bytes_ = first(bytes_, kept * example_size_);
  result.floats_ = first(floats_, kept * example_size_);
  result.labels_ = first(labels_, kept);
  return result;
}

}  // namespace octet
