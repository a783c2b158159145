#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/trained_split.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace octet {
namespace {

/// Tells examples that are divided otherwise apart, or are others.
std::string divided_examples(const Dataset& data, const Groups& groups) {
  std::string examples = unweighted_fingerprint(data);
  if (groups.empty()) return examples;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(groups.data());
  return fmt::format("{}{:016x}", examples, xxh64({bytes, groups.size() * sizeof(groups[0])}));
}

/// The division that the options ask for: their own, or that of a training of the same examples.
/// None: TrainedSplit::share is 0.
TrainedSplit split_of(const Dataset& data, const Groups& groups, const DataOptions& options) {
  const TrainedSplit& trained = options.trained_split;
  if (options.split == 0 && trained.share == 0) return {};
  TrainedSplit split{options.split, options.split_seed, divided_examples(data, groups)};
  if (split.examples != trained.examples) return options.split == 0 ? TrainedSplit{} : split;
  const std::vector<std::string_view> given = given_options(options);
  const auto is_other = [&](std::string_view name, bool differs) {
    return differs && std::ranges::find(given, name) != given.end();
  };
  if (is_other("split", split.share != trained.share) ||
      is_other("split-seed", split.seed != trained.seed)) {
    throw InvalidArgument(fmt::format(
        "load_data: --split: expected {} with --split-seed {}, by which the model's training "
        "divided the same examples, found {} with {}; another division would score examples that "
        "it learned. Leave both out to take them from the model",
        trained.share, trained.seed, split.share, split.seed));
  }
  return trained;
}

/// The rows of examples that share their class with others; those of others are added to `alone`.
std::vector<std::uint32_t> rows_in_company(const Dataset& data, std::vector<std::uint32_t>& alone) {
  std::vector<std::uint32_t> rows;
  if (!data.has_labels()) return rows;
  std::vector<std::size_t> counts(static_cast<std::size_t>(data.classes()));
  for (const std::int32_t label : data.labels()) ++counts[static_cast<std::size_t>(label)];
  for (std::uint32_t row = 0; row < data.size(); ++row) {
    const bool is_alone = counts[static_cast<std::size_t>(data.labels()[row])] == 1;
    (is_alone ? alone : rows).push_back(row);
  }
  return rows;
}

std::string name_of_class(const Dataset& data, std::uint32_t row) {
  const auto label = static_cast<std::size_t>(data.labels()[row]);
  return data.class_names().empty() ? std::to_string(label) : printable(data.class_names()[label]);
}

}  // namespace

std::optional<Division> divide(const Dataset& data, const Groups& groups,
                               const DataOptions& options) {
  const TrainedSplit split = split_of(data, groups, options);
  if (split.share == 0) return std::nullopt;
  const bool is_trained = split == options.trained_split;
  std::vector<std::uint32_t> alone;
  const std::vector<std::uint32_t> rows = rows_in_company(data, alone);
  try {
    // Examples that a training left out are left out whatever the options say now.
    if (alone.empty() || rows.empty() || (alone.size() > options.skip_bad && !is_trained)) {
      Division all{split, split_data(data, split.share, groups, split.seed)};
      all.parts.is_trained_split = is_trained;
      return all;
    }
    Groups kept;
    for (const std::uint32_t row : rows) {
      if (!groups.empty()) kept.push_back(groups[row]);
    }
    Division some{split, split_data(data.subset(rows), split.share, kept, split.seed)};
    some.parts.is_trained_split = is_trained;
    for (const std::uint32_t row : alone) {
      some.parts.skipped.push_back(
          fmt::format("{}: expected two examples of class {}, one for each part, found this one",
                      data.example_name(row), name_of_class(data, row)));
    }
    return some;
  } catch (const InvalidArgument& error) {
    std::string cure = numbers_hint(data);
    if (cure.empty() && !alone.empty()) {
      cure = fmt::format("; --skip-bad {} leaves out classes of one example, such as {}",
                         options.skip_bad + alone.size(), data.example_name(alone[0]));
    }
    throw InvalidArgument(error.what() + cure);
  }
}

}  // namespace octet
