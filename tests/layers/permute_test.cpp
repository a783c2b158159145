#include <octet/core/ops/ops.h>
#include <octet/layers/permute.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::permute_test {
namespace {

TEST(Permute, PutsAxesInAnotherOrder) {
  const auto layer = built(Permute({3, 1, 2}), {2, 1, 3});
  EXPECT_EQ(layer->output_shape(), (Shape{3, 2, 1}));
  const Tensor x = Tensor::arange(12).reshape({2, 2, 1, 3});
  expect_tensor(layer->forward(x, {}), {2, 3, 2, 1}, {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  const auto same = built(Permute({1, 2}), {2, 3});
  expect_tensor(same->forward(x.reshape({2, 2, 3}), {}), {2, 2, 3}, values_of(x));
}

TEST(Permute, PassesTheGradientBack) {
  const auto layer = built(Permute({2, 1}), {3, 2});
  expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                  {random_tensor({4, 3, 2}, 1)});
}

TEST(Permute, RefusesWhatIsNoOrderOfTheAxes) {
  for (const std::vector<Index>& axes :
       std::vector<std::vector<Index>>{{1}, {1, 1}, {0, 1}, {1, 3}, {1, 2, 3}, {}, {-1, 1}}) {
    expect_error(
        [&] {
          built(Permute(axes, "p"), {2, 3});
        },
        "Permute \"p\": expected each of the axes 1 to 2 of examples [2, 3] once, found " +
            Shape(axes).to_string());
  }
}

}  // namespace
}  // namespace octet::test::permute_test
