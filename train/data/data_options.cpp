#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/data_options.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

constexpr std::pair<SequencePadding, std::string_view> kPaddingNames[] = {
    {SequencePadding::zero, "zero"},
    {SequencePadding::last, "last"},
    {SequencePadding::mask, "mask"}};

constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 30U;
constexpr std::pair<std::string_view, OptionRange> kRanges[] = {
    {"image-size", {1, 1U << 14U}}, {"sample-rate", {1, 1U << 30U}}, {"frame", {1, 10000}},
    {"frame-hop", {1, 10000}},      {"mel-channels", {1, 256}},      {"cepstra", {1, 256}},
    {"length", {1, kMostSteps}},    {"window", {1, kMostSteps}},     {"hop", {1, kMostSteps}}};

}  // namespace

std::string_view to_string(SequencePadding padding) {
  const auto found = std::ranges::find(kPaddingNames, padding,
                                       &std::pair<SequencePadding, std::string_view>::first);
  if (found != std::end(kPaddingNames)) return found->second;
  throw InvalidArgument("padding: a SequencePadding outside the enumeration");
}

SequencePadding parse_sequence_padding(std::string_view text) {
  const auto found =
      std::ranges::find(kPaddingNames, text, &std::pair<SequencePadding, std::string_view>::second);
  if (found != std::end(kPaddingNames)) return found->first;
  throw InvalidArgument(
      fmt::format("padding: expected zero, last or mask, found '{}'", printable(text)));
}

OptionRange range_of_option(std::string_view name) {
  const auto found =
      std::ranges::find(kRanges, name, &std::pair<std::string_view, OptionRange>::first);
  if (found != std::end(kRanges)) return found->second;
  throw InvalidArgument(fmt::format("--{}: expected an option of a whole number", printable(name)));
}

std::vector<std::string_view> given_options(const DataOptions& options) {
  const DataOptions plain;
  std::vector<std::string_view> given;
  const auto add = [&](std::string_view name, bool is_given) {
    if (is_given || options.chosen.contains(name)) given.push_back(name);
  };
  add("test-data", options.test_data != plain.test_data);
  add("split", options.split != plain.split);
  add("split-seed", options.split_seed != plain.split_seed);
  add("class-names", options.class_names != plain.class_names);
  add("length", options.length != plain.length);
  add("padding", options.padding != plain.padding);
  add("class-from", options.class_from != plain.class_from);
  add("image-size", options.height != plain.height || options.width != plain.width);
  add("grey", options.grey != plain.grey);
  add("sample-rate", options.sample_rate != plain.sample_rate);
  add("front-end", options.front_end != plain.front_end);
  add("frame", options.frame_ms != plain.frame_ms);
  add("frame-hop", options.frame_hop_ms != plain.frame_hop_ms);
  add("mel-channels", options.mel_channels != plain.mel_channels);
  add("cepstra", options.cepstra != plain.cepstra);
  add("signal-range", options.signal_range != plain.signal_range);
  add("target-column", options.target_column != plain.target_column);
  add("numbers", options.numbers != plain.numbers);
  add("group-column", options.group_column != plain.group_column);
  add("weight-column", options.weight_column != plain.weight_column);
  add("columns", options.columns != plain.columns);
  add("ignore", options.ignored != plain.ignored);
  add("window", options.window != plain.window);
  add("hop", options.hop != plain.hop);
  add("skip-bad", options.skip_bad != plain.skip_bad);
  add("max-data-bytes", options.max_bytes != plain.max_bytes);
  return given;
}

}  // namespace octet
