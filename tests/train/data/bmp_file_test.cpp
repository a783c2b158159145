#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/train/data/image_file.h>

#include <cstdint>
#include <string>
#include <vector>

namespace octet::test::bmp_file_test {
namespace {

class BmpFile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  }
};

/// The file with another number at a place, of 2 bytes where `is_short`.
Bytes with(Bytes file, std::size_t at, std::uint32_t value, bool is_short = false) {
  for (std::size_t i = 0; i < (is_short ? 2 : 4); ++i) {
    file[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return file;
}

/// The file with `more` between the header of 40 bytes and what comes behind it, as a header of so
/// many bytes more if `longer`.
Bytes with_more_header(Bytes file, const std::vector<std::uint32_t>& more, bool longer) {
  Bytes bytes;
  for (const std::uint32_t value : more) put_little_endian(bytes, value);
  const auto size = static_cast<std::uint32_t>(bytes.size());
  file.insert(file.begin() + 54, bytes.begin(), bytes.end());
  if (longer) file = with(file, 14, 40 + size);
  return with(file, 10, file[10] + size);
}

TEST_F(BmpFile, EveryFormHasItsPixels) {
  const Bytes pixels = counting(3 * 5 * 3);
  for (const std::uint32_t bits : {24U, 32U}) {
    for (const bool goes_down : {false, true}) {
      const Bytes file =
          bmp_bytes({.height = 3, .width = 5, .bits = bits, .goes_down = goes_down}, pixels);
      const ImageInfo info = image_info(file, "file");
      EXPECT_EQ(info.height, 3);
      EXPECT_EQ(info.width, 5);
      EXPECT_FALSE(info.is_grey);
      EXPECT_EQ(decode_image(file, "file"), pixels) << bits << goes_down;
      // What a file says of its size, and what stands behind the pixels, does not matter.
      Bytes longer = with(file, 2, 12345);
      longer.push_back(7);
      EXPECT_EQ(decode_image(longer, "file"), pixels);
    }
  }
}

TEST_F(BmpFile, APaletteGivesColorsAndIsGreyWhereTheyAre) {
  for (const bool goes_down : {false, true}) {
    const BmpForm form{.height = 2, .width = 3, .bits = 8, .goes_down = goes_down};
    const Bytes grey = bmp_bytes(form, {0, 1, 2, 2, 0, 0}, {5, 5, 5, 9, 9, 9, 200, 200, 200});
    EXPECT_TRUE(image_info(grey, "file").is_grey);
    EXPECT_EQ(decode_image(grey, "file"), (Bytes{5, 5, 5, 9, 9, 9, 200, 200, 200,  //
                                                 200, 200, 200, 5, 5, 5, 5, 5, 5}));
    const Bytes colored = bmp_bytes(form, {0, 1, 0, 1, 1, 0}, {5, 6, 7, 250, 251, 252});
    EXPECT_FALSE(image_info(colored, "file").is_grey);
    EXPECT_EQ(decode_image(colored, "file"), (Bytes{5, 6, 7, 250, 251, 252, 5, 6, 7,  //
                                                    250, 251, 252, 250, 251, 252, 5, 6, 7}));
  }
  // 256 colors where the header says 0.
  Bytes palette;
  for (int i = 0; i < 256; ++i) palette.insert(palette.end(), 3, static_cast<std::uint8_t>(i));
  const Bytes all = with(bmp_bytes({.height = 1, .width = 2, .bits = 8}, {255, 3}, palette), 46, 0);
  EXPECT_EQ(decode_image(all, "file"), (Bytes{255, 255, 255, 3, 3, 3}));
}

TEST_F(BmpFile, LongerHeadersAndMasksOfTheUsualOrderAreRead) {
  const Bytes pixels = counting(2 * 2 * 3);
  const Bytes plain = bmp_bytes({.height = 2, .width = 2, .bits = 32}, pixels);
  const std::vector<std::uint32_t> masks = {0xFF0000, 0xFF00, 0xFF};
  EXPECT_EQ(decode_image(with(with_more_header(plain, masks, false), 30, 3), "file"), pixels);
  for (const std::size_t size : {3U, 4U, 17U, 21U}) {
    std::vector<std::uint32_t> more = masks;
    more.resize(size);
    EXPECT_EQ(decode_image(with_more_header(plain, more, true), "file"), pixels) << size;
    EXPECT_EQ(decode_image(with(with_more_header(plain, more, true), 30, 3), "file"), pixels);
  }
}

TEST_F(BmpFile, WhatIsRefusedIsNamed) {
  const Bytes pixels = counting(2 * 2 * 3);
  const Bytes file = bmp_bytes({.height = 2, .width = 2}, pixels);
  const Bytes wide = bmp_bytes({.height = 2, .width = 2, .bits = 32}, pixels);
  const Bytes indexed = bmp_bytes({.height = 1, .width = 2, .bits = 8}, {0, 1}, {1, 1, 1, 2, 2, 2});
  const std::vector<std::uint32_t> masks = {0xFF0000, 0xFF00, 0xFF};
  struct Case {
    Bytes bytes;
    std::string message;
  };
  for (const Case& one : std::vector<Case>{
           {with(file, 14, 12), "a header of Windows, found one of OS/2"},
           {with(file, 14, 64), "a header of 40, 52, 56, 108 or 124 bytes, found 64"},
           {with(file, 28, 1, true), "8, 24 or 32 bits a pixel, found 1"},
           {with(file, 28, 4, true), "8, 24 or 32 bits a pixel, found 4"},
           {with(file, 28, 16, true), "8, 24 or 32 bits a pixel, found 16"},
           {with(indexed, 30, 1), "pixels without compression, found the compression 1"},
           {with(file, 30, 3), "pixels without compression, found the compression 3"},
           {with(with_more_header(wide, {0xFF, 0xFF00, 0xFF0000}, false), 30, 3),
            "blue, green and red in this order, found masks of another order"},
           {with(with_more_header(wide, {0xFF0000, 0xFF00, 0xFF, 0xFF000000}, true), 30, 3),
            "no transparency, found a mask of it"},
           {with(indexed, 46, 257), "at most 256 colors, found 257"},
           {with(indexed, 46, 1), "pixels of its 1 colors, found 1"},
           {with(file, 18, 0), "an image of 1 to 67108864 pixels, found 2 x 0"},
           {with(file, 18, 0xFFFFFFFF), "pixels, found 2 x -1"},
           {with(file, 22, 0), "pixels, found 0 x 2"},
           {with(file, 22, 0x80000000), "pixels, found 2147483648 x 2"},
           {with(with(file, 18, 1U << 14U), 22, 1U << 13U), "pixels, found 8192 x 16384"},
           {with(file, 22, 3), "3 rows of 8 bytes behind the header, found a file of 70 bytes"},
           {with(file, 10, 53), "the rows of which begin at 53"},
           {with(indexed, 10, 54), "the rows of which begin at 54"},
           {with(with(with_more_header(wide, masks, false), 30, 3), 10, 54), "begin at 54"},
           {with(file, 10, 71), "the rows of which begin at 71"},
           {Bytes(file.begin(), file.end() - 1), "found a file of 69 bytes"},
           {Bytes(file.begin(), file.begin() + 20), "a whole header, found a file of 20 bytes"},
           {Bytes{'B', 'M'}, "a whole header, found a file of 2 bytes"}}) {
    const std::string found = message_of<FormatError>([&] { decode_image(one.bytes, "some.bmp"); });
    expect_mentions(found, "some.bmp: expected ");
    expect_mentions(found, one.message);
  }
}

}  // namespace
}  // namespace octet::test::bmp_file_test
