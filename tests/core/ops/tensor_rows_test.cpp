#include <octet/core/autograd.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/tests/core/ops/op_testing.h>

#include <functional>

// Gradients that are computed where they are read.

namespace octet::test::tensor_rows_test {
namespace {

constexpr float kEpsilon = 1e-3F;

/// A convolution of x, a kernel and a bias.
using Convolution = std::function<Tensor(const std::vector<Tensor> &)>;

Tensor normalized(const Tensor &y) {
  const Index channels = y.dim(-1);
  return detail::batch_norm_training(y, random_tensor({channels}, 5, 0.5F, 2.0F),
                                     random_tensor({channels}, 6), kEpsilon, FusedActivation::relu)
      .y;
}

/// The gradients of a convolution with a batch normalization behind it.
std::vector<Tensor> gradients_through(const Convolution &f, const std::vector<Tensor> &values) {
  std::vector<Tensor> in;
  for (const Tensor &value : values) in.push_back(leaf(value.clone()));
  Tensor z = normalized(f(in));
  z.backward(random_tensor(z.shape(), 7));
  return {in[0].grad(), in[1].grad(), in[2].grad()};
}

/// Computes the gradients with the gradient of the convolution's result in memory.
std::vector<Tensor> gradients_in_two_steps(const Convolution &f,
                                           const std::vector<Tensor> &values) {
  std::vector<Tensor> in;
  for (const Tensor &value : values) in.push_back(leaf(value.clone()));
  Tensor y = f(in);
  const Tensor result = leaf(y.detach().clone());
  Tensor z = normalized(result);
  z.backward(random_tensor(z.shape(), 7));
  y.backward(Tensor::from(y.shape(), values_of(result.grad())));
  return {in[0].grad(), in[1].grad(), in[2].grad()};
}

void expect_the_bits_of_two_steps(const Convolution &f, const std::vector<Tensor> &values) {
  const std::vector<Tensor> found = gradients_through(f, values);
  const std::vector<Tensor> expected = gradients_in_two_steps(f, values);
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_tensor(found[i], expected[i].shape(), values_of(expected[i]));
  }
  expect_same_on_any_threads([&] { return gradients_through(f, values); });
}

TEST(TensorRows, AConvolutionReadsThoseOfABatchNormalization) {
  for (const Index images : {1, 3, 20}) {
    for (const Index size : {1, 3}) {
      expect_the_bits_of_two_steps(
          [](const auto &in) { return conv2d(in[0], in[1], in[2], FusedActivation::none, {}); },
          {random_tensor({images, 13, 9, 5}, 1), random_tensor({size, size, 5, 7}, 2),
           random_tensor({7}, 3)});
    }
  }
}

TEST(TensorRows, ADepthwiseConvolutionReadsThoseOfABatchNormalization) {
  for (const Index images : {1, 3, 20}) {
    for (const Index multiplier : {1, 2}) {
      for (const Index stride : {1, 2}) {
        expect_the_bits_of_two_steps(
            [stride](const auto &in) {
              return depthwise_conv2d(in[0], in[1], in[2],
                                      {.stride = {stride, 1}, .padding = Padding::same});
            },
            {random_tensor({images, 13, 9, 5}, 1), random_tensor({3, 3, 5, multiplier}, 2),
             random_tensor({5 * multiplier}, 3)});
      }
    }
  }
}

TEST(TensorRows, AConvolutionAddsUpBlocksOfAPart) {
  // Parts of 260 rows, blocks of 256.
  expect_the_bits_of_two_steps(
      [](const auto &in) { return conv2d(in[0], in[1], in[2], FusedActivation::none, {}); },
      {random_tensor({20, 13, 9, 64}, 1), random_tensor({1, 1, 64, 48}, 2),
       random_tensor({48}, 3)});
  const Tensor x = random_tensor({20, 13, 9, 64}, 1);
  const Tensor g = random_tensor({20, 13, 9, 48}, 2);
  const Tensor wide = random_tensor({1, 1, 64, 48}, 3);
  const Tensor found =
      conv2d_gradients(conv2d_geometry(x, wide, {}), x, wide, g, {false, true, false}).kernel;
  const auto rows_of = [](const Tensor &t, Index part) {
    const auto size = static_cast<std::ptrdiff_t>(260 * t.dim(3));
    const auto begin = t.span().begin() + part * size;
    return Tensor::from({260, t.dim(3)}, std::vector<float>(begin, begin + size));
  };
  Tensor expected = Tensor::zeros({64, 48});
  for (Index part = 0; part < 9; ++part) {
    expected = expected + matmul(rows_of(x, part), rows_of(g, part), Transpose::yes);
  }
  expect_tensor(found.reshape({64, 48}), expected.shape(), values_of(expected));
}

/// The result of a convolution behind a batch normalization, and its gradients.
std::vector<Tensor> results_behind(const Convolution &f, const Shape &images, const Tensor &kernel,
                                   bool in_memory) {
  const Tensor y = leaf(random_tensor(images, 1)) * 2.0F;  // On the tape: not a leaf.
  Tensor z = normalized(y);
  if (in_memory) z = Tensor::from(z.shape(), values_of(z));
  const Tensor k = leaf(kernel.clone());
  const Tensor bias = leaf(random_tensor({kernel.dim(3)}, 3));
  Tensor result = f({z, k, bias});
  result.backward(random_tensor(result.shape(), 4));
  return {result.detach(), k.grad(), bias.grad()};
}

void expect_the_bits_of_memory(const Convolution &f, const Shape &images, const Tensor &kernel) {
  const std::vector<Tensor> found = results_behind(f, images, kernel, false);
  const std::vector<Tensor> expected = results_behind(f, images, kernel, true);
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_tensor(found[i], expected[i].shape(), values_of(expected[i]));
  }
  expect_same_on_any_threads([&] { return results_behind(f, images, kernel, false); });
}

TEST(TensorRows, AConvolutionReadsWhatABatchNormalizationGives) {
  for (const Index size : {1, 3}) {
    for (const Index channels : {5, 64}) {
      expect_the_bits_of_memory(
          [](const auto &in) { return conv2d(in[0], in[1], in[2], FusedActivation::relu, {}); },
          {20, 13, 9, channels}, random_tensor({size, size, channels, 48}, 2));
    }
  }
}

TEST(TensorRows, ADepthwiseConvolutionReadsWhatABatchNormalizationGives) {
  for (const Index images : {1, 20}) {
    for (const Index stride : {1, 2}) {
      expect_the_bits_of_memory(
          [stride](const auto &in) {
            return depthwise_conv2d(in[0], in[1], in[2].reshape({1}) + Tensor::zeros({24}),
                                    {.stride = {stride, 1}, .padding = Padding::same});
          },
          {images, 13, 9, 24}, random_tensor({3, 3, 24, 1}, 2));
    }
  }
}

TEST(TensorRows, OfAMaskedGradientAreThoseInsideTheWindow) {
  const Tensor x = random_tensor({2000, 6}, 1);
  const Tensor g = random_tensor({2000, 6}, 2);
  const GradientWindow window{-1.0F, 1.5F, -0.5F, 2.0F};
  const Tensor expected = inside_window(x, g, window);
  const std::shared_ptr<std::int8_t[]> mask(new std::int8_t[12000]);
  for (std::ptrdiff_t i = 0; i < 12000; ++i) {
    const float v = x.data()[i];
    mask[i] = v >= window.lo && v <= window.hi && v > window.above && v < window.below ? 1 : 0;
  }
  const Tensor found = lazy_masked(mask, g);
  const TensorRows rows(found, 6);
  ASSERT_TRUE(rows.computes());
  std::vector<float> memory(rows.scratch(20));
  const float *const part = rows.read(11, 31, memory.data());
  EXPECT_TRUE(std::equal(part, part + 120, expected.data() + 66));
  expect_tensor(found, expected.shape(), values_of(expected));
}

TEST(TensorRows, GradientsThatNobodyWantsAreUndefined) {
  const Tensor x = random_tensor({20, 5, 6, 4}, 1);
  const Tensor g = random_tensor({20, 5, 6, 4}, 2);
  const Tensor wide = random_tensor({1, 1, 4, 4}, 3);
  const Tensor deep = random_tensor({1, 1, 4, 1}, 3);
  const Conv2DGeometry conv = conv2d_geometry(x, wide, {});
  const Conv2DGeometry depthwise = depthwise_conv2d_geometry(x, deep, {});
  for (const WantedGradients &w :
       {WantedGradients{true, false, true}, {false, true, false}, {true, true, true}}) {
    for (const ConvGradients &all : {conv2d_gradients(conv, x, wide, g, w),
                                     depthwise_conv2d_gradients(depthwise, x, deep, g, w)}) {
      EXPECT_EQ(all.x.defined(), w.x);
      EXPECT_EQ(all.kernel.defined(), w.kernel);
      EXPECT_EQ(all.bias.defined(), w.bias);
    }
  }
}

TEST(PartialSums, PartsAreWholeUnitsWhereThereAreEnough) {
  const auto begins = [](Index rows, Index unit) {
    std::vector<Index> found(static_cast<std::size_t>(count_parts(rows, 1)));
    for_each_part(
        rows, count_parts(rows, 1),
        [&](Index part, Index begin, Index) { found[static_cast<std::size_t>(part)] = begin; },
        unit);
    return found;
  };
  EXPECT_EQ(begins(1000, 1), (std::vector<Index>{0, 333, 666}));
  EXPECT_EQ(begins(1000, 100), (std::vector<Index>{0, 300, 600}));
  EXPECT_EQ(begins(1000, 500), (std::vector<Index>{0, 333, 666}));
}

TEST(PartialSums, SeveralSumsAreCutAsTheFirst) {
  const Tensor x = random_tensor({2000, 3}, 1);
  const auto add = [&](Index begin, Index end, Index column) {
    float sum = 0.0F;
    for (Index i = begin; i < end; ++i) sum += x.data()[i * 3 + column];
    return sum;
  };
  const std::vector<Tensor> found =
      sums_of_parts({{1}, {2}}, 2000, [&](Index begin, Index end, std::span<float *const> sums) {
        sums[0][0] = add(begin, end, 0);
        sums[1][0] = add(begin, end, 1);
        sums[1][1] = add(begin, end, 2);
      });
  for (Index column = 0; column < 3; ++column) {
    const Tensor one = sum_of_parts(
        {1}, 2000, [&](Index begin, Index end, float *sum) { *sum = add(begin, end, column); });
    EXPECT_EQ(one.item(), column == 0 ? found[0].item() : found[1].at({column - 1}));
  }
}

}  // namespace
}  // namespace octet::test::tensor_rows_test
