#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What continues a sequence that is shorter than DataOptions::length.
enum class SequencePadding {
  zero,  ///< Zeros.
  last   ///< Its last step, again and again.
};

/// What a path leaves open for load_data(). A format takes some of these options: another one that
/// is given is an error.
struct DataOptions {
  /// Where the test examples are, where `path` has none: data of the same format, all of it unless
  /// that has a test part.
  std::filesystem::path test_data{};
  /// The share of the examples that is for training, where data has no test part: see split_data().
  /// 0: none; all examples are then for both.
  double split = 0;
  std::uint64_t split_seed = 0;
  /// The names of the classes in the order of their labels; empty: those that the data have.
  std::vector<std::string> class_names{};
  /// The steps of a sequence: longer ones are cut to their first so many, shorter ones continued.
  /// 0: all have one length.
  std::size_t length = 0;
  SequencePadding padding = SequencePadding::zero;
  /// The most bytes that examples may take.
  std::size_t max_bytes = std::size_t{4} << 30U;
};

/// The names of the options that are given, as command lines have them without the dashes.
std::vector<std::string_view> given_options(const DataOptions& options);

}  // namespace octet
