#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/frontend/log_mel.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/frontend/sounds.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <string>

namespace octet::test {
namespace {

using Sound = std::vector<std::int16_t>;
using Features = std::vector<std::uint16_t>;
using Change = std::function<void(LogMelOptions&)>;

std::uint32_t fnv(const Features& features) {
  std::uint32_t hash = 2166136261U;
  for (const std::uint16_t feature : features) {
    for (const unsigned byte : {feature & 0xFFU, unsigned{feature} >> 8U}) {
      hash = (hash ^ byte) * 16777619U;
    }
  }
  return hash;
}

struct Golden {
  const char* sound;
  Change change;
  std::uint32_t hash;
  Features first;
};

// From the microfrontend library of TensorFlow Lite Micro (2026-08, with KISS FFT 130), compiled by
// GCC 12 for x86 with glibc: ten frames of each sound.
const std::vector<Golden>& golden() {
  static const std::vector<Golden> kGolden = {
      {"noise", [](LogMelOptions&) {}, 0x9ece3643U, {657, 600, 660}},
      {"square", [](LogMelOptions&) {}, 0x89a46052U, {623, 589, 653}},
      {"impulses", [](LogMelOptions& o) { o.hop_ms = 10; }, 0x5562b6c2U, {437, 448, 510}},
      {"noise",
       [](LogMelOptions& o) {
         o.window_ms = 25;
         o.hop_ms = 10;
         o.channels = 32;
         o.pcan = false;
       },
       0xed7be707U,
       {748, 786, 808}},
      {"noise", [](LogMelOptions& o) { o.log = false; }, 0xd9461e12U, {3576, 1475, 3749}},
      {"noise",
       [](LogMelOptions& o) {
         o = micro_speech(8000);
         o.window_ms = 32;
         o.hop_ms = 16;
         o.channels = 20;
       },
       0x52bf3406U,
       {615, 561, 618}},
      {"noise", [](LogMelOptions& o) { o = plain_log_mel(8000); }, 0xfb7b2d65U, {796, 770, 774}},
      {"noise",
       [](LogMelOptions& o) {
         o.sample_rate = 48000;
         o.window_ms = o.hop_ms = 40;
         o.channels = 64;
         o.lower_hz = 20;
         o.upper_hz = 20000;
         o.log_scale_shift = 4;
       },
       0x1973a621U,
       {188, 174, 188}},
      {"square",
       [](LogMelOptions& o) {
         o.sample_rate = 8000;
         o.window_ms = 8;
         o.hop_ms = 3;
         o.channels = 5;
         o.upper_hz = 3500;
         o.smoothing_bits = 6;
         o.min_signal_remaining = 0.3F;
         o.pcan_strength = 0.5F;
         o.pcan_offset = 1;
         o.pcan_gain_bits = 18;
       },
       0xbcd6df45U,
       {802, 749, 767}},
  };
  return kGolden;
}

/// The front end of a case, and its sound of ten frames and seven samples.
std::pair<LogMel, Sound> made(const Golden& golden) {
  LogMelOptions options;
  golden.change(options);
  LogMel front_end(options);
  const std::size_t samples = front_end.window() + 9 * front_end.hop() + 7;
  return {std::move(front_end), drawn_sound(golden.sound, samples)};
}

TEST(LogMel, FeaturesAreThoseOfMicrofrontend) {
  for (const Golden& golden : golden()) {
    const auto [front_end, sound] = made(golden);
    const Features features = front_end.features(sound);
    ASSERT_EQ(features.size(), 10 * front_end.channels()) << front_end.description();
    EXPECT_EQ(Features(features.begin(), features.begin() + 3), golden.first);
    EXPECT_EQ(fnv(features), golden.hash) << front_end.description();
  }
}

TEST(LogMel, PiecesGiveTheFeaturesOfTheWholeAndADescriptionGivesTheFrontEnd) {
  for (const Golden& golden : golden()) {
    const auto [front_end, sound] = made(golden);
    LogMelStream stream(LogMel::parse(front_end.description()));
    for (int run = 0; run < 2; ++run) {
      Features features;
      for (std::size_t at = 0, piece = 0; at < sound.size(); at += piece) {
        piece = std::min<std::size_t>(1 + at % 701, sound.size() - at);
        const Features more = stream.feed(std::span(sound).subspan(at, piece));
        features.insert(features.end(), more.begin(), more.end());
      }
      EXPECT_EQ(features, front_end.features(sound)) << front_end.description();
      stream.reset();
    }
  }
}

/// 64 times the logarithm of the root of each channel's energy, for the first frame, in doubles.
std::vector<double> naive_log_mel(const LogMelOptions& o, const Sound& sound) {
  const int size = o.sample_rate * o.window_ms / 1000;
  const int points = 512;
  const auto mel = [](double f) { return 1127 * std::log1p(f / 700); };
  const double spacing = (mel(o.upper_hz) - mel(o.lower_hz)) / (o.channels + 1);
  std::vector<double> energy(static_cast<std::size_t>(o.channels));
  for (int bin = 1; bin < points / 2; ++bin) {
    std::complex<double> sum;
    for (int i = 0; i < size; ++i) {
      const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 0.5) / size);
      sum += window * sound[static_cast<std::size_t>(i)] *
             std::polar(1.0, -2 * std::numbers::pi * bin * i / points);
    }
    const double at = (mel(1.0 * bin * o.sample_rate / points) - mel(o.lower_hz)) / spacing;
    for (int channel = 0; channel < o.channels; ++channel) {
      const double weight = 1 - std::abs(at - channel - 1);
      if (weight > 0) energy[static_cast<std::size_t>(channel)] += weight * std::norm(sum);
    }
  }
  for (double& value : energy) value = 64 * std::log(std::sqrt(value));
  return energy;
}

TEST(LogMel, StaysNearTheFeaturesInDoublePrecision) {
  const LogMelOptions options = plain_log_mel(16000);
  const LogMel front_end(options);
  Sound sound = drawn_sound("noise", front_end.window());
  for (std::size_t i = 0; i < sound.size(); ++i) {
    sound[i] =
        static_cast<std::int16_t>(sound[i] / 4 + 12000 * std::sin(0.7 * static_cast<double>(i)));
  }
  const std::vector<double> exact = naive_log_mel(options, sound);
  const Features features = front_end.features(sound);
  ASSERT_EQ(features.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(features[i], exact[i], 4) << "channel " << i;
  }
}

TEST(LogMel, BytesAreTheCodesOfMicroSpeech) {
  const LogMel front_end;
  for (int feature : {0, 1, 2, 333, 664, 665, 666, 700, 65535}) {
    const int code = std::min((feature * 256 + 333) / 666 - 128, 127);
    EXPECT_EQ(front_end.to_byte(static_cast<std::uint16_t>(feature)), code + 128) << feature;
  }
}

TEST(LogMel, OptionsThatMakeNoFrontEndAreNamed) {
  const std::vector<std::pair<Change, const char*>> wrong = {
      {[](LogMelOptions& o) { o.sample_rate = 999; },
       "sample_rate from 1000 to 1000000, found 999"},
      {[](LogMelOptions& o) { o.window_ms = 0; }, "window_ms"},
      {[](LogMelOptions& o) { o.window_ms = o.hop_ms = 2; },
       "window_ms from 33 to 16384, found 32"},
      {[](LogMelOptions& o) { o.window_ms = 2000; }, "found 32000"},
      {[](LogMelOptions& o) { o.hop_ms = 31; }, "hop_ms from 1 to 30, found 31"},
      {[](LogMelOptions& o) { o.channels = 257; }, "channels from 1 to 256, found 257"},
      {[](LogMelOptions& o) { o.lower_hz = std::nanf(""); }, "lower_hz"},
      {[](LogMelOptions& o) { o.upper_hz = 125; }, "upper_hz from 126"},
      {[](LogMelOptions& o) { o.upper_hz = 8000; }, "below half the sample rate"},
      {[](LogMelOptions& o) { o.smoothing_bits = 17; }, "smoothing_bits"},
      {[](LogMelOptions& o) { o.even_smoothing = 1.5F; }, "even_smoothing"},
      {[](LogMelOptions& o) { o.odd_smoothing = -1; }, "odd_smoothing"},
      {[](LogMelOptions& o) { o.min_signal_remaining = 2; }, "min_signal_remaining"},
      {[](LogMelOptions& o) { o.smoothing_bits = 2; }, "smoothing_bits with pcan from 3"},
      {[](LogMelOptions& o) { o.pcan_gain_bits = 14; }, "pcan_gain_bits from 15"},
      {[](LogMelOptions& o) { o.pcan_offset = 0; }, "pcan_offset"},
      {[](LogMelOptions& o) { o.pcan_strength = -1; }, "pcan_strength"},
      {[](LogMelOptions& o) { o.log_scale_shift = 11; }, "log_scale_shift"},
      {[](LogMelOptions& o) { o.full_scale = 0; }, "full_scale"},
  };
  for (const auto& [change, words] : wrong) {
    LogMelOptions options;
    change(options);
    expect_throws<InvalidArgument>([&] { LogMel{options}; }, {"log-mel: expected", words});
  }
}

TEST(LogMel, TextsThatDescribeNoFrontEndAreRefused) {
  const std::string text = LogMel().description();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    return changed.replace(changed.find(from), from.size(), to);
  };
  const std::vector<std::pair<std::string, const char*>> wrong = {
      {"", "expected 'log-mel'"},
      {"mfcc rate=16000", "expected 'log-mel'"},
      {"log-mel", "expected a number for rate, found none"},
      {with("channels=40", "channels=4x"), "expected a number for channels, found 4x"},
      {with("pcan=1", "pcan=2"), "expected a number for pcan, found 2"},
      {with("pcan=1", "pcan=1 pcan=1"), "'pcan' stands there twice"},
      {text + " mfcc=13", "'mfcc' is no option of log-mel"},
      {with("channels=40", "channels=400"), "channels from 1 to 256, found 400"},
      {with("channels=40", "channels=39"), "mathematical library"},
  };
  for (const auto& [description, words] : wrong) {
    expect_throws<FormatError>([&, &d = description] { LogMel::parse(d); }, {"front end", words});
  }
}

}  // namespace
}  // namespace octet::test
