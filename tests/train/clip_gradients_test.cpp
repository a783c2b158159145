#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/train/training.h>
#include <octet/train/optimizer.h>

#include <cmath>
#include <limits>
#include <vector>

namespace octet::test::clip_gradients_test {
namespace {

using detail::TensorAccess;

TEST(ClipGradients, ScalesToTheNormAndNoFurther) {
  auto parameters = two_parameters();  // 6 ones and 3 twos: a norm of sqrt(18)
  EXPECT_DOUBLE_EQ(clip_gradients(parameters, 100.0), std::sqrt(18.0));
  EXPECT_EQ(parameters[1].tensor.grad().data()[0], 2.0F);
  EXPECT_DOUBLE_EQ(clip_gradients(parameters, 1.5), std::sqrt(18.0));
  EXPECT_NEAR(parameters[0].tensor.grad().data()[5], 1.5 / std::sqrt(18.0), 1e-6);
  EXPECT_NEAR(parameters[1].tensor.grad().data()[2], 3.0 / std::sqrt(18.0), 1e-6);
  EXPECT_NEAR(clip_gradients(parameters, 1.0), 1.5, 1e-6);

  parameters[0].tensor = Tensor::ones({2, 3}).set_requires_grad(true);
  EXPECT_NO_THROW(clip_gradients(parameters, 1.0));
  EXPECT_EQ(clip_gradients({}, 1.0), 0.0);
  for (const double norm : {0.0, -1.0, std::nan("")}) {
    EXPECT_THROW(clip_gradients(parameters, norm), InvalidArgument);
  }
}

TEST(ClipGradients, HugeGradientsDoNotOverflowAndNaNStaysVisible) {
  auto parameters = two_parameters();
  TensorAccess::mutable_grad(parameters[1].tensor) = Tensor::full({3}, 3e38F);
  clip_gradients(parameters, 1.0);
  EXPECT_NEAR(parameters[1].tensor.grad().data()[0], 1.0 / std::sqrt(3.0), 1e-5);
  TensorAccess::mutable_grad(parameters[1].tensor) = Tensor::full({3}, std::nanf(""));
  EXPECT_TRUE(std::isnan(clip_gradients(parameters, 1.0)));
  EXPECT_TRUE(std::isnan(parameters[1].tensor.grad().data()[0]));
}

/// The gradients of sum(y^2) for y = x W + b, in double: kernel by rows, then bias.
std::vector<double> naive_gradients(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  const Index inputs = kernel.dim(0);
  const Index units = kernel.dim(1);
  std::vector<double> gradients(static_cast<std::size_t>((inputs + 1) * units));
  for (Index i = 0; i < x.dim(0); ++i) {
    for (Index j = 0; j < units; ++j) {
      double y = double{bias.at({j})};
      for (Index k = 0; k < inputs; ++k) y += double{x.at({i, k})} * double{kernel.at({k, j})};
      for (Index k = 0; k < inputs; ++k) {
        gradients[static_cast<std::size_t>(k * units + j)] += 2.0 * y * double{x.at({i, k})};
      }
      gradients[static_cast<std::size_t>(inputs * units + j)] += 2.0 * y;
    }
  }
  return gradients;
}

TEST(ClipGradients, OfDenseLayersOfOddShapesAreComputedWholeAndRight) {
  const KeepThreads keep;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const Index inputs : {1, 57, 113}) {
      for (const Index units : {1, 7, 33}) {
        for (const Index batch : {1, 31, 33}) {
          Sequential model("m", Input({inputs}), Dense(units));
          model.build(3);
          const auto parameters = model.parameters();
          const Tensor& kernel = parameters[0].tensor;
          const Tensor& bias = parameters[1].tensor;
          const Tensor x = Tensor::normal({batch, inputs}, Random(1));
          sum(square(model.forward(x))).backward();
          ASSERT_NE(TensorAccess::pending(kernel.grad()), nullptr);

          const std::vector<double> expected = naive_gradients(x, kernel, bias);
          double squares = 0.0;
          for (const double g : expected) squares += g * g;
          const double norm = std::sqrt(squares);
          EXPECT_NEAR(clip_gradients(parameters, 0.5), norm, 1e-4 * norm);
          EXPECT_EQ(TensorAccess::pending(kernel.grad()), nullptr);
          std::vector<float> found(kernel.grad().span().begin(), kernel.grad().span().end());
          found.insert(found.end(), bias.grad().span().begin(), bias.grad().span().end());
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) {
            EXPECT_NEAR(double{found[i]}, 0.5 * expected[i] / norm, 1e-5)
                << inputs << "x" << units << ", batch " << batch << ", element " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::clip_gradients_test
