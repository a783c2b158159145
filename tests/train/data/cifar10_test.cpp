#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/cifar10.h>

#include <algorithm>

namespace octet::test::cifar10_test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecord = 3073;

/// `labels.size()` records whose pixels are all different from those of the record before.
Bytes cifar_bytes(const Bytes& labels) {
  Bytes bytes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    bytes.push_back(labels[i]);
    Bytes pixels = counting(kRecord - 1);
    for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(pixel + 3 * i);
    bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  }
  return bytes;
}

TEST(Cifar10, PlanesBecomeChannels) {
  const ScratchDirectory scratch;
  const Bytes file = cifar_bytes({7, 0, 9});
  const Dataset set = read_cifar10(scratch.write("part.bin", file));
  EXPECT_EQ(set.name(), "part.bin");
  EXPECT_EQ(set.example_shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(set.classes(), 10);
  EXPECT_TRUE(std::ranges::equal(set.labels(), Labels{7, 0, 9}));
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t y = 0; y < 32; ++y) {
      for (std::size_t x = 0; x < 32; ++x) {
        for (std::size_t c = 0; c < 3; ++c) {
          ASSERT_EQ(set.bytes()[((n * 32 + y) * 32 + x) * 3 + c],
                    file[n * kRecord + 1 + c * 1024 + y * 32 + x])
              << n << ' ' << y << ' ' << x << ' ' << c;
        }
      }
    }
  }
}

TEST(Cifar10, ReadsMoreThanOnePieceAndGzippedFiles) {
  const ScratchDirectory scratch;
  Bytes labels = counting(300);
  for (auto& label : labels) label = static_cast<std::uint8_t>(label % 10);
  const Bytes file = cifar_bytes(labels);
  const Dataset plain = read_cifar10(scratch.write("a", file));
  const Dataset packed = read_cifar10(scratch.write("b", gzipped(file)));
  EXPECT_EQ(plain.size(), 300U);
  EXPECT_EQ(plain.labels()[299], labels[299]);
  EXPECT_TRUE(std::ranges::equal(plain.bytes(), packed.bytes()));
}

TEST(Cifar10, ReadsAWholeSet) {
  const ScratchDirectory scratch;
  const auto load = [&] { return load_cifar10(scratch.path()); };
  for (int i = 1; i <= 5; ++i) {
    expect_mentions(message_of<IoError>(load), fmt::format("has no data_batch_{}.bin", i));
    scratch.write(fmt::format("data_batch_{}.bin", i), cifar_bytes({static_cast<std::uint8_t>(i)}));
  }
  expect_mentions(message_of<IoError>(load), "has no test_batch.bin");
  scratch.write("test_batch.bin", cifar_bytes({0, 8}));
  const DataSplit split = load();
  EXPECT_TRUE(std::ranges::equal(split.train.labels(), Labels{1, 2, 3, 4, 5}));
  EXPECT_TRUE(std::ranges::equal(split.test.labels(), Labels{0, 8}));
  EXPECT_EQ(split.train.name(), scratch.path().filename().string());
}

TEST(Cifar10, CutsAreRefused) {
  const ScratchDirectory scratch;
  const Bytes whole = cifar_bytes({1});
  // The last of these sizes is one byte less than the whole.
  for (std::size_t kept = 0; kept < whole.size(); kept += 16) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept));
    EXPECT_THROW(read_cifar10(scratch.write("cut", cut)), FormatError) << kept;
  }
  const Bytes packed = gzipped(whole);
  for (std::size_t kept = 0; kept < packed.size(); ++kept) {
    const Bytes cut(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(kept));
    EXPECT_THROW(read_cifar10(scratch.write("cut", cut)), FormatError) << kept;
  }
}

TEST(Cifar10, RefusesOtherSizesAndLabels) {
  const ScratchDirectory scratch;
  const auto error = [&](const Bytes& bytes) {
    const fs::path path = scratch.write("a", bytes);
    const std::string message = message_of<FormatError>([&] { read_cifar10(path); });
    expect_mentions(message, path.string());
    return message;
  };
  expect_mentions(error({}), "found 0 bytes");
  expect_mentions(error(Bytes(2 * 3074)), "2 records and 2 bytes more");
  expect_mentions(error(gzipped(Bytes(3074))), "1 records and 1 bytes more");
  expect_mentions(error(cifar_bytes({0, 10})), "label of 0 to 9 in record 1, found 10");
  Bytes many(300 * kRecord);
  many[280 * kRecord] = 77;
  expect_mentions(error(many), "in record 280, found 77");
}

}  // namespace
}  // namespace octet::test::cifar10_test
