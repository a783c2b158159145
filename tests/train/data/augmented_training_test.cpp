// Equal seeds give equal augmented bytes: on any number of threads, and in a run that is resumed.

#include <gtest/gtest.h>
#include <octet/layers/reshape.h>
#include <octet/tests/train/data/epoch_of.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/image_augmentation.h>

#include <algorithm>
#include <optional>

namespace octet::test::augmented_training_test {
namespace {

/// Images of which each class has its own bright spot.
Dataset spots(std::size_t count) {
  Bytes pixels = counting(count * 6 * 8);
  Labels labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = static_cast<std::int32_t>(i % 3);
    for (auto& pixel : std::span(pixels).subspan(i * 48, 48))
      pixel = static_cast<std::uint8_t>(pixel / 4);
    pixels[i * 48 + 17 + 3 * (i % 3)] = 255;
  }
  return Dataset::from_bytes("spots", {6, 8, 1}, std::move(pixels), std::move(labels), 3);
}

const ImageAugmentation kAll = {.shift_rows = 1,
                                .shift_columns = 2,
                                .crop_height = 5,
                                .crop_width = 7,
                                .flip = 0.5F,
                                .cutout = 2};

TEST(AugmentedTraining, DependsOnSeedEpochAndPlaceAlone) {
  const KeepThreads keep;
  // More images than one chunk of a parallel loop has.
  const Dataset data = spots(3000);
  const auto loader = [&](std::uint64_t seed) {
    return DataLoader(data, {.batch_size = 1400, .seed = seed, .augment = augment_images(kAll)});
  };
  DataLoader first = loader(3);
  set_num_threads(1);
  const std::vector<float> expected = epoch_of(first, {2, 0});
  for (const int threads : {1, 2, 3, 4, 7}) {
    set_num_threads(threads);
    DataLoader again = loader(3);
    EXPECT_EQ(epoch_of(again, {2, 0}), expected) << threads << " threads";
    // Gone on from the middle of the epoch.
    const std::size_t done = 1400 * 5 * 7;
    const std::vector<float> rest(expected.begin() + static_cast<std::ptrdiff_t>(done),
                                  expected.end());
    EXPECT_EQ(epoch_of(again, {2, 1}), rest) << threads << " threads";
    EXPECT_NE(epoch_of(again, {3, 0}), expected);
  }
  DataLoader other = loader(4);
  EXPECT_NE(epoch_of(other, {2, 0}), expected);
}

TEST(AugmentedTraining, AnEpochDiffersFromTheNextOne) {
  const Dataset data = spots(30);
  // In one order, so that only the augmentation can tell epochs apart.
  DataLoader loader(data, {.batch_size = 8, .shuffle = false, .augment = augment_images(kAll)});
  const std::vector<float> first = epoch_of(loader, {0, 0});
  EXPECT_EQ(epoch_of(loader, {0, 0}), first);
  EXPECT_NE(epoch_of(loader, {1, 0}), first);
  // Nor do two batches of an epoch share their draws.
  Bytes pixels;
  for (int i = 0; i < 16; ++i) {
    const Bytes image = counting(48);
    pixels.insert(pixels.end(), image.begin(), image.end());
  }
  const Dataset copies = Dataset::from_bytes("copies", {6, 8, 1}, pixels, Labels(16, 0), 1);
  DataLoader twice(copies, {.batch_size = 8, .shuffle = false, .augment = augment_images(kAll)});
  const std::vector<float> both = epoch_of(twice, {0, 0});
  EXPECT_FALSE(std::ranges::equal(std::span(both).first(both.size() / 2),
                                  std::span(both).last(both.size() / 2)));
}

/// Trains on windows of the images, in float and then in integers; stops after `stop_after` steps
/// and goes on in trainers of their own.
Snapshot trained(bool quantized, int threads, std::optional<std::uint64_t> stop_after = {}) {
  set_num_threads(threads);
  const Dataset train = spots(37);
  const Dataset test = center_crop(train, 5, 7);
  const auto model = [&] {
    Sequential plain("spots", Input({5, 7, 1}), Reshape({35}), Dense(9, Activation::relu),
                     Dense(3, Activation::softmax));
    plain.build(5);
    return quantized ? quantize_model(plain) : plain;
  };
  const auto options = [&](std::function<bool()> should_stop) {
    return TrainerOptions{.batch_size = 8,
                          .seed = 6,
                          .augment = augment_images(kAll),
                          .should_stop = std::move(should_stop)};
  };
  Sequential first_model = model();
  std::uint64_t done = 0;
  Trainer first(first_model, Adam(), options([&] { return stop_after && ++done == *stop_after; }));
  first.fit_until(train, test, 2);
  if (!stop_after) return snapshot_of(first);
  EXPECT_TRUE(first.stopped());
  const ScratchDirectory scratch;
  first.save_checkpoint(scratch.path() / "c");
  Sequential second_model = model();
  Trainer second(second_model, Adam(), options({}));
  second.load_checkpoint(scratch.path() / "c");
  second.fit_until(train, test, 2);
  return snapshot_of(second);
}

TEST(AugmentedTraining, TrainsToTheSameBytesOnAnyThreadsAndResumed) {
  const KeepThreads keep;
  for (const bool quantized : {false, true}) {
    const Snapshot whole = trained(quantized, 1);
    for (const int threads : {2, 3, 7}) EXPECT_EQ(trained(quantized, threads), whole) << threads;
    for (const std::uint64_t stop : {2U, 5U, 8U}) {
      EXPECT_EQ(trained(quantized, 2, stop), whole) << "stopped after step " << stop;
    }
  }
}

}  // namespace
}  // namespace octet::test::augmented_training_test
