#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/signal_features.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace octet {
namespace {

constexpr std::pair<std::string_view, LogMelOptions (*)(int)> kFrontEnds[] = {
    {"log-mel", plain_log_mel},
    {"mfcc", mfcc},
    {"spectrogram", spectrogram},
    {"vibration", vibration},
    {"micro-speech", micro_speech}};

/// Options that describe a front end.
constexpr std::string_view kDescribing[] = {"frame", "frame-hop", "mel-channels", "cepstra",
                                            "signal-range"};

bool is_given(const DataOptions& options, std::string_view name) {
  const std::vector<std::string_view> given = given_options(options);
  return std::ranges::find(given, name) != given.end();
}

/// Refuses rates and frames of which no front end is made, in the words of the options.
void require_samples(const LogMelOptions& how, std::string_view name) {
  constexpr int kLeastSamples = 33;
  constexpr int kLeastMelRate = 300;
  if (how.mel_scale && how.sample_rate < kLeastMelRate) {
    throw InvalidArgument(
        fmt::format("--front-end {}: expected at least {} samples a second, found {}; spectrogram "
                    "and vibration take fewer",
                    name, kLeastMelRate, how.sample_rate));
  }
  const std::int64_t samples = std::int64_t{how.window_ms} * how.sample_rate / 1000;
  if (samples < kLeastSamples) {
    throw InvalidArgument(
        fmt::format("--frame: expected at least {} samples, found {}: {} ms at {} samples a second",
                    kLeastSamples, samples, how.window_ms, how.sample_rate));
  }
}

/// Samples of 16 bits as they are.
constexpr double kRangeOfCounts = 32768;

void require_in_range(const LogMel& front_end, std::span<const float> signal,
                      const std::string& where) {
  const float range = front_end.options().range;
  const bool are_counts = range == static_cast<float>(kRangeOfCounts);
  const auto outside = std::ranges::find_if_not(signal, [&](float value) {
    return std::abs(value) <= range && (!are_counts || value == std::round(value));
  });
  if (outside == signal.end()) return;
  throw FormatError(
      fmt::format("{}: expected {} from {} to {} as samples, found {}; give the largest value of "
                  "the sensor as --signal-range",
                  where, are_counts ? "whole numbers" : "values", -range, range, *outside));
}

}  // namespace

std::vector<std::string> front_end_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kFrontEnds) names.emplace_back(name);
  return names;
}

LogMel front_end_of(const DataOptions& options, const SignalForm& form) {
  const auto* const found =
      std::ranges::find(kFrontEnds, std::string_view(options.front_end),
                        &std::pair<std::string_view, LogMelOptions (*)(int)>::first);
  if (found == std::end(kFrontEnds)) {
    throw InvalidArgument(fmt::format("front end: expected one of {}, found '{}'",
                                      fmt::join(front_end_names(), ", "),
                                      printable(options.front_end)));
  }
  LogMelOptions how = found->second(form.sample_rate);
  how.window_ms = options.frame_ms;
  how.hop_ms = options.frame_hop_ms;
  how.channels = options.mel_channels;
  if (how.cepstra > 0) {
    how.cepstra = options.cepstra;
  } else if (is_given(options, "cepstra")) {
    throw InvalidArgument(
        fmt::format("--cepstra: describes --front-end mfcc, found {}", options.front_end));
  }
  require_samples(how, options.front_end);
  how.axes = static_cast<int>(std::min<std::size_t>(form.axes, std::numeric_limits<int>::max()));
  how.range = static_cast<float>(form.range);
  return LogMel(how);
}

std::vector<std::uint8_t> feature_bytes(const LogMel& front_end, std::span<const float> signal,
                                        const std::string& where) {
  const std::size_t samples = signal.size() / front_end.axes();
  if (samples < front_end.window()) {
    throw FormatError(
        fmt::format("{}: expected at least the {} samples of a frame, found {}; --frame says how "
                    "long that is, --length or --window how long a signal is",
                    where, front_end.window(), samples));
  }
  std::vector<std::int16_t> pcm;
  pcm.reserve(signal.size());
  for (const float value : signal) pcm.push_back(front_end.to_sample(value));
  std::vector<std::uint8_t> bytes;
  for (const std::uint16_t feature : front_end.features(pcm)) {
    bytes.push_back(front_end.to_byte(feature));
  }
  return bytes;
}

void require_front_end_options(const DataOptions& options, bool are_sounds) {
  if (!options.front_end.empty()) {
    if (options.frame_hop_ms > options.frame_ms) {
      throw InvalidArgument(
          fmt::format("load_data: --frame-hop: expected at most the milliseconds of --frame, {}, "
                      "found {}",
                      options.frame_ms, options.frame_hop_ms));
    }
    if (options.padding == SequencePadding::zero) return;
    throw InvalidArgument(
        fmt::format("load_data: --padding: expected zero with --front-end, which adds silence to "
                    "short signals, found {}",
                    to_string(options.padding)));
  }
  for (const std::string_view name : given_options(options)) {
    const bool is_rate = name == "sample-rate" && !are_sounds;
    if (!is_rate && std::ranges::find(kDescribing, name) == std::end(kDescribing)) continue;
    throw InvalidArgument(fmt::format("load_data: --{} describes a --front-end, found none", name));
  }
}

Dataset with_front_end_features(const Dataset& signals, const DataOptions& options) {
  const Shape& shape = signals.example_shape();
  if (shape.rank() < 1 || shape.rank() > 2 || signals.inputs() != 1) {
    throw InvalidArgument(fmt::format(
        "--front-end: expected signals [samples, axes], found examples {} in '{}'; rows "
        "of a CSV file become signals by --window",
        shape.to_string(), signals.name()));
  }
  if (!signals.bytes().empty()) {
    throw InvalidArgument(
        fmt::format("--front-end: expected signals as numbers, found bytes in '{}', which are read "
                    "as byte / 255; save them as int32 or float32",
                    signals.name()));
  }
  if (options.sample_rate == 0) {
    throw InvalidArgument(
        "--front-end: expected the samples a second of the signals as --sample-rate, found none");
  }
  const auto axes = static_cast<std::size_t>(shape.rank() == 2 ? shape[1] : 1);
  const double range = options.signal_range == 0 ? kRangeOfCounts : options.signal_range;
  const LogMel front_end = front_end_of(options, {options.sample_rate, axes, range});
  const std::size_t frames = front_end.frames(static_cast<std::size_t>(shape[0]));
  check_data_bytes(signals.name(), signals.size(), {frames, front_end.channels()}, options);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(signals.size() * frames * front_end.channels());
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const Tensor example = signals.features(i, i + 1);
    const std::string where = fmt::format("{}, example {}", signals.name(), i);
    require_in_range(front_end, example.span(), where);
    const std::vector<std::uint8_t> of_example = feature_bytes(front_end, example.span(), where);
    bytes.insert(bytes.end(), of_example.begin(), of_example.end());
  }
  Dataset features = Dataset::from_bytes(
      signals.name(), {static_cast<Index>(frames), static_cast<Index>(front_end.channels())},
      std::move(bytes), Labels(signals.size(), 0), /*classes=*/1);
  features = signals.with_features(std::move(features).with_front_end(front_end.description()));
  return options.keep_signals ? std::move(features).with_signals(signals) : features;
}

}  // namespace octet
