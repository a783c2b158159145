// Folders whose examples do not fit DataOptions::max_bytes: they are decoded for each batch, and
// are in no way others than those in memory.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/random.h>
#include <octet/layers/reshape.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/fingerprint.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/normalization.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace octet::test::decoding_reader_test {
namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 24;

class DecodingReader : public ::testing::Test {
 protected:
  fs::path file(const std::string& folder, int i) const {
    return scratch_.path() / folder / (i % 3 == 0 ? "a" : "b") / fmt::format("{}", i);
  }

  /// Pictures of 4 x 4 pixels, brighter in class b.
  fs::path pictures() const {
    for (int i = 0; i < kFiles; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      Bytes pixels(48);
      std::uint64_t at = 0;
      for (std::uint8_t& value : pixels) {
        value = static_cast<std::uint8_t>(random.below(at++, 128) + (i % 3 == 0 ? 0U : 100U));
      }
      put(file("pictures", i).concat(".png"), png_bytes(4, 4, 3, pixels));
    }
    return scratch_.path() / "pictures";
  }

  /// Sounds of 90 to 113 samples, every fourth at twice the rate.
  fs::path sounds() const {
    for (int i = 0; i < kFiles; ++i) {
      Random random(static_cast<std::uint64_t>(i));
      std::vector<std::int16_t> samples(static_cast<std::size_t>(90 + i));
      std::uint64_t at = 0;
      for (std::int16_t& value : samples) {
        value = static_cast<std::int16_t>(random.below(at++, i % 3 == 0 ? 3000 : 30000));
      }
      put(file("sounds", i).concat(".wav"), wav_bytes(i % 4 == 0 ? 2000 : 1000, 1, samples));
    }
    return scratch_.path() / "sounds";
  }

  static void put(const fs::path& path, const Bytes& bytes) {
    fs::create_directories(path.parent_path());
    write_file_atomic(path, bytes);
  }

  const ScratchDirectory scratch_;
};

/// Expects that the sets give the same, whatever is asked of them.
void expect_equal(const Dataset& read, const Dataset& kept) {
  ASSERT_TRUE(read.is_read());
  ASSERT_FALSE(kept.is_read());
  ASSERT_EQ(read.size(), kept.size());
  EXPECT_TRUE(std::ranges::equal(read.labels(), kept.labels()));
  EXPECT_EQ(read.class_names(), kept.class_names());
  EXPECT_EQ(read.front_end(), kept.front_end());
  EXPECT_EQ(fingerprint(read), fingerprint(kept));
  const std::vector<std::uint32_t> rows = {3, 0, 3, 2};
  const auto values_of = [](const Batch& batch) {
    return std::vector<float>(batch.features.span().begin(), batch.features.span().end());
  };
  EXPECT_EQ(read.batch(rows).features.dtype(), kept.batch(rows).features.dtype());
  EXPECT_EQ(values_of(read.batch(rows)), values_of(kept.batch(rows)));
  EXPECT_EQ(read.batch(rows).targets.labels(), kept.batch(rows).targets.labels());
  // Parts of parts.
  const Dataset part = read.subset(rows).slice(1, 4);
  EXPECT_EQ(fingerprint(part), fingerprint(kept.subset(rows).slice(1, 4)));
  EXPECT_EQ(part.targets(0, 2).labels(), kept.targets(std::vector<std::uint32_t>{0, 3}).labels());
}

Sequential network_for(const Dataset& data) {
  Sequential model("net", Input(data.example_shape()), Flatten(), Dense(2, Activation::softmax));
  model.build(1);
  return model;
}

/// What a training of floats and then of integers comes to, with a normalization that is measured.
std::pair<Snapshot, Evaluation> trained(const DataSplit& data) {
  const Normalization how = measure_normalization(data.train);
  const Dataset train = normalized(data.train, how);
  const Dataset test = normalized(data.test, how);
  const Sequential model = network_for(train);
  Sequential quantized = quantize_model(model);
  Trainer trainer(quantized, Adam(0.01F), {.test_loss = true, .batch_size = 5});
  trainer.fit(train, test, 2);
  return {snapshot_of(trainer), evaluate(trainer.lower(), test)};
}

void expect_same_run(const fs::path& folder, DataOptions options, std::size_t most) {
  options.split = 0.7;
  const DataSplit kept = load_data(folder, options);
  options.max_bytes = most;
  const DataSplit read = load_data(folder, options);
  expect_equal(read.train, kept.train);
  expect_equal(read.test, kept.test);
  const auto expected = trained(kept);
  const auto found = trained(read);
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.second.predictions, expected.second.predictions);
}

TEST_F(DecodingReader, PicturesAreThoseInMemory) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  const fs::path folder = pictures();
  for (const DataOptions& options :
       {DataOptions{}, DataOptions{.height = 3, .width = 5, .grey = true}}) {
    expect_same_run(folder, options, 300);
  }
}

TEST_F(DecodingReader, SoundsAreThoseInMemory) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  const fs::path folder = sounds();
  for (const DataOptions& options :
       {DataOptions{.length = 100}, DataOptions{.length = 100, .padding = SequencePadding::mask},
        DataOptions{.length = 100,
        .front_end = "log-mel",
        .frame_ms = 20,
        .frame_hop_ms = 1,
        .mel_channels = 4}}) {
    expect_same_run(folder, options, 800);
  }
}

TEST_F(DecodingReader, ExamplesThatCannotBeReadAreLeftOut) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  const fs::path folder = pictures();
  put(file("pictures", 3).concat(".png"), {'P'});
  const DataSplit kept = load_data(folder, {.height = 4, .width = 4, .skip_bad = 1});
  const DataSplit read =
      load_data(folder, {.height = 4, .width = 4, .skip_bad = 1, .max_bytes = 500});
  expect_equal(read.train, kept.train);
  EXPECT_EQ(read.skipped, kept.skipped);
}

TEST_F(DecodingReader, AFileThatIsGoneOrReplacedIsNamed) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  const DataSplit data = load_data(pictures(), {.max_bytes = 500});
  const fs::path path = file("pictures", 7).concat(".png");
  Sequential model = network_for(data.train);
  Trainer trainer(model, Adam(), {.batch_size = 5});
  trainer.fit(data.train, 1);
  for (const Bytes& other : {png_bytes(4, 4, 3, Bytes(48, 9)), png_bytes(2, 4, 3, Bytes(24, 9))}) {
    put(path, other);
    expect_mentions(message_of<FormatError>([&] { trainer.fit(data.train, 1); }),
                    path.string() + ": expected the example that it held");
  }
  fs::remove(path);
  expect_mentions(message_of<IoError>([&] { trainer.fit(data.train, 1); }), path.string());
}

}  // namespace
}  // namespace octet::test::decoding_reader_test
