#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/train/data/image_augmentation.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// Shifts are drawn as 32-bit numbers.
constexpr Index kMostPixels = Index{1} << 30;

// The numbers of an image's stream. Fixed, so that switching one change on leaves the others as
// they are.
enum Draw : std::uint64_t {
  kShiftRow,
  kShiftColumn,
  kCropRow,
  kCropColumn,
  kFlip,
  kCutRow,
  kCutColumn
};

/// Extents of images, row-major, channels last.
struct ImageSize {
  Index height = 0;
  Index width = 0;
  Index channels = 1;

  std::size_t values() const { return static_cast<std::size_t>(height * width * channels); }
};

ImageSize image_size(const Shape& example) {
  return {example[0], example[1], example.rank() == 3 ? example[2] : 1};
}

/// The shape of an example or of a batch with another height and width, from axis `first` on.
Shape resized(const Shape& shape, Index first, Index height, Index width) {
  return shape.with_dim(first, height).with_dim(first + 1, width);
}

/// Which pixels of an image another one is made of.
struct Placement {
  /// The pixel of the old image that the first of the new one shows; may lie outside.
  Index row = 0;
  Index column = 0;
  bool flip = false;
};

/// Copies what `placement` says; pixels from outside stay as they are in `to`.
template <class T>
void place(const T* from, const ImageSize& old_size, const Placement& placement, T* to,
           const ImageSize& size) {
  const Index channels = size.channels;
  // The new columns that lie inside the old image, before it is flipped.
  const Index begin = std::clamp<Index>(-placement.column, 0, size.width);
  const Index end = std::clamp<Index>(old_size.width - placement.column, begin, size.width);
  if (begin == end) return;
  for (Index y = 0; y < size.height; ++y) {
    const Index old_y = placement.row + y;
    if (old_y < 0 || old_y >= old_size.height) continue;
    const T* in = from + (old_y * old_size.width + placement.column + begin) * channels;
    T* out = to + y * size.width * channels;
    if (!placement.flip) {
      std::copy_n(in, (end - begin) * channels, out + begin * channels);
      continue;
    }
    for (Index x = begin; x < end; ++x, in += channels) {
      std::copy_n(in, channels, out + (size.width - 1 - x) * channels);
    }
  }
}

/// Below `count` in the image's stream.
Index draw(const Random& random, Draw number, Index count) {
  return random.below(number, static_cast<std::uint32_t>(count));
}

Placement draw_placement(const ImageAugmentation& options, const ImageSize& old_size,
                         const ImageSize& size, const Random& random) {
  const auto shift = [&](Draw number, Index most) {
    return draw(random, number, 2 * most + 1) - most;
  };
  Placement placement;
  placement.row = draw(random, kCropRow, old_size.height - size.height + 1) -
                  shift(kShiftRow, options.shift_rows);
  placement.column = draw(random, kCropColumn, old_size.width - size.width + 1) -
                     shift(kShiftColumn, options.shift_columns);
  placement.flip = random.uniform(kFlip) < options.flip;
  return placement;
}

void cut_out(const ImageAugmentation& options, const ImageSize& size, const Random& random,
             float* image) {
  if (options.cutout == 0) return;
  const auto range = [&](Draw number, Index extent) {
    const Index first = draw(random, number, extent) - options.cutout / 2;
    return std::pair(std::max<Index>(first, 0), std::min(first + options.cutout, extent));
  };
  const auto rows = range(kCutRow, size.height);
  const auto columns = range(kCutColumn, size.width);
  for (Index y = rows.first; y < rows.second; ++y) {
    std::fill_n(image + (y * size.width + columns.first) * size.channels,
                (columns.second - columns.first) * size.channels, options.fill);
  }
}

void check(const ImageAugmentation& options) {
  const auto check_size = [](const char* name, Index value) {
    if (value >= 0 && value <= kMostPixels) return;
    throw InvalidArgument(
        fmt::format("augment_images: expected {} in [0, {}], found {}", name, kMostPixels, value));
  };
  check_size("shift_rows", options.shift_rows);
  check_size("shift_columns", options.shift_columns);
  check_size("crop_height", options.crop_height);
  check_size("crop_width", options.crop_width);
  check_size("cutout", options.cutout);
  if ((options.crop_height == 0) != (options.crop_width == 0)) {
    throw InvalidArgument(fmt::format(
        "augment_images: expected crop_height and crop_width, or neither, found {} x {}",
        options.crop_height, options.crop_width));
  }
  if (!(options.flip >= 0.0F && options.flip <= 1.0F)) {
    throw InvalidArgument(fmt::format(
        "augment_images: expected flip, a probability, in [0, 1], found {}", options.flip));
  }
  if (!std::isfinite(options.fill)) {
    throw InvalidArgument(
        fmt::format("augment_images: expected a finite fill, found {}", options.fill));
  }
}

void check_fits(const ImageAugmentation& options, const Shape& shape) {
  const auto refuse = [&](const std::string& expected) {
    throw InvalidArgument(
        fmt::format("augment_images: expected {}, found features {}", expected, shape.to_string()));
  };
  if (shape.rank() != 3 && shape.rank() != 4) {
    refuse("features [n, height, width] or [n, height, width, channels]");
  }
  if (shape.without_batch().size() == 0 || shape[1] > kMostPixels || shape[2] > kMostPixels) {
    refuse(fmt::format("images of 1 to {} rows and columns", kMostPixels));
  }
  if (options.shift_rows >= shape[1] || options.shift_columns >= shape[2]) {
    refuse(fmt::format("images of more than {} x {} pixels, the shift", options.shift_rows,
                       options.shift_columns));
  }
  if (options.crop_height > shape[1] || options.crop_width > shape[2]) {
    refuse(fmt::format("images of at least {} x {} pixels, the crop", options.crop_height,
                       options.crop_width));
  }
}

Tensor augmented(const ImageAugmentation& options, const Tensor& features, const Random& random) {
  const Shape& old_shape = features.shape();
  const bool cropped = options.crop_height > 0;
  const Shape shape =
      cropped ? resized(old_shape, 1, options.crop_height, options.crop_width) : old_shape;
  const ImageSize old_size = image_size(old_shape.without_batch());
  const ImageSize size = image_size(shape.without_batch());
  Tensor result = Tensor::full(shape, options.fill);
  const float* from = features.data();
  float* to = result.mutable_data();
  parallel_for(static_cast<std::size_t>(shape[0]),
               parallel_grain(Work::write_floats, size.values()),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const Random own = random.fork(i);
                   float* image = to + i * size.values();
                   place(from + i * old_size.values(), old_size,
                         draw_placement(options, old_size, size, own), image, size);
                   cut_out(options, size, own, image);
                 }
               });
  return result;
}

template <class T>
std::vector<T> crop_all(std::span<const T> images, const ImageSize& old_size,
                        const ImageSize& size) {
  const std::size_t count = images.size() / old_size.values();
  std::vector<T> result(count * size.values());
  const Placement middle{(old_size.height - size.height) / 2, (old_size.width - size.width) / 2,
                         false};
  parallel_for(count, parallel_grain(Work::write_floats, size.values()),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   place(images.data() + i * old_size.values(), old_size, middle,
                         result.data() + i * size.values(), size);
                 }
               });
  return result;
}

}  // namespace

Augment augment_images(const ImageAugmentation& options) {
  check(options);
  return [options](Tensor& features, Targets& /*targets*/, const Random& random) {
    check_fits(options, features.shape());
    features = augmented(options, features, random);
  };
}

Dataset center_crop(const Dataset& images, Index height, Index width) {
  const Shape& example = images.example_shape();
  const bool fits = (example.rank() == 2 || example.rank() == 3) && height >= 1 && width >= 1 &&
                    height <= example[0] && width <= example[1];
  if (!fits || images.is_read()) {
    throw InvalidArgument(fmt::format(
        "center_crop: expected images in memory of at least {} x {} pixels, [height, width] or "
        "[height, width, channels], found {} of shape {}",
        height, width, images.is_read() ? "a set that is read" : "examples", example.to_string()));
  }
  const Shape shape = resized(example, 0, height, width);
  const ImageSize old_size = image_size(example);
  const ImageSize size = image_size(shape);
  const std::size_t count = images.size();
  Labels labels(count, 0);
  if (!images.bytes().empty()) {
    return images.with_features(Dataset::from_bytes(
        images.name(), shape, crop_all(images.bytes(), old_size, size), std::move(labels), 1));
  }
  const Tensor features = images.features(0, count);
  return images.with_features(Dataset::from_floats(
      images.name(), shape, crop_all(features.span(), old_size, size), std::move(labels), 1));
}

}  // namespace octet
