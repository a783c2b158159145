// Gradients as codes of 8 bits, and what becomes of what the codes leave out.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/random.h>
#include <octet/tests/core/keep_threads.h>
#include <octet/tests/core/thrown.h>
#include <octet/train/distributed/gradient_codes.h>
#include <octet/train/distributed/gradient_format.h>

#include <cmath>
#include <limits>

namespace octet::test::gradient_codes_test {
namespace {

using detail::code_gradients;
using detail::decode_gradients;
using detail::Decoded;
using detail::GradientBlocks;

/// A whole block, one of 44, an empty parameter, one of a single element.
const std::vector<std::size_t> kSizes = {300, 0, 1};

std::vector<float> normals(std::size_t count, std::uint64_t seed) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = Random(seed).normal(i);
  return result;
}

struct Coded {
  std::vector<float> decoded;
  std::vector<float> errors;
  std::vector<std::byte> message;
};

Coded code(const GradientBlocks& blocks, const std::vector<float>& values,
           std::vector<float> errors) {
  const IndexRange all = {0, blocks.count()};
  Coded result{std::vector<float>(values.size()), std::move(errors),
               std::vector<std::byte>(blocks.message_bytes(all))};
  code_gradients(blocks, all, values, result.errors, result.message, result.decoded.data(),
                 Decoded::replaces);
  return result;
}

TEST(GradientCodes, BlocksEndWithTheirParameters) {
  const GradientBlocks blocks(kSizes);
  ASSERT_EQ(blocks.count(), 3U);
  EXPECT_EQ(blocks.elements(), 301U);
  EXPECT_EQ(blocks.elements_of(0), (IndexRange{0, 256}));
  EXPECT_EQ(blocks.elements_of(1), (IndexRange{256, 300}));
  EXPECT_EQ(blocks.elements_of(2), (IndexRange{300, 301}));
  // Two scales, 45 codes.
  EXPECT_EQ(blocks.message_bytes({1, 3}), 8U + 45U);
  EXPECT_EQ(GradientBlocks({}).count(), 0U);
}

TEST(GradientCodes, ErrorsAreWhatCodesLeaveOut) {
  const GradientBlocks blocks(kSizes);
  const std::vector<float> values = normals(301, 1);
  const Coded coded = code(blocks, values, std::vector<float>(301));
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const IndexRange block = blocks.elements_of(b);
    float largest = 0.0F;
    for (std::size_t i = block.begin; i < block.end; ++i) {
      largest = std::max(largest, std::fabs(values[i]));
    }
    for (std::size_t i = block.begin; i < block.end; ++i) {
      EXPECT_LE(std::fabs(coded.errors[i]), 0.501F * largest / 127.0F) << i;
      EXPECT_FLOAT_EQ(coded.decoded[i] + coded.errors[i], values[i]);
      const float steps = coded.decoded[i] / (largest / 127.0F);
      EXPECT_NEAR(steps, std::round(steps), 1e-4);
    }
  }
  // A block of one element is exact but for the last bit of its scale.
  EXPECT_FLOAT_EQ(coded.decoded[300], values[300]);
}

TEST(GradientCodes, AMessageIsWhatWasDecoded) {
  const GradientBlocks blocks(kSizes);
  const std::vector<float> values = normals(301, 2);
  const Coded coded = code(blocks, values, normals(301, 3));
  std::vector<float> received(301, 5.0F);
  decode_gradients(blocks, {0, 3}, coded.message, received.data(), Decoded::replaces);
  EXPECT_EQ(received, coded.decoded);
  std::vector<float> added(301, 5.0F);
  decode_gradients(blocks, {0, 3}, coded.message, added.data(), Decoded::is_added);
  std::vector<float> added_at_once(301, 5.0F);
  std::vector<float> errors = normals(301, 3);
  code_gradients(blocks, {0, 3}, values, errors, {}, added_at_once.data(), Decoded::is_added);
  EXPECT_EQ(added, added_at_once);
  EXPECT_EQ(errors, coded.errors);
  for (std::size_t i = 0; i < 301; ++i) EXPECT_EQ(added[i], 5.0F + coded.decoded[i]);
}

TEST(GradientCodes, SmallGradientsBesideLargeOnesAddUpOverSteps) {
  const GradientBlocks blocks(std::vector<std::size_t>{3});
  const std::vector<float> values = {1.0F, 1e-3F, -2e-4F};
  std::vector<float> sums(3);
  std::vector<float> errors(3);
  const int steps = 1000;
  for (int step = 0; step < steps; ++step) {
    const Coded coded = code(blocks, values, errors);
    errors = coded.errors;
    for (std::size_t i = 0; i < 3; ++i) sums[i] += coded.decoded[i];
  }
  // No code is below 1 / 127; the sums are right to a step of it.
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(sums[i], steps * values[i], 1.0F / 127.0F);
}

TEST(GradientCodes, BlocksWithoutNumbersAreNaNAndLeaveNothing) {
  const GradientBlocks blocks(kSizes);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = normals(301, 4);
    values[70] = -bad;
    const Coded coded = code(blocks, values, normals(301, 5));
    for (std::size_t i = 0; i < 301; ++i) {
      EXPECT_EQ(std::isnan(coded.decoded[i]), i < 256) << i;
      if (i < 256) {
        EXPECT_EQ(coded.errors[i], 0.0F);
      }
    }
  }
}

TEST(GradientCodes, ZerosAndTheSmallestNumbersAreKept) {
  const GradientBlocks blocks(kSizes);
  std::vector<float> values(301);
  values[3] = std::numeric_limits<float>::denorm_min();
  values[300] = -1e-31F;
  const Coded coded = code(blocks, values, std::vector<float>(301));
  EXPECT_EQ(coded.decoded, std::vector<float>(301));
  EXPECT_EQ(coded.errors, values);
}

TEST(GradientCodes, AreTheSameOnAnyNumberOfThreads) {
  const KeepThreads keep;
  const std::vector<std::size_t> sizes = {100'003, 7, 60'000};
  const GradientBlocks blocks(sizes);
  const std::vector<float> values = normals(blocks.elements(), 6);
  set_num_threads(1);
  const Coded expected = code(blocks, values, normals(blocks.elements(), 7));
  set_num_threads(3);
  const Coded found = code(blocks, values, normals(blocks.elements(), 7));
  EXPECT_EQ(found.decoded, expected.decoded);
  EXPECT_EQ(found.errors, expected.errors);
  EXPECT_EQ(found.message, expected.message);
}

TEST(GradientFormat, IsKnownByItsName) {
  for (const auto format : {GradientFormat::float32, GradientFormat::int8}) {
    EXPECT_EQ(parse_gradient_format(to_string(format)), format);
  }
  expect_throws<InvalidArgument>([&] { static_cast<void>(parse_gradient_format("int4")); },
                                 {"expected float32 or int8, found 'int4'"});
}

}  // namespace
}  // namespace octet::test::gradient_codes_test
