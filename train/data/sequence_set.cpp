#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/sequence_set.h>

#include <algorithm>
#include <utility>

namespace octet {

namespace {

constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();

/// The product of the factors, or the most where it does not fit.
std::size_t bytes_of_each(std::initializer_list<std::size_t> factors) {
  if (std::ranges::count(factors, std::size_t{0}) > 0) return 0;
  std::size_t bytes = 1;
  for (const std::size_t factor : factors) {
    if (__builtin_mul_overflow(bytes, factor, &bytes)) return kMost;
  }
  return bytes;
}

}  // namespace

bool fit_data_bytes(std::size_t count, std::initializer_list<std::size_t> factors,
                    const DataOptions& options) {
  const std::size_t each = bytes_of_each(factors);
  // No limit is above a product that does not fit.
  return count == 0 || each == 0 || (each < kMost && count <= options.max_bytes / each);
}

void check_data_bytes(const std::string& of, std::size_t count,
                      std::initializer_list<std::size_t> factors, const DataOptions& options) {
  if (fit_data_bytes(count, factors, options)) return;
  throw InvalidArgument(fmt::format(
      "{}: {} examples of {} bytes each do not fit into the {} bytes that data may take; "
      "make examples smaller or fewer, or allow more by --max-data-bytes of the commands with "
      "--data",
      of, count, bytes_of_each(factors), options.max_bytes));
}

void require_steps(std::size_t values, const std::string& where) {
  if (values == 0) throw FormatError(fmt::format("{}: expected a sequence, found no step", where));
}

std::vector<float> brought_to_length(std::span<const float> values, std::size_t channels,
                                     std::size_t length, SequencePadding padding) {
  const std::size_t steps = values.size() / channels;
  std::vector<float> result;
  result.reserve(length * (channels + 1));
  for (std::size_t step = 0; step < length; ++step) {
    const bool is_padding = step >= steps;
    if (is_padding && padding != SequencePadding::last) {
      result.resize(result.size() + channels);
    } else {
      const auto row = values.subspan(std::min(step, steps - 1) * channels, channels);
      result.insert(result.end(), row.begin(), row.end());
    }
    if (padding == SequencePadding::mask) result.push_back(is_padding ? 0.0F : 1.0F);
  }
  return result;
}

SequenceSet::SequenceSet(std::string of, std::size_t channels, const DataOptions& options,
                         std::vector<std::string> known_classes)
    : of_(std::move(of)),
      channels_(channels),
      options_(options),
      classes_(std::move(known_classes), options.more_test_classes) {}

void SequenceSet::add(std::span<const float> values, std::string_view class_name,
                      const std::string& where) {
  require_steps(values.size(), where);
  const std::size_t steps = values.size() / channels_;
  const std::size_t length = options_.length > 0 ? options_.length : steps;
  check_data_bytes(of_, count_ + 1, {length, features(), sizeof(float)}, options_);
  classes_.add(class_name, where);
  ++count_;
  shortest_ = std::min(shortest_, steps);
  longest_ = std::max(longest_, steps);
  // What has several lengths is refused at the end, with the lengths.
  if (options_.length == 0 && shortest_ < longest_) return;
  const std::vector<float> example = brought_to_length(values, channels_, length, options_.padding);
  values_.insert(values_.end(), example.begin(), example.end());
}

std::size_t SequenceSet::features() const {
  return channels_ + (options_.padding == SequencePadding::mask ? 1 : 0);
}

Dataset SequenceSet::to_dataset(std::string name) && {
  if (count_ == 0) throw FormatError(fmt::format("{}: holds no sequences", of_));
  if (options_.length == 0 && shortest_ < longest_) {
    throw FormatError(
        fmt::format("{}: expected sequences of one length, found {} to {} steps; give --length N, "
                    "to which they "
                    "are cut or padded, with --padding mask so that a network can tell",
                    of_, shortest_, longest_));
  }
  const std::size_t length = options_.length > 0 ? options_.length : longest_;
  const std::vector<std::string> names = classes_.names();
  return Dataset::from_floats(std::move(name),
                              {static_cast<Index>(length), static_cast<Index>(features())},
                              std::move(values_), classes_.labels(), static_cast<int>(names.size()))
      .with_class_names(names);
}

}  // namespace octet
