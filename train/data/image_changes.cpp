#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/augmentation_internal.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace octet::detail {
namespace {

/// From 1 - most to 1 + most.
float factor_beside_one(float most, float uniform) { return 1.0F + most * (2.0F * uniform - 1.0F); }

/// Height, width and channels of images.
struct Extents {
  Index height;
  Index width;
  Index channels;
};

Extents image_extents(const Tensor& features, const char* change) {
  require_rank(features, {3, 4}, change, "images [height, width] or [height, width, channels]");
  return {features.dim(1), features.dim(2), features.rank() == 4 ? features.dim(3) : 1};
}

/// Where a pixel of the new image lies in the old one: row = a y + b x + c, column = d y + e x + f.
struct Affine {
  double a, b, c, d, e, f;
};

Affine draw_affine(const Augmentation& how, const Extents& size, const Random& own) {
  const double angle =
      (2.0 * double{own.uniform(0)} - 1.0) * double{how.rotate} * std::numbers::pi / 180.0;
  const double side = 1.0 - double{how.crop} * double{own.uniform(2)};
  const double zoom = side / factor_around_one(how.scale, own.uniform(1));
  const auto h = static_cast<double>(size.height - 1);
  const auto w = static_cast<double>(size.width - 1);
  // The middle of the window, within the image.
  const double row = h / 2.0 + (1.0 - side) * h * (double{own.uniform(3)} - 0.5);
  const double column = w / 2.0 + (1.0 - side) * w * (double{own.uniform(4)} - 0.5);
  const double cosine = std::cos(angle) * zoom;
  const double sine = std::sin(angle) * zoom;
  return {cosine, sine,   row - cosine * h / 2.0 - sine * w / 2.0,
          -sine,  cosine, column + sine * h / 2.0 - cosine * w / 2.0};
}

/// The value between four pixels, of which those outside are `fill`.
class Sampler {
 public:
  Sampler(std::span<const float> image, const Extents& size, float fill)
      : image_(image), size_(size), fill_(fill) {}

  float at(double row, double column, Index channel) const {
    const double y = std::floor(row);
    const double x = std::floor(column);
    const auto down = static_cast<float>(row - y);
    const auto right = static_cast<float>(column - x);
    const float top = mixed(pixel(y, x, channel), pixel(y, x + 1, channel), right);
    const float bottom = mixed(pixel(y + 1, x, channel), pixel(y + 1, x + 1, channel), right);
    return mixed(top, bottom, down);
  }

 private:
  static float mixed(float a, float b, float share) { return a + share * (b - a); }

  float pixel(double row, double column, Index channel) const {
    const bool inside = row >= 0.0 && column >= 0.0 && row < static_cast<double>(size_.height) &&
                        column < static_cast<double>(size_.width);
    if (!inside) return fill_;
    const auto at =
        (static_cast<Index>(row) * size_.width + static_cast<Index>(column)) * size_.channels +
        channel;
    return image_[static_cast<std::size_t>(at)];
  }

  std::span<const float> image_;
  const Extents& size_;
  float fill_;
};

void change_saturation(std::span<float> image, float factor) {
  for (std::size_t i = 0; i + 2 < image.size(); i += 3) {
    const float grey = 0.299F * image[i] + 0.587F * image[i + 1] + 0.114F * image[i + 2];
    for (std::size_t c = i; c < i + 3; ++c) image[c] = grey + factor * (image[c] - grey);
  }
}

}  // namespace

void change_place(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.rotate == 0.0F && how.scale == 0.0F && how.crop == 0.0F) return;
  const Extents size = image_extents(features, "rotate, scale and crop");
  const Random stream = stream_of(random, ChangeStream::affine);
  change_rows(features, [&](std::size_t row, std::span<float> image) {
    const std::vector<float> old(image.begin(), image.end());
    const Sampler sampler(old, size, how.fill);
    const Affine map = draw_affine(how, size, stream.fork(row));
    auto to = image.begin();
    for (Index y = 0; y < size.height; ++y) {
      for (Index x = 0; x < size.width; ++x) {
        const double from_row =
            map.a * static_cast<double>(y) + map.b * static_cast<double>(x) + map.c;
        const double from_column =
            map.d * static_cast<double>(y) + map.e * static_cast<double>(x) + map.f;
        for (Index c = 0; c < size.channels; ++c) *to++ = sampler.at(from_row, from_column, c);
      }
    }
  });
}

void change_colour(const Augmentation& how, Tensor& features, const Random& random) {
  if (how.brightness == 0.0F && how.contrast == 0.0F && how.saturation == 0.0F) return;
  const Extents size = image_extents(features, "brightness, contrast and saturation");
  if (how.saturation > 0.0F && size.channels != 3) {
    throw InvalidArgument(
        fmt::format("augment: saturation: expected images of 3 channels, found {}", size.channels));
  }
  const Random stream = stream_of(random, ChangeStream::colour);
  change_rows(features, [&](std::size_t row, std::span<float> image) {
    const Random own = stream.fork(row);
    const float bright = factor_beside_one(how.brightness, own.uniform(0));
    for (float& value : image) value *= bright;
    if (how.contrast > 0.0F) {
      double sum = 0.0;
      for (const float value : image) sum += double{value};
      const auto mean = static_cast<float>(sum / static_cast<double>(image.size()));
      const float factor = factor_beside_one(how.contrast, own.uniform(1));
      for (float& value : image) value = mean + factor * (value - mean);
    }
    if (how.saturation > 0.0F) {
      change_saturation(image, factor_beside_one(how.saturation, own.uniform(2)));
    }
  });
}

}  // namespace octet::detail
