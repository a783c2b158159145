#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/bilinear.h>
#include <octet/core/ops/resize.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>

#include <utility>
#include <vector>

namespace octet {
namespace {

using Taps = std::vector<detail::BilinearTap<float>>;

/// The rows and the columns of the result.
struct Bilinear {
  Taps rows;
  Taps columns;
};

template <class Body>
void for_each_line(Index lines, Index floats, Body&& body) {
  const std::size_t grain = parallel_grain(Work::map_floats, static_cast<std::size_t>(floats));
  parallel_for(static_cast<std::size_t>(lines), grain, [&](std::size_t begin, std::size_t end) {
    for (auto line = static_cast<Index>(begin); line < static_cast<Index>(end); ++line) body(line);
  });
}

void interpolate(const Bilinear& b, const Shape& shape, const Tensor& x, Tensor& y) {
  const auto height = static_cast<Index>(b.rows.size());
  const Index line = shape[2] * shape[3];
  const Index made = static_cast<Index>(b.columns.size()) * shape[3];
  for_each_line(shape[0] * height, made, [&, from = x.data(), to = y.mutable_data()](Index row) {
    const auto& tap = b.rows[static_cast<std::size_t>(row % height)];
    const float* image = from + row / height * shape[1] * line;
    detail::bilinear_line(image + tap.lower * line, image + tap.upper * line, tap.weight, b.columns,
                          shape[3], to + row * made);
  });
}

/// Adds what row `of` of the image has of the gradient `g` of one row of the result.
void add_row(const Bilinear& b, Index of, const detail::BilinearTap<float>& row, Index channels,
             const float* g, float* dx) {
  const float part =
      (row.lower == of ? 1.0F - row.weight : 0.0F) + (row.upper == of ? row.weight : 0.0F);
  for (const auto& column : b.columns) {
    float* lower = dx + column.lower * channels;
    float* upper = dx + column.upper * channels;
    for (Index c = 0; c < channels; ++c, ++g) {
      lower[c] += (1.0F - column.weight) * part * *g;
      upper[c] += column.weight * part * *g;
    }
  }
}

/// Each row of dx from the rows of g between which it lies, in their order.
Tensor gradient(const Bilinear& b, const Shape& shape, const Tensor& g) {
  Tensor dx = Tensor::zeros(shape);
  const auto height = static_cast<Index>(b.rows.size());
  const Index line = shape[2] * shape[3];
  const Index made = static_cast<Index>(b.columns.size()) * shape[3];
  const Index each = height / shape[1] + 1;
  for_each_line(shape[0] * shape[1], made * each,
                [&, from = g.data(), to = dx.mutable_data()](Index row) {
                  const Index of = row % shape[1];
                  const float* image = from + row / shape[1] * height * made;
                  for (Index o = 0; o < height; ++o) {
                    const auto& tap = b.rows[static_cast<std::size_t>(o)];
                    if (tap.lower != of && tap.upper != of) continue;
                    add_row(b, of, tap, shape[3], image + o * made, to + row * line);
                  }
                });
  return dx;
}

void require_size(const std::array<Index, 2>& size) {
  for (const Index extent : size) {
    if (extent >= 1 && extent <= kMostExtent) continue;
    throw InvalidArgument(fmt::format(
        "resize_bilinear: expected a height and a width between 1 and {}, found {} and {}",
        kMostExtent, size[0], size[1]));
  }
}

}  // namespace

Tensor resize_bilinear(const Tensor& x, const std::array<Index, 2>& size,
                       ResizeCoordinates coordinates) {
  check_images("resize_bilinear", x);
  require_size(size);
  const Shape& shape = x.shape();
  Tensor y({shape[0], size[0], size[1], shape[3]});
  if (y.size() == 0) {
    // Shapes are asked for by empty batches: a size that a damaged file names takes no memory.
    const auto of_nothing = [shape](const Tensor& /*g*/) {
      return std::vector<Tensor>{Tensor::zeros(shape)};
    };
    return record("resize_bilinear", y, {x}, of_nothing, BackwardReads::nothing);
  }
  Bilinear b{detail::bilinear_taps(shape[1], size[0], coordinates),
             detail::bilinear_taps(shape[2], size[1], coordinates)};
  interpolate(b, shape, x, y);
  const auto backward = [shape, b = std::move(b)](const Tensor& g) {
    return std::vector<Tensor>{gradient(b, shape, g)};
  };
  return record("resize_bilinear", y, {x}, backward, BackwardReads::nothing);
}

}  // namespace octet
