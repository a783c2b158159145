#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/train/training.h>
#include <octet/train/optimizer.h>

#include <cmath>
#include <limits>
#include <vector>

namespace octet::test {
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

}  // namespace
}  // namespace octet::test
