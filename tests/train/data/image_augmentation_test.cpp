#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/tests/train/training.h>
#include <octet/train/data/image_augmentation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace octet::test::image_augmentation_test {
namespace {

constexpr Index kHeight = 5;
constexpr Index kWidth = 7;
constexpr Index kChannels = 2;
constexpr float kFill = -1.0F;
constexpr Index kCount = 600;

/// One image, read at any place.
struct Image {
  Index height = 0;
  Index width = 0;
  std::vector<float> values;

  float at(Index y, Index x, Index c) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return kFill;
    return values[static_cast<std::size_t>((y * width + x) * kChannels + c)];
  }
  bool operator==(const Image&) const = default;
};

/// The image of which pixel (y, x) is at(y, x, c).
template <class At>
Image make_image(Index height, Index width, At at) {
  Image image{height, width, {}};
  for (Index y = 0; y < height; ++y) {
    for (Index x = 0; x < width; ++x) {
      for (Index c = 0; c < kChannels; ++c) image.values.push_back(at(y, x, c));
    }
  }
  return image;
}

Image shifted(const Image& from, Index down, Index right) {
  return make_image(from.height, from.width,
                    [&](Index y, Index x, Index c) { return from.at(y - down, x - right, c); });
}

Image cropped(const Image& from, Index top, Index left, Index height, Index width) {
  return make_image(height, width,
                    [&](Index y, Index x, Index c) { return from.at(top + y, left + x, c); });
}

Image flipped(const Image& from) {
  return make_image(from.height, from.width,
                    [&](Index y, Index x, Index c) { return from.at(y, from.width - 1 - x, c); });
}

Image cut(const Image& from, Index row, Index column, Index side) {
  const auto inside = [&](Index i, Index centre) {
    return i >= centre - side / 2 && i < centre - side / 2 + side;
  };
  return make_image(from.height, from.width, [&](Index y, Index x, Index c) {
    return inside(y, row) && inside(x, column) ? kFill : from.at(y, x, c);
  });
}

/// Every value is another one, within all images.
Tensor numbered_images(Index count = kCount) {
  return Tensor::arange(count * kHeight * kWidth * kChannels)
      .reshape({count, kHeight, kWidth, kChannels});
}

Image image_of(const Tensor& batch, Index i) {
  const Index size = batch.dim(1) * batch.dim(2) * batch.dim(3);
  const auto values =
      batch.span().subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size));
  return {batch.dim(1), batch.dim(2), {values.begin(), values.end()}};
}

Tensor apply(const ImageAugmentation& options, Tensor features, std::uint64_t seed = 1) {
  Targets targets(Labels(static_cast<std::size_t>(features.dim(0)), 0));
  augment_images(options)(features, targets, Random(seed));
  return features;
}

/// What was done to one image: shift down and right, top and left of the crop, flip, the centre of
/// what was cut out.
using Change = std::tuple<Index, Index, Index, Index, bool, Index, Index>;

/// Every change that `options` allow.
std::vector<Change> changes(const ImageAugmentation& options) {
  const bool crops = options.crop_height > 0;
  const Index height = crops ? options.crop_height : kHeight;
  const Index width = crops ? options.crop_width : kWidth;
  std::vector<Change> all = {{}};
  const auto each = [&]<std::size_t place>(std::integral_constant<std::size_t, place> /*of it*/,
                                           Index first, Index last) {
    std::vector<Change> longer;
    for (const Change& change : all) {
      for (Index value = first; value <= last; ++value) {
        longer.push_back(change);
        std::get<place>(longer.back()) = static_cast<std::tuple_element_t<place, Change>>(value);
      }
    }
    all = std::move(longer);
  };
  each(std::integral_constant<std::size_t, 0>(), -options.shift_rows, options.shift_rows);
  each(std::integral_constant<std::size_t, 1>(), -options.shift_columns, options.shift_columns);
  each(std::integral_constant<std::size_t, 2>(), 0, kHeight - height);
  each(std::integral_constant<std::size_t, 3>(), 0, kWidth - width);
  each(std::integral_constant<std::size_t, 4>(), options.flip < 1 ? 0 : 1,
       options.flip > 0 ? 1 : 0);
  each(std::integral_constant<std::size_t, 5>(), 0, options.cutout > 0 ? height - 1 : 0);
  each(std::integral_constant<std::size_t, 6>(), 0, options.cutout > 0 ? width - 1 : 0);
  return all;
}

Image changed(const ImageAugmentation& options, const Image& from, const Change& change) {
  const auto& [down, right, top, left, flip, row, column] = change;
  const bool crops = options.crop_height > 0;
  Image image = shifted(from, down, right);
  image = cropped(image, top, left, crops ? options.crop_height : kHeight,
                  crops ? options.crop_width : kWidth);
  if (flip) image = flipped(image);
  return cut(image, row, column, options.cutout);
}

/// Checks that every image was changed in a way that the options allow, and returns how often each
/// happened. Only for options whose changes all differ in their results.
std::map<Change, int> counted(const ImageAugmentation& options) {
  const Tensor before = numbered_images();
  const Tensor after = apply(options, before);
  const std::vector<Change> all = changes(options);
  std::map<Change, int> counts;
  for (const Change& change : all) counts[change] = 0;
  for (Index i = 0; i < kCount; ++i) {
    const Image from = image_of(before, i);
    const Image to = image_of(after, i);
    const auto found = std::ranges::find_if(
        all, [&](const Change& change) { return changed(options, from, change) == to; });
    if (found == all.end()) {
      ADD_FAILURE() << "image " << i << " was changed in another way";
    } else {
      ++counts[*found];
    }
  }
  return counts;
}

/// All changes happen, each about as often as the others.
void expect_uniform(const ImageAugmentation& options, std::size_t number) {
  const std::map<Change, int> counts = counted(options);
  ASSERT_EQ(counts.size(), number);
  const double mean = static_cast<double>(kCount) / static_cast<double>(number);
  for (const auto& entry : counts) {
    // Five standard deviations.
    EXPECT_NEAR(entry.second, mean, 5 * std::sqrt(mean));
    EXPECT_GT(entry.second, 0);
  }
}

TEST(ImageAugmentation, NothingIsDoneByDefault) {
  const Tensor images = numbered_images(3);
  EXPECT_TRUE(std::ranges::equal(apply({}, images).span(), images.span()));
}

TEST(ImageAugmentation, ShiftsByEveryDistance) {
  expect_uniform({.shift_rows = 2, .fill = kFill}, 5);
  expect_uniform({.shift_columns = 2, .fill = kFill}, 5);
  expect_uniform({.shift_rows = 1, .shift_columns = 2, .fill = kFill}, 15);
  // As far as all but one row and column.
  expect_uniform({.shift_rows = 4, .shift_columns = 0, .fill = kFill}, 9);
  expect_uniform({.shift_columns = 6, .fill = kFill}, 13);
}

TEST(ImageAugmentation, CropsEveryWindow) {
  expect_uniform({.crop_height = 4, .crop_width = 5, .fill = kFill}, 6);
  expect_uniform({.crop_height = kHeight, .crop_width = kWidth, .fill = kFill}, 1);
  expect_uniform({.crop_height = 1, .crop_width = 1, .fill = kFill}, 35);
}

TEST(ImageAugmentation, FlipsAsOftenAsItIsTold) {
  for (const float flip : {0.0F, 0.25F, 0.5F, 1.0F}) {
    int flips = 0;
    for (const auto& [change, count] : counted({.flip = flip, .fill = kFill})) {
      if (std::get<4>(change)) flips += count;
    }
    const double deviation = std::sqrt(kCount * flip * (1 - flip));
    EXPECT_NEAR(flips, flip * kCount, 4 * deviation) << flip;
  }
}

TEST(ImageAugmentation, CutsOutAroundEveryPixel) {
  expect_uniform({.cutout = 1, .fill = kFill}, 35);
  expect_uniform({.cutout = 2, .fill = kFill}, 35);
  expect_uniform({.cutout = 3, .fill = kFill}, 35);
  const Tensor all = apply({.cutout = 100, .fill = kFill}, numbered_images(4));
  EXPECT_TRUE(std::ranges::all_of(all.span(), [](float x) { return x == kFill; }));
}

TEST(ImageAugmentation, ComposesInTheOrderOfTheMembers) {
  // Changes whose results agree are found as one of them.
  const auto counts = counted({.shift_rows = 1,
                               .shift_columns = 1,
                               .crop_height = 4,
                               .crop_width = 6,
                               .flip = 0.5F,
                               .cutout = 2,
                               .fill = kFill});
  const auto happened =
      std::ranges::count_if(counts, [](const auto& entry) { return entry.second > 0; });
  EXPECT_GT(happened, 300);
}

TEST(ImageAugmentation, OneChangeLeavesTheOthersDraws) {
  const Tensor before = numbered_images();
  const Tensor shifts = apply({.shift_rows = 2, .shift_columns = 2, .fill = kFill}, before);
  const Tensor both =
      apply({.shift_rows = 2, .shift_columns = 2, .flip = 0.5F, .fill = kFill}, before);
  Index flips = 0;
  for (Index i = 0; i < kCount; ++i) {
    const Image shift = image_of(shifts, i);
    const Image found = image_of(both, i);
    EXPECT_TRUE(found == shift || found == flipped(shift)) << i;
    flips += found == shift ? 0 : 1;
  }
  EXPECT_GT(flips, kCount / 3);
}

TEST(ImageAugmentation, NoPartOfABatchRepeatsTheDrawsOfAnother) {
  // More than one chunk of a parallel loop has, and all of them equal.
  constexpr std::ptrdiff_t kImages = 2000;
  constexpr std::ptrdiff_t kSize = 35;
  std::vector<float> values(kImages * kSize);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % kSize);
  const Tensor found = apply({.shift_rows = 2, .shift_columns = 3, .flip = 0.5F},
                             Tensor::from({kImages, 5, 7}, values));
  for (std::ptrdiff_t lag = 1; lag <= kImages / 2; ++lag) {
    const auto count = static_cast<std::size_t>((kImages - lag) * kSize);
    EXPECT_FALSE(std::ranges::equal(found.span().first(count), found.span().last(count))) << lag;
  }
}

TEST(ImageAugmentation, TakesImagesWithoutChannelsAndBytes) {
  const ImageAugmentation options = {.shift_rows = 1, .flip = 0.5F, .cutout = 2};
  const Bytes pixels = counting(40 * 6 * 4);
  const Labels labels(40, 0);
  const Dataset flat = Dataset::from_bytes("flat", {6, 4}, pixels, labels, 1);
  const Dataset deep = Dataset::from_bytes("deep", {6, 4, 1}, pixels, labels, 1);
  const Tensor x = apply(options, flat.features(0, 40));
  const Tensor y = apply(options, deep.features(0, 40));
  EXPECT_EQ(x.shape(), (Shape{40, 6, 4}));
  EXPECT_EQ(y.shape(), (Shape{40, 6, 4, 1}));
  EXPECT_TRUE(std::ranges::equal(x.span(), y.span()));
  // The set itself stays.
  EXPECT_TRUE(std::ranges::equal(flat.bytes(), pixels));
  EXPECT_FALSE(std::ranges::equal(x.span(), flat.features(0, 40).span()));
}

TEST(ImageAugmentation, RefusesOptionsThatMakeNoSense) {
  const auto refused = [](const ImageAugmentation& options) {
    return message_of<InvalidArgument>([&] { augment_images(options); });
  };
  expect_mentions(refused({.shift_rows = -1}), "shift_rows in [0, 1073741824], found -1");
  expect_mentions(refused({.shift_columns = std::numeric_limits<Index>::max()}), "shift_columns");
  expect_mentions(refused({.cutout = -2}), "cutout");
  expect_mentions(refused({.crop_height = -2, .crop_width = 3}), "crop_height");
  expect_mentions(refused({.crop_height = 3}), "or neither, found 3 x 0");
  expect_mentions(refused({.flip = 1.5F}), "found 1.5");
  expect_mentions(refused({.flip = std::nanf("")}), "found nan");
  expect_mentions(refused({.fill = INFINITY}), "finite fill");
}

TEST(ImageAugmentation, RefusesFeaturesThatDoNotFit) {
  const auto refused = [](const ImageAugmentation& options, const Shape& shape) {
    return message_of<InvalidArgument>([&] { apply(options, Tensor::zeros(shape)); });
  };
  expect_mentions(refused({}, {2, 784}), "[n, height, width, channels], found features [2, 784]");
  expect_mentions(refused({.shift_rows = 5}, {2, 5, 9}), "more than 5 x 0 pixels, the shift");
  expect_mentions(refused({.shift_columns = 9}, {2, 5, 9}), "more than 0 x 9 pixels, the shift");
  expect_mentions(refused({.crop_height = 6, .crop_width = 2}, {2, 5, 9}), "the crop");
  expect_mentions(refused({.crop_height = 2, .crop_width = 10}, {2, 5, 9}), "the crop");
}

TEST(CenterCrop, CutsTheMiddle) {
  const Labels labels = {1, 0, 2};
  const Tensor images = numbered_images(3);
  const std::vector<float> values(images.span().begin(), images.span().end());
  const Dataset floats = Dataset::from_floats("f", {kHeight, kWidth, kChannels}, values, labels, 3);
  const Dataset cut_floats = center_crop(floats, 2, 5);
  EXPECT_EQ(cut_floats.name(), "f");
  EXPECT_TRUE(std::ranges::equal(cut_floats.labels(), labels));
  const Tensor found = cut_floats.features(0, 3);
  for (Index i = 0; i < 3; ++i) {
    EXPECT_EQ(image_of(found, i), cropped(image_of(images, i), 1, 1, 2, 5)) << i;
  }
  const Dataset bytes = Dataset::from_bytes("b", {3, 3}, counting(27), labels, 3);
  EXPECT_TRUE(std::ranges::equal(center_crop(bytes, 1, 2).bytes(), Bytes{3, 4, 12, 13, 21, 22}));
  const Dataset targets = center_crop(bytes.with_targets(Tensor::ones({3, 4})), 2, 2);
  EXPECT_EQ(targets.target_shape(), (Shape{4}));
  EXPECT_EQ(targets.bytes().size(), 12U);
}

TEST(CenterCrop, RefusesWhatDoesNotFit) {
  const Dataset set = Dataset::from_bytes("b", {3, 4}, counting(24), {0, 0}, 1);
  const auto refused = [](const Dataset& images, Index height, Index width) {
    return message_of<InvalidArgument>([&] { center_crop(images, height, width); });
  };
  for (const auto& [height, width] : {std::pair<Index, Index>{4, 4}, {3, 5}, {0, 2}, {2, -1}}) {
    expect_mentions(refused(set, height, width), "found examples of shape [3, 4]");
  }
  expect_mentions(refused(clouds(5), 1, 1), "of shape [6]");
}

}  // namespace
}  // namespace octet::test::image_augmentation_test
