#include <gtest/gtest.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <algorithm>
#include <functional>

// Writing into a tensor forgets what was known of its old elements: grid and codes above all.

namespace octet::test::written_tensor_test {
namespace {

class WrittenTensor : public ::testing::Test {
 protected:
  WrittenTensor() {
    quantize_.build({4}, Random(1));
    wrapper_.build({4}, Random(2));
    (void)run(x_, training());
  }

  Tensor run(const Tensor& x, const ForwardContext& context = {}) {
    return wrapper_.forward(quantize_.forward(x, context), context);
  }

  /// The wrapper on the quantized input after `write` has set it to zeros.
  void expect_zeros_are_seen(const std::function<void(Tensor&)>& write) {
    Tensor x = quantize_.forward(x_, {});
    const Tensor before = wrapper_.forward(x, {});
    write(x);
    for (const float v : x.span()) ASSERT_EQ(v, 0.0F);
    // On no grid that anybody knows of, until it is quantized again.
    expect_throws<InvalidArgument>([&] { (void)wrapper_.forward(x, {}); },
                                   {"quant_d", "found real values"});
    const Tensor found = run(x);
    const Tensor expected = run(Tensor::zeros(x_.shape()));
    expect_tensor(found, expected.shape(), values_of(expected));
    EXPECT_NE(values_of(found), values_of(before));
  }

  const Tensor x_ = random_tensor({5, 4}, 1);
  QuantizeLayer quantize_{QuantizeOptions{}, "q"};
  QuantizeWrapper wrapper_{std::make_unique<Dense>(3, Activation::none, "d"), default_8bit({})};
};

TEST_F(WrittenTensor, ThroughData) {
  expect_zeros_are_seen([](Tensor& x) { std::fill_n(x.mutable_data(), x.size(), 0.0F); });
}

TEST_F(WrittenTensor, ThroughASpan) {
  expect_zeros_are_seen([](Tensor& x) { std::ranges::fill(x.mutable_span(), 0.0F); });
}

TEST_F(WrittenTensor, ElementByElement) {
  expect_zeros_are_seen([](Tensor& x) {
    for (Index i = 0; i < x.size(); ++i) x.mutable_at({i / 4, i % 4}) = 0.0F;
  });
}

TEST_F(WrittenTensor, ThroughViewsOfIt) {
  expect_zeros_are_seen([](Tensor& x) { std::ranges::fill(x.reshape({-1}).mutable_span(), 0.0F); });
  expect_zeros_are_seen([](Tensor& x) { std::ranges::fill(x.detach().mutable_span(), 0.0F); });
  expect_zeros_are_seen([](Tensor& x) {
    std::ranges::fill(x.slice(0, 2).mutable_span(), 0.0F);
    std::ranges::fill(x.slice(2, 5).mutable_span(), 0.0F);
  });
}

TEST_F(WrittenTensor, ViewsOfItForgetToo) {
  Tensor x = quantize_.forward(x_, {});
  const Tensor head = x.slice(0, 2);
  const Tensor expected = run(x_.slice(0, 2));
  expect_tensor(wrapper_.forward(head, {}), {2, 3}, values_of(expected));
  std::ranges::fill(x.mutable_span(), 0.0F);
  expect_throws<InvalidArgument>([&] { (void)wrapper_.forward(head, {}); }, {"found real values"});
}

TEST_F(WrittenTensor, ClonesAreWrittenAlone) {
  const Tensor x = quantize_.forward(x_, {});
  const Tensor before = wrapper_.forward(x, {});
  Tensor copy = x.clone();
  expect_tensor(wrapper_.forward(copy, {}), {5, 3}, values_of(before));
  std::ranges::fill(copy.mutable_span(), 0.0F);
  EXPECT_THROW((void)wrapper_.forward(copy, {}), InvalidArgument);
  expect_tensor(wrapper_.forward(x, {}), {5, 3}, values_of(before));
}

/// The gradient of the kernel is x^T g for what x then holds, never for codes that are gone.
TEST_F(WrittenTensor, BetweenForwardAndBackwardIsRefused) {
  Tensor x = quantize_.forward(x_, {});
  Tensor y = wrapper_.forward(x, {});
  std::ranges::fill(x.mutable_span(), 0.0F);
  expect_throws<InvalidArgument>([&] { y.backward(Tensor::ones(y.shape())); },
                                 {"integer_linear", "[5, 4]", "written to since"});
}

}  // namespace
}  // namespace octet::test::written_tensor_test
