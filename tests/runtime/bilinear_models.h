#pragma once

#include <octet/tests/runtime/elementwise_models.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

// Models of one RESIZE_BILINEAR, and a second implementation from the formulas: the weights of four
// pixels at once, in doubles, which hold all sums.

namespace octet::test {

/// The pixels of an axis on both sides of a place, and the weight of the second.
struct NaiveTap {
  std::int32_t lower;
  std::int32_t upper;
  double weight;
};

/// In float32 under fp32 and for floats; else in integers, in steps of 1/1024. `units` is what the
/// weight is a whole number of, 0 for floats.
inline NaiveTap naive_tap(const ResizeAttributes& a, std::int32_t o, std::int32_t in,
                          std::int32_t out, int units) {
  const bool aligns = a.align_corners && out > 1;
  if (units == 1024) {
    const std::int32_t step =
        aligns ? (1024 * (in - 1) + (out - 1) / 2) / (out - 1) : (1024 * in + out / 2) / out;
    const std::int32_t place = o * step + (a.half_pixel_centers ? step / 2 - 512 : 0);
    const std::int32_t lower = std::min(std::max(place / 1024, 0), in - 1);
    return {lower, std::min((place + 1023) / 1024, in - 1), double(place - 1024 * lower)};
  }
  const auto f32 = [](double x) { return double{static_cast<float>(x)}; };
  const double scale = aligns ? f32(double(in - 1) / (out - 1)) : f32(double(in) / out);
  double place = f32(o * scale);
  if (a.half_pixel_centers) place = f32(place + f32(f32(0.5 * scale) - 0.5));
  place = std::clamp(place, 0.0, double(in - 1));
  const auto lower = static_cast<std::int32_t>(std::floor(place));
  const double part = f32(place - lower);
  return {lower, std::min(lower + 1, in - 1), units == 0 ? part : std::nearbyint(units * part)};
}

template <class T>
std::vector<T> naive_bilinear(const Resize& r, const std::vector<T>& x, int units,
                              bool half_upwards) {
  const double one = units == 0 ? 1.0 : units;
  std::vector<T> y;
  for (std::int32_t i = 0; i < r.image[0] * r.height * r.width * r.image[3]; ++i) {
    const std::int32_t c = i % r.image[3];
    const std::int32_t n = i / r.image[3] / r.width / r.height;
    const NaiveTap row =
        naive_tap(r.attributes, i / r.image[3] / r.width % r.height, r.image[1], r.height, units);
    const NaiveTap column =
        naive_tap(r.attributes, i / r.image[3] % r.width, r.image[2], r.width, units);
    const auto pixel = [&](std::int32_t iy, std::int32_t ix) {
      const std::int32_t at = ((n * r.image[1] + iy) * r.image[2] + ix) * r.image[3] + c;
      return double(x.at(static_cast<std::size_t>(at)));
    };
    const double sum = pixel(row.lower, column.lower) * (one - row.weight) * (one - column.weight) +
                       pixel(row.lower, column.upper) * (one - row.weight) * column.weight +
                       pixel(row.upper, column.lower) * row.weight * (one - column.weight) +
                       pixel(row.upper, column.upper) * row.weight * column.weight;
    const double value = sum / (one * one);
    if (units == 0) {
      y.push_back(static_cast<T>(value));
    } else {
      y.push_back(static_cast<T>(half_upwards ? std::floor(value + 0.5) : std::round(value)));
    }
  }
  return y;
}

/// Any sizes in any coordinates. `dyadic`: such that no float is rounded.
inline Resize draw_bilinear(Draw& draw, bool dyadic = false) {
  Resize r = draw_resize(draw);
  r.code = OpCode::resize_bilinear;
  const std::int32_t kind = draw.between(0, 2);
  r.attributes = {.align_corners = kind == 1, .half_pixel_centers = kind == 2};
  if (!dyadic) {
    r.height = draw.between(1, 15);
    r.width = draw.between(1, 15);
  } else if (r.attributes.align_corners) {
    r.height = (1 << draw.between(0, 3)) + 1;
    r.width = (1 << draw.between(0, 3)) + 1;
  } else {
    r.height = r.image[1] << draw.between(0, 2);
    r.width = r.image[2] << draw.between(0, 2);
  }
  return r;
}

}  // namespace octet::test
