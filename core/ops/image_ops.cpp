#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/image_ops.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace octet {
namespace {

void require_between(std::string_view operation, std::string_view what, Index value, Index least) {
  if (value >= least && value <= kMostExtent) return;
  throw InvalidArgument(fmt::format("{}: expected {} between {} and {}, found {}", operation, what,
                                    least, kMostExtent, value));
}

/// Calls body(line) for every line of pixels of images of `shape`, counted over all images.
template <class Body>
void for_each_line(const Shape& shape, Body&& body) {
  const auto lines = static_cast<std::size_t>(shape[0] * shape[1]);
  const auto floats = static_cast<std::size_t>(shape[2] * shape[3]);
  const std::size_t least = parallel_grain(Work::map_floats, floats);
  parallel_for(lines, thread_share(lines, least), [&](std::size_t begin, std::size_t end) {
    for (auto line = static_cast<Index>(begin); line < static_cast<Index>(end); ++line) body(line);
  });
}

/// Where line `line` of images of `inner` begins in images of `outer`, which has `padding` more.
Index padded_offset(const Shape& inner, const Shape& outer, const Padding2D& padding, Index line) {
  const Index y = line / inner[1] * outer[1] + padding.top + line % inner[1];
  return (y * outer[2] + padding.left) * outer[3];
}

void repeat_pixels(const Shape& shape, const std::array<Index, 2>& factors, const float* x,
                   float* y) {
  const Index channels = shape[3];
  const Index row = shape[2] * factors[1] * channels;
  for_each_line(shape, [&](Index line) {
    const float* from = x + line * shape[2] * channels;
    float* first = y + line * factors[0] * row;
    float* to = first;
    for (Index ix = 0; ix < shape[2]; ++ix, from += channels) {
      for (Index k = 0; k < factors[1]; ++k) to = std::copy_n(from, channels, to);
    }
    for (Index k = 1; k < factors[0]; ++k) to = std::copy_n(first, row, to);
  });
}

/// The sum of the gradients of each pixel's copies.
void sum_copies(const Shape& shape, const std::array<Index, 2>& factors, const float* g,
                float* dx) {
  const Index channels = shape[3];
  const Index row = shape[2] * factors[1] * channels;
  for_each_line(shape, [&](Index line) {
    const float* first = g + line * factors[0] * row;
    float* to = dx + line * shape[2] * channels;
    for (Index ix = 0; ix < shape[2]; ++ix, first += factors[1] * channels) {
      for (Index c = 0; c < channels; ++c) {
        double sum = 0.0;
        for (Index ky = 0; ky < factors[0]; ++ky) {
          const float* copies = first + ky * row + c;
          for (Index kx = 0; kx < factors[1]; ++kx) {
            sum += static_cast<double>(copies[kx * channels]);
          }
        }
        *to++ = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace

Tensor pad2d(const Tensor& x, const Padding2D& padding) {
  check_images("pad2d", x);
  require_between("pad2d", "a padding on top", padding.top, 0);
  require_between("pad2d", "a padding at the bottom", padding.bottom, 0);
  require_between("pad2d", "a padding on the left", padding.left, 0);
  require_between("pad2d", "a padding on the right", padding.right, 0);
  const Shape& inner = x.shape();
  const Shape outer{inner[0], padding.top + inner[1] + padding.bottom,
                    padding.left + inner[2] + padding.right, inner[3]};
  const Index row = inner[2] * inner[3];
  Tensor y = Tensor::zeros(outer);
  for_each_line(inner, [&, from = x.data(), to = y.mutable_data()](Index line) {
    std::copy_n(from + line * row, row, to + padded_offset(inner, outer, padding, line));
  });
  const auto backward = [inner, outer, padding, row](const Tensor& g) {
    Tensor dx(inner);
    for_each_line(inner, [&, from = g.data(), to = dx.mutable_data()](Index line) {
      std::copy_n(from + padded_offset(inner, outer, padding, line), row, to + line * row);
    });
    return std::vector<Tensor>{dx};
  };
  return record("pad2d", y, {x}, backward, BackwardReads::nothing);
}

Tensor upsample2d(const Tensor& x, const std::array<Index, 2>& factors) {
  check_images("upsample2d", x);
  require_between("upsample2d", "a factor for the height", factors[0], 1);
  require_between("upsample2d", "a factor for the width", factors[1], 1);
  const Shape& shape = x.shape();
  Tensor y({shape[0], shape[1] * factors[0], shape[2] * factors[1], shape[3]});
  repeat_pixels(shape, factors, x.data(), y.mutable_data());
  const auto backward = [shape, factors](const Tensor& g) {
    Tensor dx(shape);
    sum_copies(shape, factors, g.data(), dx.mutable_data());
    return std::vector<Tensor>{dx};
  };
  return record("upsample2d", y, {x}, backward, BackwardReads::nothing);
}

}  // namespace octet
