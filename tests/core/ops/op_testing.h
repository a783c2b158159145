#pragma once

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/gradcheck.h>
#include <octet/core/tensor.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/special_values.h>
#include <octet/tests/core/thrown.h>

#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace octet::test {

/// Random values in [lo, hi), others for each seed.
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, float lo = -2.0F,
                            float hi = 2.0F) {
  return Tensor::uniform(shape, Random(seed), lo, hi);
}

/// Makes a leaf of `values` that wants a gradient.
inline Tensor leaf(Tensor values) { return values.set_requires_grad(true); }

inline std::vector<float> values_of(const Tensor& t) { return {t.span().begin(), t.span().end()}; }

/// Exactly these values in this shape; NaN equals NaN, and -0 is not 0.
inline void expect_tensor(const Tensor& found, const Shape& shape,
                          const std::vector<float>& expected) {
  ASSERT_EQ(found.shape().to_string(), shape.to_string());
  ASSERT_EQ(values_of(found).size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const float value = found.span()[i];
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(value)) << "element " << i << " is " << value;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected[i]))
          << "element " << i << " is " << value << ", expected " << expected[i];
    }
  }
}

inline void expect_close(const Tensor& found, const Tensor& expected, float tolerance = 1e-6F) {
  ASSERT_EQ(found.shape().to_string(), expected.shape().to_string());
  for (std::size_t i = 0; i < expected.span().size(); ++i) {
    const float limit = tolerance * (1.0F + std::fabs(expected.span()[i]));
    EXPECT_NEAR(found.span()[i], expected.span()[i], limit) << "element " << i;
  }
}

inline void expect_gradient(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                            const std::vector<Tensor>& inputs) {
  const GradcheckResult r = gradcheck(f, inputs);
  std::string shapes;
  for (const Tensor& input : inputs) shapes += input.shape().to_string();
  EXPECT_TRUE(r.ok) << r.message << " of " << shapes;
}

inline void expect_error(const std::function<void()>& body, const std::string& part) {
  expect_throws<InvalidArgument>(body, {part});
}

/// The gradient that one input gets from backward(ones) of f.
inline Tensor gradient_of(const std::function<Tensor(const Tensor&)>& f, const Tensor& input) {
  Tensor x = leaf(input.clone());
  Tensor y = f(x);
  y.backward(Tensor::ones(y.shape()));
  return x.grad();
}

/// Checks that `f` gives the same bytes on 1, 2, 3 and 4 threads.
inline void expect_same_on_any_threads(const std::function<std::vector<Tensor>()>& f) {
  const test::KeepThreads keep;
  set_num_threads(1);
  const std::vector<Tensor> expected = f();
  for (const int threads : {2, 3, 4}) {
    set_num_threads(threads);
    const std::vector<Tensor> found = f();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_tensor(found[i], expected[i].shape(), values_of(expected[i]));
    }
  }
}

}  // namespace octet::test
