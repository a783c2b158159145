#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/frontend/log_mel.h>
#include <octet/frontend/log_mel_tables.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/frontend/sounds.h>

#include <algorithm>
#include <bit>
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
  static const std::vector<Golden> cases = {
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
  return cases;
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

/// 64 times the logarithm of the root mean square, and of the root of each channel's energy, for
/// the first frame, in doubles.
std::vector<double> naive_features(const LogMelOptions& o, const Sound& sound) {
  const int size = o.sample_rate * o.window_ms / 1000;
  const auto points = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  const auto place = [&](double f) { return o.mel_scale ? 1127 * std::log1p(f / 700) : f; };
  const double low = place(o.lower_hz);
  const double spacing = (place(o.upper_hz) - low) / (o.channels + 1);
  double mean = 0;
  for (const std::int16_t sample : sound) mean += 1.0 * sample / size;
  std::vector<double> samples;
  double square = 0;
  for (const std::int16_t sample : sound) {
    samples.push_back(sample - (o.removes_mean ? mean : 0));
    square += samples.back() * samples.back() / size;
  }
  std::vector<double> energy(static_cast<std::size_t>(o.channels));
  for (int bin = 1; bin < points / 2; ++bin) {
    std::complex<double> sum;
    for (int i = 0; i < size; ++i) {
      const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 0.5) / size);
      sum += window * samples[static_cast<std::size_t>(i)] *
             std::polar(1.0, -2 * std::numbers::pi * bin * i / points);
    }
    const double at = (place(1.0 * bin * o.sample_rate / points) - low) / spacing;
    for (int channel = 0; channel < o.channels; ++channel) {
      const double weight = 1 - std::abs(at - channel - 1);
      const double scale = o.mel_scale ? 1 : 64.0 / points;
      if (weight > 0) {
        energy[static_cast<std::size_t>(channel)] += weight * std::norm(scale * sum);
      }
    }
  }
  if (o.rms) energy.insert(energy.begin(), 256 * square);
  for (double& value : energy) value = 64 * std::log(std::sqrt(value));
  if (o.cepstra == 0) return energy;
  std::vector<double> cepstra(static_cast<std::size_t>(o.cepstra));
  for (std::size_t k = 0; k < cepstra.size(); ++k) {
    for (std::size_t i = 0; i < energy.size(); ++i) {
      const double angle =
          std::numbers::pi * static_cast<double>(k) * (static_cast<double>(i) + 0.5) / o.channels;
      cepstra[k] += (k == 0 ? 1 : 2) * energy[i] * std::cos(angle) / o.channels;
    }
    if (k > 0) cepstra[k] += std::floor(o.full_scale / 2.0);
  }
  return cepstra;
}

/// Noise, a tone and a constant.
Sound drawn_signal(std::size_t samples, double tone, int constant) {
  Sound sound = drawn_sound("noise", samples);
  for (std::size_t i = 0; i < sound.size(); ++i) {
    sound[i] = static_cast<std::int16_t>(sound[i] / 8.0 + constant +
                                         7000 * std::sin(tone * static_cast<double>(i)));
  }
  return sound;
}

TEST(LogMel, StaysNearTheFeaturesInDoublePrecision) {
  for (const LogMelOptions& options : {plain_log_mel(16000), mfcc(16000), spectrogram(16000),
                                       vibration(16000), vibration(12000)}) {
    const LogMel front_end(options);
    const Sound sound = drawn_signal(front_end.window(), 0.7, 9000);
    const std::vector<double> exact = naive_features(options, sound);
    const Features features = front_end.features(sound);
    ASSERT_EQ(features.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(features[i], exact[i], 4) << front_end.description() << ", feature " << i;
    }
  }
}

TEST(LogMel, CepstraAreRoundedSumsOfTheBands) {
  // With a small scale most amplitudes are below what stands for 0.
  for (const int full_scale : {2, 801}) {
    LogMelOptions options = mfcc(8000);
    options.full_scale = full_scale;
    const LogMel front_end(options);
    options.cepstra = 0;
    const Sound sound = drawn_signal(front_end.window(), 0.3, 100);
    const Features bands = LogMel(options).features(sound);
    const std::vector<std::int16_t>& cosines = front_end.tables().cosines;
    Features expected;
    for (std::size_t k = 0; k < 13; ++k) {
      double sum = k == 0 ? 0 : std::floor(full_scale / 2.0);
      for (std::size_t i = 0; i < bands.size(); ++i) {
        sum += bands[i] * (cosines[k * bands.size() + i] / 32768.0);
      }
      expected.push_back(static_cast<std::uint16_t>(std::max(0.0, std::floor(sum + 0.5))));
    }
    EXPECT_EQ(front_end.features(sound), expected);
  }
}

/// By cepstra; 0: root mean square and bands.
class LogMelAxes : public ::testing::TestWithParam<int> {};

TEST_P(LogMelAxes, HaveTheFeaturesOfEachAlone) {
  LogMelOptions options = vibration(100);
  options.window_ms = 640;
  options.hop_ms = 250;
  options.channels = 9;
  options.even_smoothing = 0.1F;
  if (GetParam() > 0) {
    options.rms = false;
    options.cepstra = GetParam();
  }
  LogMelOptions together = options;
  together.axes = 3;
  const LogMel alone(options);
  const LogMel front_end(together);
  const std::size_t own_count = alone.channels();
  EXPECT_EQ(own_count, GetParam() > 0 ? 6U : 10U);
  EXPECT_EQ(front_end.channels(), 3 * own_count);
  const std::size_t samples = front_end.window() + 4 * front_end.hop() + 3;
  std::vector<Sound> axes;
  for (int i = 0; i < 3; ++i) axes.push_back(drawn_signal(samples, 0.2 + i, 3000 * i));
  Sound side_by_side;
  for (std::size_t i = 0; i < samples; ++i) {
    for (const Sound& axis : axes) side_by_side.push_back(axis[i]);
  }
  Features expected(5 * front_end.channels());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Features own = alone.features(axes[axis]);
    for (std::size_t i = 0; i < own.size(); ++i) {
      expected[(i / own_count * 3 + axis) * own_count + i % own_count] = own[i];
    }
  }
  EXPECT_EQ(front_end.features(side_by_side), expected);
  // Pieces of a sample each.
  LogMelStream stream(LogMel::parse(front_end.description()));
  Features features;
  for (std::size_t at = 0; at < side_by_side.size(); at += 3) {
    const Features more = stream.feed(std::span(side_by_side).subspan(at, 3));
    features.insert(features.end(), more.begin(), more.end());
  }
  EXPECT_EQ(features, expected);
  expect_throws<InvalidArgument>([&] { stream.feed(std::span(side_by_side).first(4)); },
                                 {"samples of 3 axes, found 4 numbers"});
}

INSTANTIATE_TEST_SUITE_P(Cepstra, LogMelAxes, ::testing::Values(0, 6));

TEST(LogMel, SamplesAreSharesOfTheRange) {
  LogMelOptions options = vibration(100);
  options.window_ms = 640;
  options.range = 2;
  const LogMel front_end(options);
  EXPECT_EQ(front_end.to_sample(0.5F), 8192);
  EXPECT_EQ(front_end.to_sample(2.0F), 32767);
  EXPECT_EQ(front_end.to_sample(-3.0F), -32768);
  EXPECT_EQ(LogMel::parse(front_end.description()).options().range, 2.0F);
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
      {[](LogMelOptions& o) { o.sample_rate = 0; }, "sample_rate from 1 to 1000000, found 0"},
      {[](LogMelOptions& o) { o.axes = 0; }, "axes from 1 to 64, found 0"},
      {[](LogMelOptions& o) { o.range = 0; }, "range"},
      {[](LogMelOptions& o) { o.window_ms = 0; }, "window_ms"},
      {[](LogMelOptions& o) { o.window_ms = o.hop_ms = 2; },
       "window_ms from 33 to 16384, found 32"},
      {[](LogMelOptions& o) { o.window_ms = 2000; }, "found 32000"},
      {[](LogMelOptions& o) { o.hop_ms = 31; }, "hop_ms from 1 to 30, found 31"},
      {[](LogMelOptions& o) { o.channels = 257; }, "channels from 1 to 256, found 257"},
      {[](LogMelOptions& o) { o.lower_hz = std::nanf(""); }, "lower_hz"},
      {[](LogMelOptions& o) { o.upper_hz = 125; }, "upper_hz from 125.00001"},
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
      {[](LogMelOptions& o) { o.cepstra = 41; }, "cepstra from 1 to 40, found 41"},
      {[](LogMelOptions& o) {
         o.cepstra = 1;
         o.window_ms = o.hop_ms = 3;
         o.channels = 65;
       },
       "channels with cepstra from 1 to 64, found 65"},
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
      {text + " axes=0", "axes from 1 to 64, found 0"},
      {text + " rms=2", "expected a number for rms, found 2"},
      {text + " mel=0", "mathematical library"},
  };
  for (const auto& [description, words] : wrong) {
    expect_throws<FormatError>([&, &d = description] { LogMel::parse(d); }, {"front end", words});
  }
}

}  // namespace
}  // namespace octet::test
