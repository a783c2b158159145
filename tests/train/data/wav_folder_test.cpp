#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/frontend/log_mel.h>
#include <octet/tests/frontend/sounds.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/resample.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace octet::test::wav_folder_test {
namespace {

namespace fs = std::filesystem;

class WavFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  }
  fs::path write(const std::string& name, const Bytes& bytes) const {
    fs::create_directories((scratch_.path() / name).parent_path());
    return scratch_.write(name, bytes);
  }
  std::string refused(const DataOptions& options = {}) const {
    return message_of<FormatError>([&] { load_wav_folder(scratch_.path(), options); });
  }

  const ScratchDirectory scratch_;
};

std::vector<float> values_of(const Dataset& set) {
  const Tensor all = set.features(0, set.size());
  return {all.span().begin(), all.span().end()};
}

TEST_F(WavFolder, SamplesAreSharesOfFullScale) {
  write("yes/1.wav", wav_bytes(8000, 2, {16384, -32768, 0, 1}));
  write("no/1.wav", wav_bytes(8000, 2, {32767, 8192, 0, 0}));
  const LoadedData data = load_wav_folder(scratch_.path());
  EXPECT_EQ(data.train.example_shape(), (Shape{2, 2}));
  EXPECT_EQ(data.train.class_names(), (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(values_of(data.train),
            (std::vector<float>{32767.0F / 32768, 0.25F, 0, 0, 0.5F, -1, 0, 1.0F / 32768}));
  EXPECT_EQ(read_wav(scratch_.path() / "yes/1.wav", 1).values, (std::vector<float>{0.5F, -1}));
}

TEST_F(WavFolder, NamesMaySayClassAndPart) {
  for (int digit = 0; digit < 2; ++digit) {
    for (int index = 0; index < 3; ++index) {
      write(
          std::to_string(digit) + "_ann_" + std::to_string(index) + ".wav",
          wav_bytes(8000, 1, std::vector<std::int16_t>(static_cast<std::size_t>(index + 1), 8192)));
    }
  }
  const DataSplit data =
      load_data(scratch_.path(), {.length = 2, .class_from = "{class}_*_{test=0-0}.wav"});
  EXPECT_EQ(data.train.size(), 4U);
  EXPECT_EQ(values_of(data.test), (std::vector<float>{0.25F, 0, 0.25F, 0}));
  EXPECT_TRUE(std::ranges::equal(data.test.labels(), Labels{0, 1}));
}

TEST_F(WavFolder, WhatIsRefusedIsNamed) {
  write("a/1.wav", wav_bytes(8000, 1, {1, 2}));
  expect_mentions(refused({.sample_rate = 999983}),
                  "1.wav: Resampler: expected rates of a simple ratio, found 8000 and 999983");
  write("a/2.wav", wav_bytes(8000, 2, {1, 2}));
  expect_mentions(refused(), "2.wav: expected 1 channels as in the first file, found 2");
  write("a/2.wav", wav_bytes(8000, 1, {1, 2, 3}));
  expect_mentions(refused(), "found 2 to 3 steps; give --length N");
  write("a/2.wav", wav_bytes(8000, 1, {}));
  expect_mentions(refused(), "2.wav: expected a sequence, found no step");
  write("a/2.wav", {'R', 'I', 'F', 'F'});
  expect_mentions(refused(), "2.wav: expected a WAV file");
  Bytes cut = wav_bytes(8000, 1, {1, 2, 3});
  cut.insert(cut.begin() + 36, {'n', 'o', 't', 'e', 1, 0, 0, 0, 7, 0});
  EXPECT_EQ(read_wav(write("whole.wav", cut)).values.size(), 3U);
  cut.pop_back();
  expect_mentions(message_of<FormatError>([&] { read_wav(write("cut.wav", cut)); }),
                  "cut.wav: the header promises 6 bytes of samples, but only 5 follow");
  for (std::size_t i = 50; i < 54; ++i) cut[i] = 0xFF;
  EXPECT_EQ(read_wav(write("piped.wav", cut)).values.size(), 2U);
  expect_mentions(message_of<IoError>([&] { read_wav(scratch_.path() / "a"); }), "no such file");
}

/// The samples of a file as floats.
std::vector<float> floats_of(const std::vector<std::int16_t>& samples) {
  std::vector<float> result;
  for (const std::int16_t one : samples) result.push_back(static_cast<float>(one) / 32768);
  return result;
}

TEST_F(WavFolder, SoundsAreResampledToTheFirstRateOrToTheOneThatIsGiven) {
  const std::vector<std::int16_t> sound = drawn_sound("noise", 1200);
  const std::vector<std::int16_t> half(sound.begin(), sound.begin() + 600);
  write("a/1.wav", wav_bytes(8000, 2, half));
  write("a/2.wav", wav_bytes(16000, 2, sound));
  static std::vector<std::pair<LogLevel, std::string>> logged;
  logged.clear();
  set_log_sink([](LogLevel level, std::string_view text) { logged.emplace_back(level, text); });
  const LoadedData data = load_wav_folder(scratch_.path());
  const Dataset wanted = load_wav_folder(scratch_.path(), {.sample_rate = 16000}).train;
  set_log_sink(nullptr);
  const std::string of = scratch_.path().string() + ": 1 of 2 sounds resampled from ";
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_EQ(logged[0].first, LogLevel::warn);
  EXPECT_EQ(logged[0].second, of + "16000 to 8000 samples a second, the rate of the first; "
                                   "--sample-rate sets another");
  EXPECT_EQ(logged[1].first, LogLevel::info);
  EXPECT_EQ(logged[1].second, of + "8000 to 16000 samples a second");
  EXPECT_EQ(data.resolved->sample_rate, 8000);
  EXPECT_EQ(data.train.example_shape(), (Shape{300, 2}));
  std::vector<float> expected = floats_of(half);
  const std::vector<float> second = Resampler(16000, 8000).resample(floats_of(sound), 2);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(values_of(data.train), expected);

  const std::vector<float> first = Resampler(8000, 16000).resample(floats_of(half), 2);
  expected = first;
  const std::vector<float> whole = floats_of(sound);
  expected.insert(expected.end(), whole.begin(), whole.end());
  EXPECT_EQ(values_of(wanted), expected);
  // What is cut is what the whole begins with, and what is added is silence.
  for (const std::size_t length : {1U, 50U, 599U, 600U, 700U}) {
    const Dataset set =
        load_wav_folder(scratch_.path(), {.length = length, .sample_rate = 16000}).train;
    std::vector<float> cut = first;
    cut.resize(2 * length);
    EXPECT_EQ(values_of(set.head(1)), cut) << length;
  }
  expect_mentions(message_of<InvalidArgument>([&] {
                    load_wav_folder(scratch_.path(), {.sample_rate = 16000, .max_bytes = 4799});
                  }),
                  "1.wav: 1 examples of 4800 bytes each do not fit");
}

TEST_F(WavFolder, TestDataElsewhereGetTheRateOfTheTraining) {
  write("train_set/a/1.wav", wav_bytes(8000, 1, drawn_sound("noise", 100)));
  write("test_set/a/1.wav", wav_bytes(16000, 1, drawn_sound("noise", 200)));
  const DataSplit data =
      load_data(scratch_.path() / "train_set", {.test_data = scratch_.path() / "test_set"});
  EXPECT_EQ(values_of(data.test),
            Resampler(16000, 8000).resample(floats_of(drawn_sound("noise", 200)), 1));
}

TEST_F(WavFolder, AFrontEndTurnsSoundsIntoBytesOfFeatures) {
  const std::vector<std::int16_t> sound = drawn_sound("noise", 1000);
  write("a/1.wav", wav_bytes(8000, 1, sound));
  write("b/1.wav", wav_bytes(8000, 1, std::vector(sound.begin(), sound.begin() + 300)));
  const DataOptions options{
      .length = 640, .front_end = "micro-speech", .frame_hop_ms = 10, .mel_channels = 20};
  const Dataset set = load_data(scratch_.path(), options).train;
  LogMelOptions same = micro_speech(8000);
  same.hop_ms = 10;
  same.channels = 20;
  const LogMel front_end(same);
  std::vector<std::uint8_t> expected;
  for (const std::ptrdiff_t samples : {640, 300}) {
    std::vector<std::int16_t> heard(sound.begin(), sound.begin() + samples);
    heard.resize(640);
    for (const std::uint16_t x : front_end.features(heard))
      expected.push_back(front_end.to_byte(x));
  }
  EXPECT_EQ(set.example_shape(), (Shape{6, 20}));
  EXPECT_TRUE(std::ranges::equal(set.bytes(), expected));
  EXPECT_EQ(set.subset(std::vector<std::uint32_t>{1}).front_end(), front_end.description());
  EXPECT_EQ(set.class_names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(WavFolder, ChannelsOfASoundHaveFeaturesOfTheirOwn) {
  const std::vector<std::int16_t> stereo = drawn_sound("noise", 600);
  write("a/1.wav", wav_bytes(8000, 2, stereo));
  const Dataset set = load_data(scratch_.path(), {.front_end = "log-mel"}).train;
  LogMelOptions same = plain_log_mel(8000);
  same.axes = 2;
  const LogMel front_end(same);
  std::vector<std::uint8_t> expected;
  for (const std::uint16_t x : front_end.features(stereo)) expected.push_back(front_end.to_byte(x));
  EXPECT_EQ(set.example_shape(), (Shape{1, 80}));
  EXPECT_TRUE(std::ranges::equal(set.bytes(), expected));
}

TEST_F(WavFolder, WhatAFrontEndDoesNotTakeIsNamed) {
  write("a/1.wav", wav_bytes(8000, 1, drawn_sound("noise", 300)));
  const auto wrong = [&](const DataOptions& options) {
    return message_of<InvalidArgument>([&] { load_data(scratch_.path(), options); });
  };
  expect_mentions(
      wrong({.front_end = "plp"}),
      "expected one of log-mel, mfcc, spectrogram, vibration, micro-speech, found 'plp'");
  expect_mentions(wrong({.front_end = "log-mel", .cepstra = 10}),
                  "--cepstra: describes --front-end mfcc, found log-mel");
  expect_mentions(wrong({.front_end = "log-mel", .mel_channels = 0}), "channels from 1 to 256");
  for (const SequencePadding padding : {SequencePadding::last, SequencePadding::mask}) {
    expect_mentions(
        wrong({.padding = padding, .front_end = "log-mel"}),
        "--padding: expected zero with --front-end, which adds silence to short signals, found " +
            std::string(to_string(padding)));
  }
  expect_mentions(wrong({.front_end = "log-mel", .frame_ms = 10}),
                  "--frame-hop: expected at most the milliseconds of --frame, 10, found 20");
  expect_mentions(wrong({.frame_ms = 20}), "--frame describes a --front-end, found none");
  expect_mentions(refused({.length = 239, .front_end = "log-mel"}),
                  "1.wav: expected at least the 240 samples of a frame, found 239");
  write("a/2.wav", wav_bytes(8000, 1, drawn_sound("noise", 301)));
  expect_mentions(refused({.front_end = "log-mel"}),
                  "2.wav: expected 300 samples as in the first sound, found 301; give --length");
  write("a/2.wav", wav_bytes(8000, 2, drawn_sound("noise", 600)));
  expect_mentions(refused({.front_end = "log-mel"}), "expected 1 channels as in the first file");
}

TEST(RealSounds, SpokenDigitsAreReadWhole) {
  const char* folder = std::getenv("OCTET_FSDD_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_FSDD_DIR is not set";
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  const DataSplit official =
      load_data(folder, {.length = 8000, .class_from = "{class}_*_{test=0-4}.wav"});
  EXPECT_EQ(official.train.size(), 2700U);
  EXPECT_EQ(official.test.size(), 300U);
  EXPECT_EQ(official.test.classes(), 10);
  EXPECT_EQ(official.test.example_shape(), (Shape{8000, 1}));
  // A speaker is in one part alone.
  const DataSplit speakers =
      load_data(folder, {.split = 0.8, .length = 10, .class_from = "{class}_{group}_*.wav"});
  EXPECT_EQ(speakers.test.size(), 500U);
}

}  // namespace
}  // namespace octet::test::wav_folder_test
