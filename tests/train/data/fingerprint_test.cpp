#include <octet/core/parallel.h>
#include <octet/tests/train/data/idx_files.h>
#include <octet/train/data/fingerprint.h>

#include <algorithm>
#include <set>

namespace octet::test::fingerprint_test {
namespace {

std::uint64_t hash_of(std::string_view text) {
  return xxh64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Fingerprint, TheHashIsXxh64) {
  // What xxhsum -H64 prints.
  EXPECT_EQ(hash_of(""), 0xEF46DB3751D8E999U);
  EXPECT_EQ(hash_of("a"), 0xD24EC4F1A98C6E5BU);
  EXPECT_EQ(hash_of("abc"), 0x44BC2CF5AD770999U);
  EXPECT_EQ(hash_of("message digest"), 0x066ED728FCEEB3BEU);
  EXPECT_EQ(hash_of("abcdefghijklmnopqrstuvwxyz"), 0xCFE1F278FA89835CU);
  EXPECT_EQ(hash_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            0xAAA46907D3047814U);
}

/// Three million pixels: several pieces.
constexpr std::size_t kCount = 3000;

Dataset bytes_set(Bytes pixels, Labels labels, int classes = 4, Shape shape = {1000}) {
  return Dataset::from_bytes("set", std::move(shape), std::move(pixels), std::move(labels),
                             classes);
}

TEST(Fingerprint, TellsWhatHasChangedButNotTheName) {
  const Bytes pixels = counting(kCount * 1000);
  const Labels labels(kCount, 1);
  const std::string before = fingerprint(bytes_set(pixels, labels));
  EXPECT_EQ(before.size(), 16U);
  EXPECT_EQ(fingerprint(Dataset::from_bytes("other", {1000}, pixels, labels, 4)), before);
  std::set<std::string> seen = {before};
  const auto expect_new = [&](const Dataset& data) {
    EXPECT_TRUE(seen.insert(fingerprint(data)).second);
  };
  for (const std::size_t place : {std::size_t{0}, std::size_t{1234567}, pixels.size() - 1}) {
    Bytes changed = pixels;
    changed[place] ^= 1U;
    expect_new(bytes_set(changed, labels));
  }
  Labels relabelled = labels;
  relabelled.back() = 2;
  expect_new(bytes_set(pixels, relabelled));
  expect_new(bytes_set(pixels, labels, 5));
  expect_new(bytes_set(pixels, labels, 4, {10, 100}));
  expect_new(bytes_set(pixels, labels).head(kCount - 1));
  // Equal examples in another order, whole pieces among them.
  Bytes turned = pixels;
  std::rotate(turned.begin(), turned.begin() + (std::ptrdiff_t{1} << 20) / 1000 * 1000,
              turned.end());
  expect_new(bytes_set(turned, labels));
  expect_new(Dataset());
}

TEST(Fingerprint, OfTensorsAsTargets) {
  const Dataset labelled = bytes_set(counting(6), {0, 1}, 2, {3});
  const auto of = [&](std::initializer_list<float> targets, const Shape& shape) {
    return fingerprint(labelled.with_targets(Tensor::from(shape, targets)));
  };
  const std::set<std::string> seen = {fingerprint(labelled), of({0, 1}, {2, 1}), of({1, 0}, {2, 1}),
                                      of({0, 1, 1, 0}, {2, 2}), of({0, 1, 1, 0}, {2, 2, 1})};
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(of({0, 1}, {2, 1}), of({0, 1}, {2, 1}));
}

/// Says who it is, and is never read.
struct Named : DatasetReader {
  std::size_t size() const override { return count; }
  Shape example_shape() const override { return {3}; }
  int classes() const override { return 2; }
  std::string identity() const override { return name; }
  Batch read(std::span<const std::uint32_t> /*rows*/) override {
    ADD_FAILURE() << "a set that may be huge is read";
    return {};
  }
  std::size_t count = 5;
  std::string name = "a";
};

TEST(Fingerprint, OfASetThatIsReadIsItsIdentity) {
  std::set<std::string> seen;
  for (const char* name : {"a", "b"}) {
    for (const std::size_t count : {5U, 6U}) {
      const auto reader = std::make_shared<Named>();
      reader->name = name;
      reader->count = count;
      seen.insert(fingerprint(Dataset::from_reader("set", reader)));
    }
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(Fingerprint, FloatsAndThreads) {
  std::vector<float> values(kCount * 1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 999) / 7.0F;
  const auto set = [&] {
    return Dataset::from_floats("set", {1000}, values, Labels(kCount, 0), 1);
  };
  const int threads = num_threads();
  const std::string before = fingerprint(set());
  for (const int count : {1, 2, 3}) {
    set_num_threads(count);
    EXPECT_EQ(fingerprint(set()), before);
  }
  set_num_threads(threads);
  values[2500000] += 0.5F;
  EXPECT_NE(fingerprint(set()), before);
}

}  // namespace
}  // namespace octet::test::fingerprint_test
