// Ops that move elements, or that apply a function to each, on what a tensor stores as integers.

#include <gtest/gtest.h>
#include <octet/core/buffer.h>
#include <octet/core/ops/conv2d_internal.h>
#include <octet/core/ops/ops.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/tensor_internal.h>
#include <octet/tests/core/ops/op_testing.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace octet::test::stored_integers_test {
namespace {

/// Integers of all values that T has, in an order that no op keeps by chance.
template <class T>
Tensor stored(const Shape& shape) {
  const auto values = allocate_array<T>(static_cast<std::size_t>(shape.size()));
  for (Index i = 0; i < shape.size(); ++i) values[i] = static_cast<T>(i * 37);
  const std::int32_t zero_point = std::is_same_v<T, std::int8_t> ? 5 : 0;
  QuantParams params = QuantParams::per_tensor(0.03F, zero_point);
  if (std::is_same_v<T, std::int16_t>) {
    params.qmin = std::numeric_limits<T>::min();
    params.qmax = std::numeric_limits<T>::max();
  }
  return quantized_tensor(shape, std::make_shared<const QuantParams>(params), values);
}

/// Stores the real values of x as floats.
Tensor floats(const Tensor& x) { return Tensor::from(x.shape(), x.span()); }

struct OpCase {
  std::string name;
  std::function<Tensor(const Tensor&)> run;
  bool keeps_integers;
};

std::vector<OpCase> cases() {
  return {
      {"slice",
       [](const Tensor& x) {
         return slice(x, {{1, 3}, {0, 11, 3}, {2, 13}});
       },
       true},
      {"slice of nothing",
       [](const Tensor& x) {
         return slice(x, {{1, 1}, {0, 11}, {2, 13}});
       },
       true},
      {"permute",
       [](const Tensor& x) {
         return permute(x, {2, 0, 1});
       },
       true},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, false},
      {"tanh", [](const Tensor& x) { return tanh(x); }, false},
      {"exp", [](const Tensor& x) { return exp(x); }, false},
  };
}

void expect_same(const OpCase& op, const Tensor& x) {
  SCOPED_TRACE(op.name + " of " + std::string(to_string(x.dtype())));
  const DType dtype = x.dtype();
  Tensor of_integers = x.detach();
  Tensor of_floats = floats(x);
  of_integers.set_requires_grad(true);
  of_floats.set_requires_grad(true);
  Tensor y = op.run(of_integers);
  EXPECT_EQ(y.dtype(), op.keeps_integers ? dtype : DType::float32);
  EXPECT_EQ(y.quantization() != nullptr, op.keeps_integers);
  Tensor expected = op.run(of_floats);
  ASSERT_EQ(y.shape(), expected.shape());
  for (Index i = 0; i < y.size(); ++i) ASSERT_EQ(y.data()[i], expected.data()[i]) << i;
  sum(y * y).backward();
  sum(expected * expected).backward();
  for (Index i = 0; i < x.size(); ++i) {
    ASSERT_EQ(of_integers.grad().data()[i], of_floats.grad().data()[i]) << i;
  }
}

TEST(StoredIntegers, GiveTheValuesAndGradientsOfFloats) {
  for (const OpCase& op : cases()) {
    expect_same(op, stored<std::int8_t>({4, 11, 13}));
    expect_same(op, stored<std::int16_t>({4, 11, 13}));
  }
}

// The gradients of parts are added to one sum, which another op may have been given, too.
TEST(StoredIntegers, GradientsOfPartsAddUpAndChangeNoOthers) {
  Tensor x = Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor w = Tensor::zeros({2, 3});
  x.set_requires_grad(true);
  w.set_requires_grad(true);
  const Tensor y = 2.0F * x;
  const Tensor v = 1.0F * w;
  const Tensor rows = slice(y, 1, 2);
  const Tensor columns = slice(y, {{0, 2}, {0, 3, 2}});
  // The gradient of this sum goes to y and to v as one tensor, which v still has when the parts
  // add to that of y.
  const Tensor both = y + v;
  sum(10.0F * rows + sum(columns) + both).backward();
  const auto values = [](const Tensor& t) { return std::vector(t.span().begin(), t.span().end()); };
  EXPECT_EQ(values(w.grad()), (std::vector<float>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(values(x.grad()), (std::vector<float>{14, 2, 14, 54, 42, 54}));
}

/// A kernel's gradient reads int8 images a line at a time; the sums are those over their real
/// values.
TEST(StoredIntegers, AreReadByTheGradientOfAKernel) {
  for (const Index stride : {1, 2}) {
    for (const Index groups : {1, 2}) {
      for (const Padding padding : {Padding::valid, Padding::same}) {
        const Tensor x = stored<std::int8_t>({3, 9, 7, 4});
        const Tensor kernel = random_tensor({3, 2, 4 / groups, 6}, 1);
        const Conv2DGeometry geometry = conv2d_geometry(
            x, kernel, {.stride = {stride, 1}, .padding = padding, .groups = groups});
        const Tensor g = random_tensor(geometry.output_shape(), 2);
        const auto gradient_of = [&](const Tensor& images) {
          return conv2d_gradients(geometry, images, kernel, g, {false, true, false}).kernel;
        };
        const Tensor found = gradient_of(x);
        EXPECT_NE(detail::TensorAccess::pending(x), nullptr);  // No floats were made of all of x.
        expect_tensor(found, kernel.shape(), values_of(gradient_of(floats(x))));
      }
    }
  }
}

}  // namespace
}  // namespace octet::test::stored_integers_test
