// Changes of samples before a front end makes features of them.

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/frontend/log_mel.h>
#include <octet/tests/frontend/sounds.h>
#include <octet/tests/train/data/epoch_of.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/signal_augmentation.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace octet::test::signal_augmentation_test {
namespace {

namespace fs = std::filesystem;

constexpr Index kSounds = 10;
constexpr Index kSamples = 500;
constexpr std::uint64_t kSeed = 5;

/// The samples of sound i, of which even ones are of class a.
std::vector<std::int16_t> sound(Index i) {
  std::vector<std::int16_t> samples =
      drawn_sound(i % 2 == 0 ? "impulses" : "square", kSamples + static_cast<std::size_t>(i));
  samples.erase(samples.begin(), samples.begin() + i);
  return samples;
}

class SignalAugmentation : public ::testing::Test {
 protected:
  fs::path wav_folder() const {
    for (Index i = 0; i < kSounds; ++i) {
      const fs::path folder = scratch_.path() / "sounds" / (i % 2 == 0 ? "a" : "b");
      fs::create_directories(folder);
      scratch_.write((folder / fmt::format("{}.wav", i)).string(), wav_bytes(8000, 1, sound(i)));
    }
    return scratch_.path() / "sounds";
  }

  /// The sounds of wav_folder() in the order of its examples, as counts.
  fs::path arrays() const {
    std::vector<float> values;
    std::vector<std::int64_t> labels;
    for (const Index first : {0, 1}) {
      for (Index i = first; i < kSounds; i += 2) {
        for (const std::int16_t sample : sound(i)) values.push_back(static_cast<float>(sample));
        labels.push_back(first);
      }
    }
    fs::create_directories(scratch_.path() / "arrays");
    scratch_.write("arrays/x.npy", npy_bytes("<f4", "(10, 500)", values));
    scratch_.write("arrays/y.npy", npy_bytes("<i8", "(10,)", labels));
    return scratch_.path() / "arrays";
  }

  const ScratchDirectory scratch_;
};

/// Batches of 4 that are changed as signals, or as the features that the set has.
DataLoader loader_of(const Dataset& set, const Augmentation& how, bool of_signals) {
  const LogMel front_end = LogMel::parse(set.front_end());
  return DataLoader(set, {.batch_size = 4,
                          .shuffle = false,
                          .seed = kSeed,
                          .augment = of_signals ? augment_signals(how, front_end) : augment(how),
                          .augments_signals = of_signals});
}

/// The features of the sounds after they are changed, in epoch 1; `unit` is full scale.
std::vector<float> expected_features(const LogMel& front_end, Augmentation how, float unit) {
  how.noise *= unit;
  std::vector<Index> order;
  for (Index i = 0; i < kSounds; ++i) order.push_back(i < 5 ? 2 * i : 2 * i - 9);
  std::vector<float> values;
  for (Index begin = 0; begin < kSounds; begin += 4) {
    const Index rows = std::min<Index>(4, kSounds - begin);
    Tensor signals({rows, kSamples, 1});
    auto to = signals.mutable_span().begin();
    for (Index row = 0; row < rows; ++row) {
      for (const std::int16_t sample : sound(order[static_cast<std::size_t>(begin + row)])) {
        *to++ = unit * static_cast<float>(sample) / 32768;
      }
    }
    Targets labels(Labels(static_cast<std::size_t>(rows), 0));
    augment(how)(signals, labels,
                 Random(kSeed).fork(2).fork(1).fork(static_cast<std::uint64_t>(begin / 4)));
    for (Index row = 0; row < rows; ++row) {
      std::vector<std::int16_t> heard;
      for (const float value : signals.span().subspan(static_cast<std::size_t>(row * kSamples),
                                                      static_cast<std::size_t>(kSamples))) {
        heard.push_back(front_end.to_sample(value));
      }
      for (const std::uint16_t feature : front_end.features(heard)) {
        values.push_back(static_cast<float>(front_end.to_byte(feature)) / 255);
      }
    }
  }
  return values;
}

TEST_F(SignalAugmentation, ChangesSamplesBeforeTheFrontEnd) {
  const KeepThreads keep;
  const DataOptions kept{
      .front_end = "log-mel", .frame_hop_ms = 1, .mel_channels = 8, .keep_signals = true};
  DataOptions streamed = kept;
  // A sound of 500 floats fits, but not ten examples of 33 x 8 bytes.
  streamed.max_bytes = 2000;
  DataOptions counts = kept;
  counts.sample_rate = 8000;
  struct Case {
    std::string what;
    Dataset set;
    float unit;
  };
  std::vector<Case> cases = {{"arrays", load_data(arrays(), counts).train, 32768}};
  if (reads_sounds()) {
    cases.push_back({"WAV", load_data(wav_folder(), kept).train, 1});
    streamed.length = static_cast<std::size_t>(kSamples);
    cases.push_back({"WAV, read anew", load_data(wav_folder(), streamed).train, 1});
    EXPECT_TRUE(cases.back().set.is_read());
  }
  for (const auto& [what, set, unit] : cases) {
    const LogMel front_end = LogMel::parse(set.front_end());
    for (const Augmentation& plain :
         {Augmentation{.noise = 0.05F}, Augmentation{.speed = 0.3F}, Augmentation{.time_shift = 90},
          Augmentation{.speed = 0.2F, .time_shift = 40, .noise = 0.01F}}) {
      const std::vector<float> expected = expected_features(front_end, plain, unit);
      Augmentation how = plain;
      how.noise *= unit;
      DataLoader loader = loader_of(set, how, true);
      for (const int threads : {1, 3}) {
        set_num_threads(threads);
        EXPECT_EQ(epoch_of(loader, {1, 0}), expected) << what << to_text(how) << threads;
      }
      // Gone on from the second batch.
      const std::vector<float> rest(
          expected.begin() + 4 * static_cast<std::ptrdiff_t>(set.example_shape().size()),
          expected.end());
      EXPECT_EQ(epoch_of(loader, {1, 1}), rest) << what;
      EXPECT_NE(epoch_of(loader, {2, 0}), expected) << what;
    }
    // Without changes of samples both ways are one.
    const Augmentation masks{.time_mask = 1, .frequency_mask = 3};
    DataLoader of_signals = loader_of(set, masks, true);
    DataLoader of_features = loader_of(set, masks, false);
    EXPECT_EQ(epoch_of(of_signals, {1, 0}), epoch_of(of_features, {1, 0})) << what;
    // Parts of a set have the signals of their rows.
    const Dataset part = set.subset(std::vector<std::uint32_t>{7, 2});
    const Batch signals = part.signal_batch(std::vector<std::uint32_t>{1, 0});
    EXPECT_TRUE(
        std::ranges::equal(signals.features.span(),
                           set.signal_batch(std::vector<std::uint32_t>{2, 7}).features.span()));
    EXPECT_EQ(signals.targets.labels(), (Labels{0, 1})) << what;
  }
}

TEST_F(SignalAugmentation, WhatItDoesNotTakeIsNamed) {
  const DataOptions options{.sample_rate = 8000, .front_end = "log-mel", .keep_signals = true};
  const Dataset kept = load_data(arrays(), options).train;
  DataOptions plain = options;
  plain.keep_signals = false;
  const Dataset features = load_data(arrays(), plain).train;
  const Augmentation noise{.noise = 1};
  expect_mentions(message_of<InvalidArgument>([&] { loader_of(features, noise, true); }),
                  "a set that keeps them (DataOptions::keep_signals), found one and none in");
  expect_mentions(
      message_of<InvalidArgument>([&] { DataLoader(kept, {.augments_signals = true}); }),
      "found none and signals in");
  expect_mentions(
      message_of<InvalidArgument>([&] { features.signal_batch(std::vector<std::uint32_t>{0}); }),
      "expected the signals that features were made of, found none");
  expect_mentions(message_of<InvalidArgument>([&] { Dataset(kept).with_signals(kept.head(1)); }),
                  "expected signals of its 10 examples, found 1");
  const Augment change = augment_signals(noise, LogMel::parse(kept.front_end()));
  for (const Shape& shape : {Shape{2, 100, 2}, Shape{2, 20}, Shape{2, 3, 4, 1}}) {
    Tensor x(shape);
    Targets labels(Labels{0, 1});
    expect_mentions(message_of<InvalidArgument>([&] { change(x, labels, Random(1)); }),
                    "augment_signals: expected signals [samples, 1] of at least the 240 samples");
  }
}

}  // namespace
}  // namespace octet::test::signal_augmentation_test
