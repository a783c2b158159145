// Pictures, sounds, series and tables that ask for much: what is allocated by operator new stays
// within the bounds that docs/guarantees.md states. Buffers of the decoders' own are not counted.

#include <octet/core/error.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/tests/train/data/wav_files.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/data_loader.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/sound_reader.h>
#include <octet/train/data/ts.h>
#include <octet/train/data/wav_folder.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace octet::test::memory_bound_media_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

TEST(MemoryBound, APictureTakesItsPixels) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  constexpr std::size_t kPixels = 1000 * 1001;
  const Bytes png = png_bytes(1000, 1001, 1, Bytes(kPixels, 7));
  EXPECT_LT(peak_of([&] { decode_image(png, "f"); }), 3 * kPixels + kMiB);
  const Bytes bmp =
      bmp_bytes({.height = 1000, .width = 1001, .bits = 8}, Bytes(kPixels), {1, 2, 3});
  EXPECT_LT(peak_of([&] { decode_image(bmp, "f"); }), 3 * bmp.size() + kMiB);
  // What their headers promise is the most that is allowed, and more.
  for (const std::int32_t height : {1 << 13, 1 << 14}) {
    const auto rows = static_cast<std::uint32_t>(height);
    const Bytes little = png_bytes(rows, 1U << 13U, 3, {});
    EXPECT_LT(peak_of([&] { EXPECT_THROW(decode_image(little, "f"), FormatError); }),
              (height == 1 << 13 ? 3 * (std::size_t{1} << 26U) : 0) + kMiB);
    Bytes promise = bmp_bytes({.height = 1, .width = 1}, {1, 2, 3});
    promise[19] = 1U << 5U;
    promise[23] = static_cast<std::uint8_t>(rows >> 8U);
    EXPECT_LT(peak_of([&] { EXPECT_THROW(decode_image(promise, "f"), FormatError); }), kMiB);
  }
}

TEST(MemoryBound, AFolderThatDoesNotFitTakesFewBatches) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  constexpr std::size_t kPixels = 256 * 256;
  constexpr std::size_t kFiles = 256;
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.path() / "a");
  const Bytes png = png_bytes(256, 256, 1, Bytes(kPixels, 7));
  for (std::size_t i = 0; i < kFiles; ++i) scratch.write("a/" + std::to_string(i) + ".png", png);
  const auto peak_with = [&](std::size_t most) {
    return peak_of([&] {
      const DataSplit data = load_data(scratch.path(), {.max_bytes = most});
      DataLoader loader(data.train, {.batch_size = 4});
      loader.start_epoch(0);
      for (Batch batch; loader.next(batch);) EXPECT_EQ(batch.targets.size(), 4U);
    });
  };
  EXPECT_GT(peak_with(kFiles * kPixels), kFiles * kPixels);
  // Four batches, and what decoding on several threads takes.
  EXPECT_LT(peak_with(kFiles * kPixels - 1), 16 * kPixels + 3 * kMiB);
}

TEST(MemoryBound, ASoundTakesWhatItsFileHolds) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  const ScratchDirectory scratch;
  // One more than a vector's capacity before it grows.
  const std::vector<std::int16_t> samples(2 * kMiB + 64);
  for (const std::uint32_t channels : {1U, 64U}) {
    const Bytes whole = wav_bytes(8000, channels, samples);
    const auto path = scratch.write("a.wav", whole);
    EXPECT_LT(peak_of([&] { read_wav(path); }), 4 * samples.size() + kMiB) << channels;
    EXPECT_LT(peak_of([&] { read_wav(path, 1); }), kMiB) << channels;
    // Its header promises more than 2 GiB, as that of a recording which was piped.
    Bytes little = wav_bytes(8000, channels, std::vector<std::int16_t>(64));
    for (const std::size_t at : {4U, 40U}) {
      for (std::size_t i = 0; i < 4; ++i) little[at + i] = 0xFF;
    }
    const auto cut = scratch.write("b.wav", little);
    EXPECT_LT(peak_of([&] { EXPECT_EQ(read_wav(cut).values.size(), 64U); }), kMiB) << channels;
  }
}

TEST(MemoryBound, AResampledSoundTakesBoth) {
  if (!reads_sounds()) GTEST_SKIP() << "this build reads no sounds (OCTET_SOUNDS)";
  const ScratchDirectory scratch;
  const std::vector<std::int16_t> samples(kMiB);
  const auto path = scratch.write("a.wav", wav_bytes(16000, 1, samples));
  for (const auto& [rate, table] : {std::pair(8000, 0U), std::pair(23993, 17U)}) {
    const DataOptions options{.sample_rate = rate};
    const std::size_t after = samples.size() * static_cast<std::size_t>(rate) / 16000;
    EXPECT_LT(peak_of([&] { SoundReader(options).read(path); }),
              4 * (samples.size() + after) + kMiB + table * kMiB);
  }
  // A file of few samples that would become very many.
  const auto slow = scratch.write("b.wav", wav_bytes(1, 1, std::vector<std::int16_t>(30000)));
  const DataOptions options{.sample_rate = 50000, .max_bytes = kMiB};
  EXPECT_LT(peak_of([&] { EXPECT_THROW(SoundReader(options).read(slow), InvalidArgument); }),
            19 * kMiB);
}

TEST(MemoryBound, ASeriesTakesFewTimesItsFile) {
  const ScratchDirectory scratch;
  std::string channel;
  for (std::size_t i = 0; i <= kMiB; ++i) channel += i == 0 ? "1" : ",1";
  std::string series;
  for (std::size_t i = 0; i < kMiB / 4; ++i) series += "1:a\n";
  for (const std::string& text : {channel + ":a\n", series, std::string(kMiB, ',') + ":a\n",
                                  std::string(kMiB, ':'), std::string(kMiB, '\n')}) {
    const std::string file = "@classLabel true a\n@data\n" + text;
    const auto path = scratch.write("a.ts", Bytes(file.begin(), file.end()));
    const std::size_t peak = peak_of([&] {
      try {
        load_ts(path);
      } catch (const FormatError&) {
        // A file of nothing but separators is refused.
      }
    });
    EXPECT_LT(peak, 16 * file.size() + 8 * kMiB) << text.substr(0, 4);
  }
}

TEST(MemoryBound, ATableTakesFewTimesItsFile) {
  const ScratchDirectory scratch;
  std::string pairs = "x,kind\n";
  for (std::size_t i = 0; i < kMiB / 2; ++i) pairs += "1,a\n";
  for (const std::string& text : {pairs, std::string(kMiB - 1, ',') + "\n1\n"}) {
    const auto path = scratch.write("a.csv", Bytes(text.begin(), text.end()));
    const std::size_t peak = peak_of([&] {
      try {
        load_csv_data(path);
      } catch (const FormatError&) {
        // Columns without names are refused.
      }
    });
    EXPECT_LT(peak, 64 * text.size() + 128 * kMiB) << text.substr(0, 4);
  }
}

}  // namespace
}  // namespace octet::test::memory_bound_media_test
