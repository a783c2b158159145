#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/import/weights/weight_file.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/train/data/npy_files.h>

#include <algorithm>
#include <string_view>

namespace octet::test::npz_test {
namespace {

using Files = std::vector<std::pair<std::string, Bytes>>;

const Bytes kFloats = npy_bytes<float>("<f4", "(2, 2)", {0.5F, -1.0F, 2.0F, 3e38F});

std::vector<WeightTensor> read(const Bytes& bytes) {
  const ScratchDirectory scratch;
  return read_weight_file(scratch.write("a.npz", bytes));
}

std::string error(const Bytes& bytes) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("a.npz", bytes);
  std::string message = message_of<FormatError>([&] { read_npz(path); });
  expect_mentions(message, path.string());
  return message;
}

/// Puts `value`, of four bytes, at `offset` behind the last place where `mark` stands.
void put(Bytes& bytes, std::string_view mark, std::size_t offset, std::uint32_t value) {
  const auto at = std::find_end(bytes.begin(), bytes.end(), mark.begin(), mark.end());
  ASSERT_NE(at, bytes.end());
  for (int i = 0; i < 4; ++i) {
    *(at + static_cast<std::ptrdiff_t>(offset) + i) = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

constexpr std::string_view kLocal = "PK\x03\x04";
constexpr std::string_view kEntry = "PK\x01\x02";

TEST(ReadNpz, ReadsStoredAndDeflatedArrays) {
  const Bytes doubles = npy_bytes<double>("<f8", "()", {1.0 / 3.0});
  const Bytes count = npy_bytes<std::int64_t>("<i8", "(1,)", {7});
  for (const bool deflate : {false, true}) {
    const auto tensors = read(zip_bytes(
        {{"z/kernel:0.npy", kFloats}, {"b.npy", doubles}, {"count.npy", count}}, deflate));
    ASSERT_EQ(tensors.size(), 3U);
    EXPECT_EQ(tensors[0].name, "z/kernel:0");
    EXPECT_EQ(tensors[0].type, "F32");
    EXPECT_EQ(tensors[0].shape, (Shape{2, 2}));
    const Tensor& values = tensors[0].values;
    EXPECT_EQ(values.at({1, 1}), 3e38F);
    EXPECT_EQ(tensors[1].type, "F64");
    EXPECT_EQ(tensors[1].values.item(), static_cast<float>(1.0 / 3.0));
    EXPECT_EQ(tensors[2].type, "I64");
    EXPECT_FALSE(tensors[2].values.defined());
  }
  EXPECT_TRUE(read_npz(ScratchDirectory().write("empty", zip_bytes({}, false))).empty());
}

TEST(ReadNpz, RefusesWhatIsNoArray) {
  expect_mentions(error(zip_bytes({{"archive/data.pkl", {1}}}, false)), "checkpoint of PyTorch");
  expect_mentions(error(zip_bytes({{"a.npy", {1, 2}}}, false)), "\"a.npy\": too short");
  expect_mentions(error(zip_bytes({{"a.npy", kFloats}, {"a.npy", kFloats}}, true)), "no sound zip");
  expect_mentions(error({'P', 'K', 3, 4, 0, 0}), "no sound zip");
  expect_mentions(error({}), "empty file");
  Bytes long_array = kFloats;
  long_array.push_back(0);
  expect_mentions(error(zip_bytes({{"a.npy", long_array}}, false)), "after the 16");
}

TEST(ReadNpz, RefusesDamagedBytesAndChecksums) {
  for (const bool deflate : {false, true}) {
    Bytes zip = zip_bytes({{"a.npy", kFloats}}, deflate);
    // The checksum, which both headers have.
    put(zip, kLocal, 14, 12345);
    put(zip, kEntry, 16, 12345);
    expect_mentions(error(zip), "damaged");
  }
  Bytes zip = zip_bytes({{"a.npy", kFloats}}, false);
  zip[zip.size() - 90] ^= 1;  // in the values, before directory and end: 51 and 22 bytes
  expect_mentions(error(zip), "damaged");
}

TEST(ReadNpz, RefusesSizesThatCannotBe) {
  for (const bool deflate : {false, true}) {
    Bytes zip = zip_bytes({{"a.npy", kFloats}}, deflate);
    put(zip, kLocal, 22, 1U << 30U);
    put(zip, kEntry, 24, 1U << 30U);
    expect_mentions(error(zip), "promises 1073741824 bytes");
  }
  // A little more than there is.
  Bytes zip = zip_bytes({{"a.npy", kFloats}}, true);
  const auto size = static_cast<std::uint32_t>(kFloats.size());
  put(zip, kLocal, 22, size + 1);
  put(zip, kEntry, 24, size + 1);
  expect_mentions(error(zip), "damaged");
}

TEST(ReadNpz, CountsTheBytesOfAllArraysTogether) {
  // Deflated bytes that could come to 1 GiB: as much as all arrays may, and more with the first.
  Bytes noise(1100000);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : noise) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  Bytes zip = zip_bytes({{"a.npy", kFloats}, {"b.npy", noise}}, true);
  put(zip, kLocal, 22, 1U << 30U);
  put(zip, kEntry, 24, 1U << 30U);
  expect_mentions(error(zip), "the arrays come to more than 1073741824 bytes");
}

TEST(ReadNpz, RefusesOtherCompressions) {
  Bytes zip = zip_bytes({{"a.npy", kFloats}}, false);
  put(zip, kLocal, 8, 12);  // bzip2
  put(zip, kEntry, 10, 12);
  EXPECT_THROW(read(zip), FormatError);
}

}  // namespace
}  // namespace octet::test::npz_test
