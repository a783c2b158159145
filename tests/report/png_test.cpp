#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/report/png.h>
#include <octet/tests/core/thrown.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet::test::png_test {
namespace {

std::uint32_t number_at(const std::string& file, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

/// The rows of a PNG file of one IDAT, their filter bytes in front; every checksum is checked.
std::vector<int> rows_of(const std::string& file, std::size_t bytes) {
  std::vector<int> rows;
  for (std::size_t at = 8; at < file.size();) {
    const std::size_t size = number_at(file, at);
    const std::string type = file.substr(at + 4, 4);
    const auto* body = reinterpret_cast<const Bytef*>(file.data()) + at + 4;
    EXPECT_EQ(crc32(0L, body, static_cast<uInt>(size + 4)), number_at(file, at + 8 + size));
    if (type == "IDAT") {
      std::vector<Bytef> found(bytes);
      uLongf length = bytes;
      EXPECT_EQ(uncompress(found.data(), &length, body + 4, size), Z_OK);
      EXPECT_EQ(length, bytes);
      rows.assign(found.begin(), found.end());
    }
    at += size + 12;
  }
  return rows;
}

TEST(PngFile, HoldsThePixels) {
  const std::vector<std::uint8_t> grey = {0, 255, 128, 51, 0, 255};
  const std::string file = png_file(grey, {2, 3, 1});
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(number_at(file, 16), 3U);
  EXPECT_EQ(number_at(file, 20), 2U);
  EXPECT_EQ(rows_of(file, 8), (std::vector{0, 0, 255, 128, 0, 51, 0, 255}));
  const std::string colors = png_file(grey, {2, 1, 3});
  EXPECT_EQ(colors[25], '\x02');
  EXPECT_EQ(rows_of(colors, 8), (std::vector{0, 0, 255, 128, 0, 51, 0, 255}));
}

TEST(PngFile, RefusesWhatIsNoPicture) {
  const std::vector<std::uint8_t> values(12, 7);
  for (const PixelSize& size :
       {PixelSize{3, 2, 2}, PixelSize{3, 3, 1}, PixelSize{0, 12, 1}, PixelSize{-3, -4, 1}}) {
    expect_throws<InvalidArgument>([&] { png_file(values, size); },
                                   {"png_file: expected", "found 12 values"});
  }
}

TEST(Base64, IsThatOfTheRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

}  // namespace
}  // namespace octet::test::png_test
