#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/tests/train/data/image_files.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/load_data.h>
#include <octet/train/data/resize_image.h>
#include <octet_test_paths.h>

#include <algorithm>
#include <string>

namespace octet::test::image_folder_test {
namespace {

namespace fs = std::filesystem;

// What djpeg of libjpeg-turbo 2.1.5 makes of slope.jpg and grey.jpg with -dct int.
const Bytes kSlope = {0,  6,   253, 18, 12,  244, 78,  20,  219, 137, 27,  200, 187, 30,  179,
                      32, 87,  255, 63, 93,  255, 123, 98,  241, 179, 105, 220, 228, 105, 196,
                      47, 170, 248, 79, 175, 236, 136, 180, 207, 190, 185, 182, 237, 183, 157};
const Bytes kGrey = {0, 48, 100, 149, 200, 20, 69, 121, 170, 222, 39, 88, 140, 188, 240};

Bytes jpeg(const std::string& name) {
  return read_file(fs::path(OCTET_TEST_DATA_DIR) / "images" / name);
}

/// Every channel three times.
Bytes tripled(const Bytes& grey) {
  Bytes result;
  for (const std::uint8_t value : grey) result.insert(result.end(), 3, value);
  return result;
}

TEST(ResizeImage, AveragesByAreas) {
  const Bytes image = counting(7 * 5 * 2);
  for (const auto& [height, width] :
       {std::pair<Index, Index>{7, 5}, {3, 2}, {14, 10}, {1, 1}, {9, 4}}) {
    const Bytes found = resize_image(image, {7, 5, 2}, height, width);
    for (Index y = 0; y < height; ++y) {
      for (Index x = 0; x < width; ++x) {
        for (Index c = 0; c < 2; ++c) {
          // Of every pixel of the source, height * width parts of it.
          std::int64_t sum = 0;
          for (Index part_y = y * 7; part_y < (y + 1) * 7; ++part_y) {
            for (Index part_x = x * 5; part_x < (x + 1) * 5; ++part_x) {
              const Index at = (part_y / height * 5 + part_x / width) * 2 + c;
              sum += image[static_cast<std::size_t>(at)];
            }
          }
          ASSERT_EQ(found[static_cast<std::size_t>((y * width + x) * 2 + c)], (2 * sum + 35) / 70)
              << height << 'x' << width << ' ' << y << ' ' << x;
        }
      }
    }
  }
  EXPECT_EQ(grey_of(tripled(kGrey)), kGrey);
  EXPECT_EQ(grey_of(Bytes{255, 0, 0, 0, 255, 0, 0, 0, 255}), (Bytes{77, 149, 29}));
}

class ImageFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  }
  void write(const std::string& name, const Bytes& bytes) const {
    fs::create_directories((scratch_.path() / name).parent_path());
    scratch_.write(name, bytes);
  }
  LoadedData load(const DataOptions& options = {}) const {
    return load_image_folder(scratch_.path(), options);
  }
  std::string refused(const DataOptions& options = {}) const {
    return message_of<FormatError>([&] { load(options); });
  }

  const ScratchDirectory scratch_;
};

TEST_F(ImageFolder, FilesBecomeExamplesOfTheirFolders) {
  const Bytes pixels = counting(3 * 5 * 3);
  write("sky/a.jpg", jpeg("slope.jpg"));
  write("mud/b.png", png_bytes(3, 5, 3, pixels));
  write("mud/c.JPEG", jpeg("grey.jpg"));
  write("mud/d.bmp", bmp_bytes({.height = 3, .width = 5}, pixels));
  const Dataset set = load().train;
  EXPECT_EQ(set.example_shape(), (Shape{3, 5, 3}));
  EXPECT_EQ(set.class_names(), (std::vector<std::string>{"mud", "sky"}));
  EXPECT_TRUE(std::ranges::equal(set.labels(), Labels{0, 0, 0, 1}));
  Bytes expected = pixels;
  for (const Bytes& each : {tripled(kGrey), pixels, kSlope}) {
    expected.insert(expected.end(), each.begin(), each.end());
  }
  EXPECT_TRUE(std::ranges::equal(set.bytes(), expected));
  EXPECT_TRUE(std::ranges::equal(load({.grey = true}).train.bytes().last(15), grey_of(kSlope)));
}

TEST_F(ImageFolder, GreyFilesStayGrey) {
  write("a/1.jpg", jpeg("grey.jpg"));
  write("a/2.png", png_bytes(3, 5, 1, counting(15)));
  EXPECT_EQ(load().train.example_shape(), (Shape{3, 5, 1}));
  EXPECT_TRUE(std::ranges::equal(load().train.bytes().first(15), kGrey));
}

TEST(PngValues, AreThoseOfTheFileWhateverItSaysOfThem) {
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  const Bytes wide = {0, 0, 0x3F, 0xFF, 0x7F, 0xFF, 0x80, 0, 0x80, 0x81, 0xFF, 0xFF};
  const Bytes narrow = {0, 64, 127, 128, 128, 255};
  const PngChunk gamma{"gAMA", {0, 1, 0x86, 0xA0}};  // 1, where screens have 0.45455
  const PngChunk clear{"tRNS", {0, 64}};
  struct Case {
    const char* name;
    Bytes file;
    Bytes expected;
  };
  for (const Case& c : {
           Case{"16 bits", png_bytes(1, 6, 1, wide, 16), tripled(narrow)},
           Case{"16 bits of colours", png_bytes(2, 1, 3, wide, 16), narrow},
           Case{"16 bits and a gamma", png_bytes(2, 1, 3, wide, 16, {gamma}), narrow},
           Case{"gamma", png_bytes(2, 1, 3, narrow, 8, {gamma}), narrow},
           Case{"a color that is transparent", png_bytes(1, 6, 1, narrow, 8, {clear}),
                tripled(narrow)},
           Case{"opacity",
                png_bytes(1, 2, 4, {1, 2, 3, 0, 200, 100, 50, 7}),
                {1, 2, 3, 200, 100, 50}},
           Case{"opacity of grey and a gamma", png_bytes(1, 2, 2, {9, 0, 200, 128}, 8, {gamma}),
                tripled({9, 200})},
       }) {
    EXPECT_EQ(decode_image(c.file, c.name), c.expected) << c.name;
  }
}

TEST_F(ImageFolder, ImagesOfSeveralSizesAreResized) {
  write("a/1.png", png_bytes(2, 2, 1, {0, 10, 20, 31}));
  write("a/2.png", png_bytes(1, 1, 1, {7}));
  expect_mentions(refused(), "2.png: expected 2 x 2 pixels, height x width, as ");
  expect_mentions(refused(), "found 1 x 1; give --image-size HxW");
  EXPECT_TRUE(
      std::ranges::equal(load({.height = 1, .width = 2}).train.bytes(), Bytes{10, 21, 7, 7}));
  EXPECT_TRUE(std::ranges::equal(load({.height = 1, .width = 1}).train.bytes(), Bytes{15, 7}));
}

TEST_F(ImageFolder, PartsShareSizeAndClasses) {
  write("train/a/1.png", png_bytes(1, 1, 3, {1, 2, 3}));
  write("train/b/1.png", png_bytes(1, 1, 3, {4, 5, 6}));
  write("test/b/1.png", png_bytes(1, 1, 1, {7}));
  const DataSplit data = load_data(scratch_.path());
  EXPECT_TRUE(std::ranges::equal(data.test.labels(), Labels{1}));
  EXPECT_TRUE(std::ranges::equal(data.test.bytes(), Bytes{7, 7, 7}));
  write("test/c/1.png", png_bytes(1, 1, 1, {7}));
  expect_mentions(refused(), "expected one of the classes a, b, found 'c'");
}

TEST_F(ImageFolder, WhatIsRefusedIsNamed) {
  const Bytes whole = png_bytes(4, 4, 3, counting(48));
  write("a/1.png", Bytes(whole.begin(), whole.end() - 20));
  expect_mentions(refused(), "1.png: the PNG file is damaged");
  const Bytes photo = jpeg("slope.jpg");
  write("a/1.png", Bytes(photo.begin(), photo.end() - 12));
  expect_mentions(refused(), "1.png: the JPEG file is damaged");
  write("a/1.png", jpeg("cmyk.jpg"));
  expect_mentions(refused(), "1.png: expected a JPEG file of colours or grey, found CMYK");
  write("a/1.png", {'G', 'I', 'F'});
  expect_mentions(refused(), "1.png: expected a JPEG, PNG or BMP file, found another");
  write("a/1.png", {});
  expect_mentions(refused(), "1.png: expected a JPEG, PNG or BMP file, found an empty file");
  write("a/1.png", png_bytes(1U << 14U, 1U << 13U, 1, {}));
  expect_mentions(refused(), "found 16384 x 8192");
  write("a/1.png", whole);
  expect_mentions(message_of<InvalidArgument>([&] { load({.max_bytes = 47}); }),
                  "1 examples of 48 bytes each do not fit into the 47 bytes");
}

TEST(RealImages, CifarIsReadWhole) {
  const char* folder = std::getenv("OCTET_CIFAR10_DIR");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "OCTET_CIFAR10_DIR is not set";
  if (!reads_images()) GTEST_SKIP() << "this build reads no images (OCTET_IMAGES)";
  // The smaller part, so that the test is quick.
  const DataSplit data = load_data(fs::path(folder) / "test", {.split = 0.5});
  EXPECT_EQ(data.train.size(), 5000U);
  EXPECT_EQ(data.test.size(), 5000U);
  EXPECT_EQ(data.train.example_shape(), (Shape{32, 32, 3}));
  EXPECT_EQ(data.test.class_names()[0], "airplane");
}

}  // namespace
}  // namespace octet::test::image_folder_test
