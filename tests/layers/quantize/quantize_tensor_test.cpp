#include <gtest/gtest.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/quantize_tensor.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace octet::test::quantize_tensor_test {
namespace {

using detail::TensorAccess;

QuantParams grid(float scale, std::int32_t zero_point) {
  QuantParams params;
  params.scales = {scale};
  params.zero_points = {zero_point};
  params.qmin = -128;
  params.qmax = 127;
  return params;
}

/// Every byte, more than once and not in order.
std::shared_ptr<std::uint8_t[]> all_bytes(std::size_t count) {
  auto bytes = std::make_shared<std::uint8_t[]>(count);
  for (std::size_t i = 0; i < count; ++i) bytes.get()[i] = static_cast<std::uint8_t>(i * 37);
  return bytes;
}

TEST(QuantizeTensor, BytesGetTheCodesOfTheirReals) {
  constexpr std::size_t kCount = 1031;
  const Tensor bytes = TensorAccess::from_bytes({kCount}, all_bytes(kCount));
  const Tensor reals = bytes.clone();
  ASSERT_EQ(reals.dtype(), DType::float32);
  // The grid of [0, 1], where a code is a shift; finer, coarser, clipped on both sides.
  for (const QuantParams& params :
       {grid(1.0F / 255.0F, -128), grid(1.0F / 255.0F, -100), grid(0.003F, -128), grid(0.0078F, 0),
        grid(0.001F, 90), grid(0.25F, -7)}) {
    for (const RoundMode mode : {RoundMode::half_away, RoundMode::half_to_even}) {
      const auto found = quantize_tensor(bytes, params, mode);
      std::vector<std::int8_t> expected(kCount);
      quantize(reals.span(), params, expected, mode);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.as<std::int8_t>()))
          << params.scale();
    }
  }
}

TEST(QuantizeTensor, RealsOfCodesAreMadeWhenAskedFor) {
  const auto params = std::make_shared<const QuantParams>(grid(0.5F, 3));
  const std::vector<std::int8_t> values = {-128, 3, 4, 127};
  auto codes = std::make_shared<std::int8_t[]>(values.size());
  std::ranges::copy(values, codes.get());
  const Tensor y = quantized_tensor({2, 2}, params, codes);
  EXPECT_EQ(y.dtype(), DType::int8);
  EXPECT_EQ(integers_of(y, *params).values, codes);
  EXPECT_NE(TensorAccess::pending(y), nullptr);
  EXPECT_EQ(y.at({0, 0}), -65.5F);
  EXPECT_EQ(y.at({0, 1}), 0.0F);
  EXPECT_EQ(y.at({1, 1}), 62.0F);
  // A tensor that lost its quantized values gets equal ones anew.
  const Tensor anew = y.clone();
  EXPECT_EQ(anew.dtype(), DType::float32);
  const auto made = integers_of(anew, *params);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), made.as<std::int8_t>()));
}

/// A grain that divides no size here, in parts that no tensor is made of.
TEST(QuantizeTensor, ElementsComputedOnDemandGetTheirCodesPartByPart) {
  constexpr std::size_t kGrain = 96;
  const auto value = [](std::size_t i) { return 0.01F * static_cast<float>(i % 311) - 1.5F; };
  for (const Index size : {1, 95, 96, 97, 20011}) {
    const auto compute = [&](std::size_t begin, std::size_t end, float* out, MemoryParts) {
      for (std::size_t i = begin; i < end; ++i) *out++ = value(i);
    };
    const Tensor lazy = TensorAccess::lazy({size}, {kGrain, compute, /*unit=*/kGrain});
    const detail::StoredIntegers found = quantize_tensor(lazy, grid(0.01F, 3));
    EXPECT_NE(TensorAccess::pending(lazy), nullptr) << "there is no memory for all of them";
    const detail::StoredIntegers expected = quantize_tensor(lazy.clone(), grid(0.01F, 3));
    EXPECT_TRUE(std::equal(found.as<std::int8_t>(), found.as<std::int8_t>() + size,
                           expected.as<std::int8_t>()))
        << size;
  }
}

TEST(QuantizeTensor, Int16IsKeptAsInt8Is) {
  const auto params =
      std::make_shared<const QuantParams>(QuantParams::per_tensor(0.25F, 0, -32768, 32767));
  const Tensor x = Tensor::from({3}, {-9000.0F, 0.3F, 100.125F});
  const Tensor y = quantize_dequantize(x, params);
  EXPECT_EQ(y.dtype(), DType::int16);
  EXPECT_TRUE(std::ranges::equal(y.span(), std::vector{-8192.0F, 0.25F, 100.25F}));
  const auto stored = integers_of(y, *params);
  EXPECT_EQ(stored.as<std::int8_t>(), nullptr);
  EXPECT_EQ(stored.as<std::int16_t>()[2], 401);
  EXPECT_EQ(stored.values, integers_of(y, *params).values);
}

}  // namespace
}  // namespace octet::test::quantize_tensor_test
