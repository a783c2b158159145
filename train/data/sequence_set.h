#pragma once

#include <octet/train/data/class_names.h>
#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// Whether `count` examples, the bytes of each of which are the product of `factors`, are no more
/// than DataOptions::max_bytes.
bool fit_data_bytes(std::size_t count, std::initializer_list<std::size_t> factors,
                    const DataOptions& options);

/// Throws InvalidArgument where `count` examples, the bytes of each of which are the product of
/// `factors`, are more than DataOptions::max_bytes; `of` is what holds them.
void check_data_bytes(const std::string& of, std::size_t count,
                      std::initializer_list<std::size_t> factors, const DataOptions& options);

/// Throws FormatError where a sequence has no values; `where` is what it is from.
void require_steps(std::size_t values, const std::string& where);

/// Brings steps x channels values, row-major, to so many steps: cut, or continued at their end as
/// DataOptions::padding says, with its mask as a feature more. There has to be a step.
std::vector<float> brought_to_length(std::span<const float> values, std::size_t channels,
                                     std::size_t length, SequencePadding padding);

/// Examples of one shape, made of sequences that may differ in length: with DataOptions::length,
/// each is cut to its first steps, or continued at its end as DataOptions::padding says.
class SequenceSet {
 public:
  /// `of` is the file or the folder that holds the sequences, for errors.
  SequenceSet(std::string of, std::size_t channels, const DataOptions& options,
              std::vector<std::string> known_classes);

  std::size_t channels() const { return channels_; }

  /// Adds steps x channels values, row-major; `where` is what they are from. Throws FormatError for
  /// none, and as check_data_bytes() and ClassNames::add().
  void add(std::span<const float> values, std::string_view class_name, const std::string& where);

  /// Examples [steps, channels]. Throws FormatError for no sequence, and where no length is given
  /// and they have several.
  Dataset to_dataset(std::string name) &&;

 private:
  /// Counts the features of each step of an example.
  std::size_t features() const;

  std::string of_;
  std::size_t channels_;
  DataOptions options_;
  ClassNames classes_;
  std::size_t count_ = 0;
  std::size_t shortest_ = std::numeric_limits<std::size_t>::max();
  std::size_t longest_ = 0;
  std::vector<float> values_;
};

}  // namespace octet
