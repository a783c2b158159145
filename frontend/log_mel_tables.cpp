#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/frontend/log_mel_tables.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace octet {
namespace {

using std::int16_t;
using std::int32_t;

constexpr int32_t kMostSamples = 1 << 14;
constexpr int kMostChannels = 256;
constexpr int kMostAxes = 64;
constexpr float kPi = std::numbers::pi_v<float>;

template <class Number>
void check_between(const char* name, Number value, Number least, Number most) {
  if (value >= least && value <= most) return;
  throw InvalidArgument(
      fmt::format("log-mel: expected {} from {} to {}, found {}", name, least, most, value));
}

int16_t wrapped(int32_t value) { return static_cast<int16_t>(static_cast<std::uint16_t>(value)); }

int16_t rounded(float value) { return static_cast<int16_t>(std::floor(value + 0.5F)); }

std::vector<int16_t> window_weights(int32_t size) {
  const float step = kPi * 2.0F / static_cast<float>(size);
  std::vector<int16_t> weights;
  for (int32_t i = 0; i < size; ++i) {
    const float weight = 0.5F - 0.5F * std::cos(step * (static_cast<float>(i) + 0.5F));
    weights.push_back(rounded(weight * 4096.0F));
  }
  return weights;
}

void add_twiddle(std::vector<int16_t>& to, double phase) {
  to.push_back(static_cast<int16_t>(std::floor(0.5 + 32767 * std::cos(phase))));
  to.push_back(static_cast<int16_t>(std::floor(0.5 + 32767 * std::sin(phase))));
}

void add_twiddles(LogMelTables& tables) {
  const int32_t half = tables.half;
  for (int32_t k = 0; k < half; ++k) {
    add_twiddle(tables.twiddles, -2 * std::numbers::pi * k / half);
  }
  for (int32_t k = 0; k < half / 2; ++k) {
    add_twiddle(tables.split_twiddles,
                -std::numbers::pi * (static_cast<double>(k + 1) / half + 0.5));
  }
}

float mel(float frequency) { return 1127.0F * std::log1p(frequency / 700.0F); }

/// Where a frequency stands on the scale that bands are even on.
float place_of(const LogMelOptions& options, float frequency) {
  return options.mel_scale ? mel(frequency) : frequency;
}

/// The bins of the spectrum that each channel sums, and their weights.
void add_filters(const LogMelOptions& options, LogMelTables& tables) {
  const float low = place_of(options, options.lower_hz);
  const float spacing =
      (place_of(options, options.upper_hz) - low) / static_cast<float>(options.channels + 1);
  const float bin_hz =
      0.5F * static_cast<float>(options.sample_rate) / static_cast<float>(tables.half);
  tables.first_bin = static_cast<int32_t>(1.5F + options.lower_hz / bin_hz);
  int32_t bin = tables.first_bin;
  float before = low;
  for (int channel = 0; channel <= options.channels; ++channel) {
    const float centre = low + spacing * static_cast<float>(channel + 1);
    for (; bin <= tables.half; ++bin) {
      const float at = place_of(options, static_cast<float>(bin) * bin_hz);
      if (at > centre) break;
      const float weight = (centre - at) / (centre - before);
      tables.filters.push_back(rounded(weight * 4096.0F));
      tables.filters.push_back(rounded((1.0F - weight) * 4096.0F));
    }
    if (bin > tables.half) {
      throw InvalidArgument(fmt::format(
          "log-mel: expected an upper limit below half the sample rate, with a bin of the spectrum "
          "of {} Hz between them, found {} Hz at {} samples a second",
          bin_hz, options.upper_hz, options.sample_rate));
    }
    tables.ends.push_back(static_cast<int16_t>(bin));
    before = centre;
  }
}

/// The gain for an estimate of noise with so many fraction bits.
int16_t gain_at(const LogMelOptions& options, int bits, std::uint32_t noise) {
  const float value = static_cast<float>(noise) / static_cast<float>(1U << bits);
  const float gain = static_cast<float>(1U << options.pcan_gain_bits) *
                     std::pow(value + options.pcan_offset, -options.pcan_strength);
  constexpr float kMost = std::numeric_limits<int16_t>::max();
  return gain > kMost ? std::numeric_limits<int16_t>::max()
                      : static_cast<int16_t>(std::trunc(gain + 0.5F));
}

/// A parabola through three gains in each octave.
void add_gains(const LogMelOptions& options, LogMelTables& tables) {
  tables.gain_shift = options.pcan_gain_bits - tables.correction - 12;
  const int bits = options.smoothing_bits - tables.correction;
  check_between("pcan_gain_bits", options.pcan_gain_bits, tables.correction + 12, 30);
  check_between("smoothing_bits with pcan", options.smoothing_bits, tables.correction, 16);
  check_between("pcan_offset", options.pcan_offset, 1e-6F, 1e9F);
  check_between("pcan_strength", options.pcan_strength, 0.0F, 16.0F);
  const auto gain = [&](std::uint32_t noise) { return gain_at(options, bits, noise); };
  tables.gains = {gain(0), gain(1)};
  for (int octave = 2; octave <= 32; ++octave) {
    const std::uint32_t begin = 1U << static_cast<unsigned>(octave - 1);
    const int32_t start = gain(begin);
    const int32_t middle = gain(begin + begin / 2) - start;
    const int32_t end = gain(begin + (octave == 32 ? begin - 1 : begin)) - start;
    const int32_t linear = 4 * middle - end;
    tables.gains.insert(tables.gains.end(),
                        {static_cast<int16_t>(start), wrapped(linear), wrapped(end - linear)});
  }
}

void add_logarithms(LogMelTables& tables) {
  for (int i = 0; i <= 128; ++i) {
    const double x = i / 128.0;
    const double above = i == 128 ? 0 : std::log2(1 + x) - x;
    tables.logarithms.push_back(static_cast<std::uint16_t>(std::floor(65536 * above + 0.5)));
  }
}

/// The mean, and the amplitudes of the cosines that are whole half waves over the channels.
void add_cosines(const LogMelOptions& options, LogMelTables& tables) {
  check_between("cepstra", options.cepstra, 1, options.channels);
  check_between("channels with cepstra", options.channels, 1, 2 * tables.half);
  tables.cepstra = options.cepstra;
  tables.cepstrum_zero = options.full_scale / 2;
  const double count = options.channels;
  for (int k = 0; k < options.cepstra; ++k) {
    for (int i = 0; i < options.channels; ++i) {
      const double cosine = std::cos(std::numbers::pi * k * (i + 0.5) / count);
      const double factor = (k == 0 ? 1 : 2) * cosine / count;
      tables.cosines.push_back(
          static_cast<int16_t>(std::floor(0.5 + std::clamp(32768 * factor, -32768.0, 32767.0))));
    }
  }
}

void check(const LogMelOptions& options) {
  check_between("sample_rate", options.sample_rate, 1, 1000000);
  check_between("axes", options.axes, 1, kMostAxes);
  check_between("range", options.range, 1e-9F, 1e9F);
  check_between("window_ms", options.window_ms, 1, 10000);
  check_between("hop_ms", options.hop_ms, 1, options.window_ms);
  check_between("channels", options.channels, 1, kMostChannels);
  check_between("lower_hz", options.lower_hz, 0.0F, 1e6F);
  check_between("upper_hz", options.upper_hz, std::nextafter(options.lower_hz, 1e6F), 1e6F);
  check_between("smoothing_bits", options.smoothing_bits, 0, 16);
  check_between("even_smoothing", options.even_smoothing, 0.0F, 1.0F);
  check_between("odd_smoothing", options.odd_smoothing, 0.0F, 1.0F);
  check_between("min_signal_remaining", options.min_signal_remaining, 0.0F, 1.0F);
  check_between("log_scale_shift", options.log_scale_shift, 0, 10);
  check_between("full_scale", options.full_scale, 1, 65535);
}

/// Samples of so many milliseconds.
int32_t samples_of(const LogMelOptions& options, int milliseconds) {
  return static_cast<int32_t>(std::int64_t{milliseconds} * options.sample_rate / 1000);
}

std::uint32_t in_14_bits(float share) { return static_cast<std::uint32_t>(share * 16384.0F); }

}  // namespace

LogMelTables make_log_mel_tables(const LogMelOptions& options) {
  check(options);
  LogMelTables tables;
  tables.window = samples_of(options, options.window_ms);
  tables.hop = samples_of(options, options.hop_ms);
  check_between("samples of window_ms", tables.window, 33, kMostSamples);
  check_between("samples of hop_ms", tables.hop, 1, tables.window);
  tables.half = static_cast<int32_t>(std::bit_ceil(static_cast<std::uint32_t>(tables.window)) / 2);
  const int halvings = std::countr_zero(static_cast<std::uint32_t>(tables.half)) - 5;
  tables.correction = options.mel_scale ? halvings : 0;
  tables.axes = options.axes;
  tables.channels = options.channels;
  tables.removes_mean = options.removes_mean ? 1 : 0;
  tables.has_rms = options.rms ? 1 : 0;
  tables.window_weights = window_weights(tables.window);
  add_twiddles(tables);
  add_filters(options, tables);
  tables.smoothing_bits = options.smoothing_bits;
  tables.smoothing = {in_14_bits(options.even_smoothing), in_14_bits(options.odd_smoothing)};
  tables.least_left = in_14_bits(options.min_signal_remaining);
  if (options.pcan) add_gains(options, tables);
  if (options.log) add_logarithms(tables);
  tables.log_shift = options.log_scale_shift;
  if (options.cepstra != 0) add_cosines(options, tables);
  return tables;
}

std::uint32_t LogMelTables::checksum() const {
  std::uint32_t hash = 2166136261U;
  const auto add = [&](const auto& numbers) {
    for (const auto number : numbers) {
      for (const int shift : {0, 8}) {
        hash ^= static_cast<std::uint32_t>(number) >> shift & 0xFFU;
        hash *= 16777619U;
      }
    }
  };
  for (const auto* table : {&window_weights, &twiddles, &split_twiddles, &ends, &filters, &gains}) {
    add(*table);
  }
  add(logarithms);
  add(cosines);
  return hash;
}

}  // namespace octet
