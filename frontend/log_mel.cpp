#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parse_number.h>
#include <octet/frontend/log_mel_tables.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <system_error>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

#include <octet/frontend/log_mel_kernel.inc>

log_mel_config config_of(const LogMelTables& t) {
  log_mel_config c{};
  c.axes = t.axes;
  c.window = t.window;
  c.hop = t.hop;
  c.half = t.half;
  c.channels = t.channels;
  c.removes_mean = t.removes_mean;
  c.has_rms = t.has_rms;
  c.cepstra = t.cepstra;
  c.cepstrum_zero = t.cepstrum_zero;
  c.cosines = t.cosines.empty() ? nullptr : t.cosines.data();
  c.first_bin = t.first_bin;
  c.window_weights = t.window_weights.data();
  c.twiddles = t.twiddles.data();
  c.split_twiddles = t.split_twiddles.data();
  c.ends = t.ends.data();
  c.filters = t.filters.data();
  c.smoothing_bits = t.smoothing_bits;
  std::ranges::copy(t.smoothing, c.smoothing);
  c.least_left = t.least_left;
  c.gains = t.gains.empty() ? nullptr : t.gains.data();
  c.gain_shift = t.gain_shift;
  c.correction = t.correction;
  c.logarithms = t.logarithms.empty() ? nullptr : t.logarithms.data();
  c.log_shift = t.log_shift;
  return c;
}

constexpr std::string_view kKind = "log-mel";

/// Calls take(name, member) for everything that a description holds.
template <class Options, class Take>
void each_option(Options&& o, const Take& take) {
  take("rate", o.sample_rate);
  take("window_ms", o.window_ms);
  take("hop_ms", o.hop_ms);
  take("channels", o.channels);
  take("lower_hz", o.lower_hz);
  take("upper_hz", o.upper_hz);
  take("smoothing_bits", o.smoothing_bits);
  take("even", o.even_smoothing);
  take("odd", o.odd_smoothing);
  take("remaining", o.min_signal_remaining);
  take("pcan", o.pcan);
  take("strength", o.pcan_strength);
  take("offset", o.pcan_offset);
  take("gain_bits", o.pcan_gain_bits);
  take("log", o.log);
  take("shift", o.log_scale_shift);
  take("full_scale", o.full_scale);
}

/// Calls take(name, member) for what a description holds where it is not the default, so
/// that older descriptions stay as they are.
template <class Options, class Take>
void each_later_option(Options&& o, const Take& take) {
  take("axes", o.axes);
  take("range", o.range);
  take("mel", o.mel_scale);
  take("removes_mean", o.removes_mean);
  take("rms", o.rms);
  take("cepstra", o.cepstra);
}

std::string word_of(std::string_view name, bool member) {
  return fmt::format(" {}={}", name, member ? 1 : 0);
}
template <class Number>
std::string word_of(std::string_view name, Number member) {
  return fmt::format(" {}={}", name, member);
}

/// A text that is a number as a whole; false for another.
template <class Number>
bool read_number(std::string_view text, Number& to) {
  return parse_number(text, to) == std::errc();
}

bool read_number(std::string_view text, bool& to) {
  to = text == "1";
  return text == "0" || text == "1";
}

/// The words of a description by their names. Throws FormatError.
std::map<std::string_view, std::string_view> words_of(std::string_view text) {
  std::map<std::string_view, std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t cut = std::min(word.find('='), word.size());
    const std::string_view value = cut < word.size() ? word.substr(cut + 1) : "";
    if (!words.emplace(word.substr(0, cut), value).second) {
      throw FormatError(fmt::format("front end: '{}' stands there twice", word.substr(0, cut)));
    }
    begin = end + 1;
  }
  return words;
}

}  // namespace

LogMelOptions micro_speech(int sample_rate) {
  LogMelOptions options;
  options.sample_rate = sample_rate;
  // 3900 Hz at 8000 samples a second: the last channel ends before the spectrum does.
  options.upper_hz = std::min(7500.0F, std::floor(static_cast<float>(sample_rate) * 0.4875F));
  return options;
}

LogMelOptions plain_log_mel(int sample_rate) {
  LogMelOptions options = micro_speech(sample_rate);
  options.even_smoothing = 0;
  options.odd_smoothing = 0;
  options.pcan = false;
  options.full_scale = 800;
  return options;
}

LogMelOptions mfcc(int sample_rate) {
  LogMelOptions options = plain_log_mel(sample_rate);
  options.cepstra = 13;
  return options;
}

LogMelOptions spectrogram(int sample_rate) {
  LogMelOptions options = plain_log_mel(sample_rate);
  options.lower_hz = 0;
  options.upper_hz = static_cast<float>(sample_rate) * 0.4875F;
  options.mel_scale = false;
  // The logarithm of a tone of full scale.
  options.full_scale = 860;
  return options;
}

LogMelOptions vibration(int sample_rate) {
  LogMelOptions options = spectrogram(sample_rate);
  options.removes_mean = true;
  options.rms = true;
  return options;
}

LogMel::LogMel(const LogMelOptions& options)
    : options_(options),
      tables_(std::make_shared<const LogMelTables>(make_log_mel_tables(options))) {}

LogMel LogMel::parse(std::string_view description) {
  auto words = words_of(description);
  if (words.erase(kKind) == 0) {
    throw FormatError(fmt::format("front end: expected '{}' and its options, found '{}'", kKind,
                                  description.substr(0, 60)));
  }
  LogMelOptions options;
  const auto take = [&](std::string_view name, auto& member) {
    const auto word = words.find(name);
    if (word == words.end() || !read_number(word->second, member)) {
      throw FormatError(fmt::format("front end: expected a number for {}, found {}", name,
                                    word == words.end() ? "none" : word->second));
    }
    words.erase(word);
  };
  each_option(options, take);
  each_later_option(options, [&](std::string_view name, auto& member) {
    if (words.contains(name)) take(name, member);
  });
  std::uint32_t checksum = 0;
  take("tables", checksum);
  if (!words.empty()) {
    throw FormatError(
        fmt::format("front end: '{}' is no option of {}; was the model made by a "
                    "newer version of Octet?",
                    words.begin()->first, kKind));
  }
  try {
    LogMel result(options);
    if (result.tables().checksum() == checksum) return result;
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("front end: {}", error.what()));
  }
  throw FormatError(
      "front end: expected the tables of the description, whose checksum it holds, found others: "
      "the mathematical library of this machine rounds otherwise than that of the one where the "
      "model was made; export the model there");
}

std::string LogMel::description() const {
  std::string text(kKind);
  each_option(options_,
              [&](std::string_view name, const auto& member) { text += word_of(name, member); });
  std::vector<std::string> plain;
  each_later_option(LogMelOptions(), [&](std::string_view name, const auto& member) {
    plain.push_back(word_of(name, member));
  });
  std::size_t i = 0;
  each_later_option(options_, [&](std::string_view name, const auto& member) {
    const std::string word = word_of(name, member);
    if (word != plain[i++]) text += word;
  });
  return text + fmt::format(" tables={}", tables_->checksum());
}

std::size_t LogMel::window() const { return static_cast<std::size_t>(tables_->window); }
std::size_t LogMel::hop() const { return static_cast<std::size_t>(tables_->hop); }
std::size_t LogMel::axes() const { return static_cast<std::size_t>(tables_->axes); }
std::size_t LogMel::channels() const { return tables_->features(); }

std::size_t LogMel::frames(std::size_t samples) const {
  return samples < window() ? 0 : (samples - window()) / hop() + 1;
}

std::int16_t LogMel::to_sample(float value) const {
  const float scaled = std::clamp(value * (32768.0F / options_.range), -32768.0F, 32767.0F);
  return static_cast<std::int16_t>(std::lrint(scaled));
}

std::vector<std::uint16_t> LogMel::features(std::span<const std::int16_t> signal) const {
  return LogMelStream(*this).feed(signal);
}

std::uint8_t LogMel::to_byte(std::uint16_t feature) const {
  const std::int32_t full = options_.full_scale;
  return static_cast<std::uint8_t>(std::min((feature * 256 + full / 2) / full, 255));
}

LogMelStream::LogMelStream(LogMel front_end)
    : front_end_(std::move(front_end)),
      frame_(front_end_.tables().frame_size()),
      noise_(front_end_.tables().noise_size()),
      work_(front_end_.tables().work_size()) {}

void LogMelStream::reset() {
  count_ = 0;
  std::ranges::fill(noise_, 0U);
}

std::vector<std::uint16_t> LogMelStream::feed(std::span<const std::int16_t> samples) {
  const log_mel_config config = config_of(front_end_.tables());
  const std::size_t axes = front_end_.axes();
  if (samples.size() % axes != 0) {
    throw InvalidArgument(fmt::format("log-mel: expected samples of {} axes, found {} numbers",
                                      axes, samples.size()));
  }
  std::vector<std::uint16_t> features;
  features.reserve(front_end_.frames(samples.size() / axes + static_cast<std::size_t>(count_)) *
                   front_end_.channels());
  while (!samples.empty()) {
    // As many as a frame takes: signals may be longer than 2^31 samples.
    const auto most =
        static_cast<std::int32_t>(std::min(samples.size() / axes, front_end_.window()));
    const std::int32_t taken = log_mel_take(&config, frame_.data(), &count_, samples.data(), most);
    samples = samples.subspan(axes * static_cast<std::size_t>(taken));
    if (count_ < config.window) break;
    const std::size_t done = features.size();
    features.resize(done + front_end_.channels());
    log_mel_frame(&config, frame_.data(), noise_.data(), work_.data(), features.data() + done);
    log_mel_next(&config, frame_.data(), &count_);
  }
  return features;
}

}  // namespace octet
