// Signals of sensors that become features, in training and of files.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/frontend/log_mel.h>
#include <octet/tests/frontend/sounds.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/train/data/data_description.h>
#include <octet/train/data/file_examples.h>
#include <octet/train/data/load_data.h>

#include <string>

namespace octet::test::signal_features_test {
namespace {

constexpr std::size_t kSamples = 70;

/// Two axes of a sensor that gives -2 to 2 g, sample by sample.
std::vector<float> drawn_signals(std::size_t samples) {
  std::vector<float> values;
  for (const std::int16_t sample : drawn_sound("noise", 2 * samples)) {
    values.push_back(static_cast<float>(sample) / 16384);
  }
  return values;
}

DataOptions shaken(std::size_t window) {
  return {.sample_rate = 100,
          .front_end = "vibration",
          .frame_ms = 400,
          .frame_hop_ms = 100,
          .mel_channels = 5,
          .signal_range = 2,
          .window = window};
}

LogMel same_front_end() {
  LogMelOptions options = vibration(100);
  options.window_ms = 400;
  options.hop_ms = 100;
  options.channels = 5;
  options.axes = 2;
  options.range = 2;
  return LogMel(options);
}

/// Bytes of the features of `count` windows, one behind the other.
Bytes expected_bytes(const std::vector<float>& values, std::size_t count) {
  const LogMel front_end = same_front_end();
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int16_t> samples;
    for (std::size_t k = 0; k < 2 * kSamples; ++k) {
      samples.push_back(front_end.to_sample(values[2 * kSamples * i + k]));
    }
    for (const std::uint16_t feature : front_end.features(samples)) {
      bytes.push_back(front_end.to_byte(feature));
    }
  }
  return bytes;
}

std::string csv_of(const std::vector<float>& values) {
  std::string text = "x,y,kind\n";
  for (std::size_t i = 0; i < values.size(); i += 2) {
    text += fmt::format("{},{},{}\n", values[i], values[i + 1],
                        i / 2 / kSamples % 2 == 0 ? "calm" : "worn");
  }
  return text;
}

class SignalFeatures : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return scratch_.write(name, Bytes(text.begin(), text.end()));
  }
  std::filesystem::path write_records(const std::vector<float>& values) const {
    return write("records.csv", csv_of(values));
  }

  const ScratchDirectory scratch_;
};

TEST_F(SignalFeatures, WindowsOfRecordsBecomeFramesOfEachAxis) {
  const std::vector<float> values = drawn_signals(3 * kSamples);
  const Dataset set = load_data(write_records(values), shaken(kSamples)).train;
  EXPECT_EQ(set.example_shape(), (Shape{4, 12}));
  EXPECT_TRUE(std::ranges::equal(set.bytes(), expected_bytes(values, 3)));
  EXPECT_TRUE(std::ranges::equal(set.labels(), Labels{0, 1, 0}));
  EXPECT_EQ(set.class_names(), (std::vector<std::string>{"calm", "worn"}));
  EXPECT_EQ(set.front_end(), same_front_end().description());
}

TEST_F(SignalFeatures, FilesBecomeTheSameFeaturesByTheDescription) {
  const std::vector<float> values = drawn_signals(2 * kSamples);
  const auto path = write_records(values);
  const Dataset set = load_data(path, shaken(kSamples)).train;
  const DataDescription description = parse_data_description(to_text(*set.description()));
  EXPECT_EQ(description.options.signal_range, 2.0);
  const FileExamples found = read_file_examples(path, description);
  EXPECT_EQ(found.names.size(), 2U);
  const Tensor features = set.features(0, 2);
  EXPECT_TRUE(std::ranges::equal(found.features.span(), features.span()));
  // Arrays are [n, samples, axes], those of one example too.
  const auto array = scratch_.write(
      "one.npy", npy_bytes("<f4", fmt::format("(1, {}, 2)", kSamples),
                           std::vector<float>(values.begin(), values.begin() + 2 * kSamples)));
  const Tensor one = read_file_examples(array, description).features;
  EXPECT_TRUE(std::ranges::equal(one.span(), set.features(0, 1).span()));
}

TEST_F(SignalFeatures, SequencesOfAFileAndRowsAreSignalsToo) {
  std::string text = "@classLabel true a b\n@data\n";
  std::string rows = "kind";
  std::string row;
  for (std::size_t i = 0; i < kSamples; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", i % 7 * 1000);
    rows += fmt::format(",t{}", i);
    row += fmt::format(",{}", i % 7 * 1000);
  }
  DataOptions options = shaken(0);
  options.signal_range = 0;
  const Dataset sequences = load_data(write("set.ts", text + ":a\n"), options).train;
  EXPECT_EQ(sequences.example_shape(), (Shape{4, 6}));
  options.target_column = "kind";
  const auto path = write("rows.csv", rows + "\na" + row + "\nb" + row + "\n");
  const Dataset set = load_data(path, options).train;
  EXPECT_EQ(set.example_shape(), (Shape{4, 6}));
  EXPECT_TRUE(std::ranges::equal(set.bytes().first(24), sequences.bytes()));
  const FileExamples found =
      read_file_examples(path, parse_data_description(to_text(*set.description())));
  EXPECT_TRUE(std::ranges::equal(found.features.span(), set.features(0, 2).span()));
}

TEST_F(SignalFeatures, ReadyFeaturesAndImagesAreNoSignals) {
  const auto path = write_records(drawn_signals(kSamples));
  const Dataset set = load_data(path, shaken(kSamples)).train;
  const DataDescription description = parse_data_description(to_text(*set.description()));
  std::vector<float> features(4 * 12);
  for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i) / 64;
  for (const char* shape : {"(4, 12)", "(1, 4, 12)"}) {
    const auto file = scratch_.write("ready.npy", npy_bytes("<f4", shape, features));
    EXPECT_TRUE(
        std::ranges::equal(read_file_examples(file, description).features.span(), features));
  }
  expect_mentions(message_of<FormatError>(
                      [&] { read_file_examples(write("a.png", "no picture"), description); }),
                  "found an image");
}

TEST_F(SignalFeatures, TestRecordsNeedNoWeights) {
  const std::vector<float> values = drawn_signals(kSamples);
  std::string weighed = "x,w,y,kind\n";
  for (std::size_t i = 0; i < values.size(); i += 2) {
    weighed += fmt::format("{},2,{},calm\n", values[i], values[i + 1]);
  }
  DataOptions options = shaken(kSamples);
  options.weight_column = "w";
  options.class_names = {"calm", "worn"};
  options.test_data = write_records(values);
  const DataSplit data = load_data(write("weighed.csv", weighed), options);
  EXPECT_EQ(data.train.sample_weights().size(), 1U);
  EXPECT_TRUE(std::ranges::equal(data.train.bytes(), data.test.bytes()));
  // Nor is their column a feature where it is there.
  options.test_data = write("again.csv", weighed);
  EXPECT_TRUE(load_data(scratch_.path() / "weighed.csv", options).test.sample_weights().empty());
}

TEST_F(SignalFeatures, WhatTheyDoNotTakeIsNamed) {
  const auto path = write_records(drawn_signals(kSamples));
  const auto wrong = [&](const auto& change, std::size_t window = kSamples) {
    DataOptions options = shaken(window);
    change(options);
    try {
      load_data(path, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_mentions(wrong([](DataOptions& o) { o.sample_rate = 0; }),
                  "expected the samples a second of the signals as --sample-rate, found none");
  expect_mentions(wrong([](DataOptions& o) { o.signal_range = 1; }),
                  "example 0: expected values from -1 to 1 as samples, found");
  expect_mentions(wrong([](DataOptions&) {}, 39),
                  "expected at least the 40 samples of a frame, found 39");
  expect_mentions(wrong([](DataOptions& o) { o.signal_range = 0; }),
                  "expected whole numbers from -32768 to 32768 as samples, found");
  expect_mentions(wrong([](DataOptions& o) { o.front_end = ""; }),
                  "--sample-rate describes a --front-end, found none");
  expect_mentions(wrong([](DataOptions& o) { o.chosen.insert("cepstra"); }),
                  "--cepstra: describes --front-end mfcc, found vibration");
  expect_mentions(wrong([](DataOptions& o) { o.front_end = "log-mel"; }),
                  "expected at least 300 samples a second, found 100; spectrogram");
  expect_mentions(
      wrong([](DataOptions& o) { o.frame_ms = 300; }),
      "--frame: expected at least 33 samples, found 30: 300 ms at 100 samples a second");
  expect_mentions(
      wrong([](DataOptions& o) { o.front_end = "fft"; }),
      "expected one of log-mel, mfcc, spectrogram, vibration, micro-speech, found 'fft'");
}

TEST_F(SignalFeatures, BytesAndDamagedRangesAreRefused) {
  scratch_.write("x.npy",
                 npy_bytes("|u1", fmt::format("(1, {}, 2)", kSamples), Bytes(2 * kSamples)));
  scratch_.write("y.npy", npy_bytes("|u1", "(1,)", Bytes{0}));
  DataOptions options = shaken(0);
  expect_mentions(message_of<InvalidArgument>([&] { load_data(scratch_.path(), options); }),
                  "expected signals as numbers, found bytes");
  for (const char* range : {"1e300", "-8", "0"}) {
    expect_mentions(message_of<FormatError>([&] {
                      parse_data_description(fmt::format(
                          R"({{"format": "CSV", "shape": [4, 12], "signal-range": {}}})", range));
                    }),
                    "signal-range: expected a number from 1e-09 to 1000000000, found");
  }
}

}  // namespace
}  // namespace octet::test::signal_features_test
