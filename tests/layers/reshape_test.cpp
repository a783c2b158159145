#include <octet/core/ops/ops.h>
#include <octet/layers/reshape.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::reshape_test {
namespace {

TEST(Reshape, KeepsTheValuesInOrder) {
  const Tensor x = Tensor::arange(24).reshape({2, 3, 4});
  const auto expect_reshaped = [&](const Shape& target, const Shape& result) {
    const auto layer = built(Reshape(target), {3, 4});
    EXPECT_EQ(layer->output_shape(), result);
    expect_tensor(layer->forward(x, {}), result.with_batch(2), values_of(x));
  };
  expect_reshaped({12}, {12});
  expect_reshaped({2, 6}, {2, 6});
  expect_reshaped({-1}, {12});
  expect_reshaped({2, -1}, {2, 6});
  expect_reshaped({-1, 3, 2}, {2, 3, 2});
  expect_reshaped({1, 12, -1}, {1, 12, 1});
}

TEST(Reshape, RefusesSizesThatDisagree) {
  for (const Shape& target : {Shape{13}, Shape{5, -1}, Shape{-1, 0}, Shape{0}, Shape{-2, 6},
                              Shape{-2, -1}, Shape{24, -1}}) {
    EXPECT_THROW(built(Reshape(target), {3, 4}), InvalidArgument) << target.to_string();
  }
  const std::string message = message_of<InvalidArgument>([] {
    built(Reshape({5, -1}, "grid"), {3, 4});
  });
  for (const char* part : {"grid", "[3, 4]", "12", "[5, -1]"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  expect_error([] { built(Reshape({-1, -1}), {3, 4}); }, "at most one -1");
  // The product of the known extents is beyond 63 bits.
  const Index big = Index{1} << 40;
  EXPECT_THROW(built(Reshape({big, big, -1}), {3, 4}), InvalidArgument);
}

TEST(Reshape, PassesTheGradientThrough) {
  const auto layer = built(Reshape({2, -1}), {6});
  expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                  {random_tensor({3, 6}, 1)});
}

TEST(Reshape, TakesAnEmptyBatch) {
  EXPECT_EQ(built(Reshape({2, -1}), {6})->forward(Tensor::zeros({0, 6}), {}).shape(),
            (Shape{0, 2, 3}));
}

TEST(Flatten, MakesOneAxisOfAll) {
  const Tensor x = Tensor::arange(24).reshape({2, 3, 2, 2});
  const auto layer = built(Flatten(), {3, 2, 2});
  EXPECT_EQ(layer->type(), "Flatten");
  EXPECT_EQ(layer->clone()->type(), "Flatten");
  EXPECT_EQ(layer->output_shape(), (Shape{12}));
  expect_tensor(layer->forward(x, {}), {2, 12}, values_of(x));
  EXPECT_EQ(built(Flatten(), {5})->output_shape(), (Shape{5}));
}

}  // namespace
}  // namespace octet::test::reshape_test
