#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/import/onnx/import_onnx.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/import/onnx_file.h>

#include <cstdint>
#include <string>
#include <vector>

// What imported ONNX files compute, in ONNX's order.

namespace octet::test::onnx_computed {

using Integers = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

/// What a file computes of `x`, in ONNX's order: [batch, channels, height, width] for images.
inline Tensor computed(const Bytes& file, const Tensor& x) {
  const bool images = x.rank() == 4;
  const Tensor y = import_onnx(file).forward(images ? permute(x, {0, 2, 3, 1}) : x);
  return y.rank() == 4 ? permute(y, {0, 3, 1, 2}) : y;
}

inline void expect_same(const Tensor& found, const Tensor& expected, const std::string& name) {
  ASSERT_EQ(found.shape(), expected.shape()) << name;
  EXPECT_THAT(found.span(), testing::Pointwise(testing::FloatNear(1e-5F), expected.span())) << name;
}

/// Expects import_onnx() to throw InvalidArgument with these words.
inline void expect_refused(const Bytes& file, const char* says) {
  expect_throws<InvalidArgument>([&] { import_onnx(file); }, {says});
}

/// An operator of images, which says in which order the channels of "x" lie.
inline Message images_first() {
  return node("MaxPool", {"x"}, "i", {attribute("kernel_shape", Integers{1, 1})});
}

}  // namespace octet::test::onnx_computed
