#include <octet/core/ops/ops.h>
#include <octet/tests/core/ops/op_testing.h>

#include <array>

namespace octet::test::image_ops_test {
namespace {

constexpr Index kMost = (Index{1} << 31) - 1;

TEST(Pad2D, PutsZerosAroundEachImage) {
  const Tensor x = Tensor::from({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_tensor(pad2d(x, {.top = 1, .right = 1}), {2, 2, 3, 2},
                {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7, 8, 0, 0});
  expect_tensor(pad2d(x, {.bottom = 1, .left = 2}), {2, 2, 4, 2},
                {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0,
                 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_tensor(pad2d(x, {}), x.shape(), values_of(x));
}

TEST(Upsample2D, RepeatsPixels) {
  const Tensor x = Tensor::from({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_tensor(upsample2d(x, {2, 1}), {1, 4, 2, 2},
                {1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8});
  expect_tensor(upsample2d(x, {1, 3}), {1, 2, 6, 2},
                {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6, 7, 8, 7, 8, 7, 8});
}

/// Element (i, y, x, c), or 0 outside the image.
float at_or_zero(const Tensor& t, Index i, Index y, Index x, Index c) {
  const bool inside = y >= 0 && y < t.dim(1) && x >= 0 && x < t.dim(2);
  return inside ? t.at({i, y, x, c}) : 0.0F;
}

TEST(Pad2D, MatchesALoop) {
  for (const Padding2D& p : {Padding2D{1, 2, 3, 4}, {0, 5, 0, 0}, {2, 0, 0, 1}}) {
    for (const Shape& shape : {Shape{1, 1, 1, 1}, {5, 3, 4, 2}, {2, 40, 37, 30}}) {
      const Tensor x = random_tensor(shape, 1);
      const Tensor y = pad2d(x, p);
      ASSERT_EQ(y.shape(), (Shape{shape[0], p.top + shape[1] + p.bottom,
                                  p.left + shape[2] + p.right, shape[3]}));
      std::size_t k = 0;
      for (Index i = 0; i < y.dim(0); ++i) {
        for (Index oy = 0; oy < y.dim(1); ++oy) {
          for (Index ox = 0; ox < y.dim(2); ++ox) {
            for (Index c = 0; c < y.dim(3); ++c) {
              ASSERT_EQ(y.span()[k++], at_or_zero(x, i, oy - p.top, ox - p.left, c));
            }
          }
        }
      }
    }
  }
}

TEST(Upsample2D, MatchesALoop) {
  for (const std::array<Index, 2>& f : {std::array<Index, 2>{1, 1}, {2, 2}, {3, 1}, {1, 4}}) {
    for (const Shape& shape : {Shape{1, 1, 1, 1}, {5, 3, 4, 2}, {2, 40, 37, 30}}) {
      const Tensor x = random_tensor(shape, 1);
      const Tensor y = upsample2d(x, f);
      ASSERT_EQ(y.shape(), (Shape{shape[0], shape[1] * f[0], shape[2] * f[1], shape[3]}));
      std::size_t k = 0;
      for (Index i = 0; i < y.dim(0); ++i) {
        for (Index oy = 0; oy < y.dim(1); ++oy) {
          for (Index ox = 0; ox < y.dim(2); ++ox) {
            for (Index c = 0; c < y.dim(3); ++c) {
              ASSERT_EQ(y.span()[k++], x.at({i, oy / f[0], ox / f[1], c}));
            }
          }
        }
      }
    }
  }
}

TEST(ImageOps, Gradients) {
  for (const Shape& shape : {Shape{1, 1, 1, 1}, {2, 3, 4, 2}}) {
    const Tensor x = random_tensor(shape, 1);
    expect_gradient([](const auto& in) { return pad2d(in[0], {1, 0, 2, 3}); }, {x});
    expect_gradient([](const auto& in) { return upsample2d(in[0], {3, 2}); }, {x});
    for (const auto coordinates : {ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners,
                                   ResizeCoordinates::asymmetric}) {
      expect_gradient(
          [&](const auto& in) {
            return resize_bilinear(in[0], {7, 2}, coordinates);
          },
          {x});
    }
  }
}

TEST(ImageOps, SameBytesOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({3, 40, 37, 30}, 1);
  expect_same_on_any_threads([&] {
    std::vector<Tensor> results;
    const Tensor a = leaf(x.clone());
    for (Tensor y : {pad2d(a, {1, 2, 3, 4}), upsample2d(a, {3, 2}), resize_bilinear(a, {90, 20})}) {
      y.backward(random_tensor(y.shape(), 2));
      results.push_back(y.detach());
      results.push_back(a.grad().clone());
    }
    return results;
  });
}

TEST(ImageOps, NoImagesGiveNone) {
  EXPECT_EQ(pad2d(Tensor::ones({0, 2, 3, 1}), {1, 1, 1, 1}).shape(), (Shape{0, 4, 5, 1}));
  EXPECT_EQ(upsample2d(Tensor::ones({0, 2, 3, 1}), {2, 2}).shape(), (Shape{0, 4, 6, 1}));
}

TEST(ImageOps, ErrorsNameTheOperationAndWhatWasFound) {
  const Tensor x = Tensor::ones({1, 2, 2, 1});
  expect_error([&] { pad2d(x, {.left = -1}); },
               "pad2d: expected a padding on the left between 0 and 2147483647, found -1");
  expect_error([&] { pad2d(x, {.top = kMost + 1}); }, "a padding on top");
  expect_error([&] { pad2d(x, {.bottom = -2}); }, "a padding at the bottom");
  expect_error([&] { pad2d(x, {.right = -3}); }, "a padding on the right");
  expect_error([] { pad2d(Tensor::ones({2, 2, 1}), {}); }, "pad2d: expected images [n, h, w, c]");
  expect_error(
      [&] {
        upsample2d(x, {0, 2});
      },
      "upsample2d: expected a factor for the height between 1 and 2147483647, found 0");
  expect_error([&] { upsample2d(x, {2, -1}); }, "a factor for the width");
  expect_error([] { upsample2d(Tensor::ones({2, 2}), {2, 2}); }, "upsample2d: expected images");
  // Sizes that no machine has are errors too.
  expect_error(
      [&] {
        upsample2d(Tensor::ones({1, 4, 4, 4}), {kMost, kMost});
      },
      "product fits in 63 bits");
  expect_error(
      [&] {
        upsample2d(Tensor::ones({0, kMost + 1, 1, 1}), {kMost, 1});
      },
      "upsample2d: expected images [n, h, w, c] with h, w and c between 1");
}

}  // namespace
}  // namespace octet::test::image_ops_test
