#include <fmt/core.h>
#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/core/half.h>
#include <octet/import/weights/weight_file.h>
#include <octet/tests/import/safetensors_files.h>

#include <bit>
#include <cmath>
#include <limits>

namespace octet::test::safetensors_test {
namespace {

std::vector<WeightTensor> read(const Bytes& bytes) {
  const ScratchDirectory scratch;
  return read_safetensors(scratch.write("a.safetensors", bytes));
}

std::string error(std::string_view header, const Bytes& data) {
  const ScratchDirectory scratch;
  const auto path = scratch.write("a.safetensors", safetensors_bytes(header, data));
  std::string message = message_of<FormatError>([&] { read_safetensors(path); });
  expect_mentions(message, path.string());
  return message;
}

std::vector<float> values(const WeightTensor& tensor) {
  const Tensor& floats = tensor.values;
  return {floats.span().begin(), floats.span().end()};
}

TEST(ReadSafetensors, ReadsEveryFloatType) {
  Bytes data = bytes_of<float>({1.5F, -0.25F});
  const auto append = [&](const Bytes& more) { data.insert(data.end(), more.begin(), more.end()); };
  append(bytes_of<double>({1.0 / 3.0}));
  append(bytes_of<std::uint16_t>({0x3C00, 0xC100}));
  append(bytes_of<std::uint16_t>({0x3F80, 0xBEA0}));
  append(bytes_of<std::int64_t>({7}));
  const auto tensors =
      read(safetensors_bytes(R"({"__metadata__":{"format":"pt"},)"
                             R"("d":{"dtype":"BF16","shape":[2,1],"data_offsets":[20,24]},)"
                             R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F64","shape":[],"data_offsets":[8,16]},)"
                             R"("c":{"dtype":"F16","shape":[1,2],"data_offsets":[16,20]},)"
                             R"("e":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
                             R"("f":{"dtype":"F32","shape":[0,3],"data_offsets":[32,32]}}   )",
                             data));
  ASSERT_EQ(tensors.size(), 6U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(values(tensors[0]), (std::vector{1.5F, -0.25F}));
  EXPECT_EQ(tensors[1].shape, Shape{});
  EXPECT_EQ(values(tensors[1]), std::vector{static_cast<float>(1.0 / 3.0)});
  EXPECT_EQ(tensors[2].shape, (Shape{1, 2}));
  EXPECT_EQ(values(tensors[2]), (std::vector{1.0F, -2.5F}));
  EXPECT_EQ(tensors[3].type, "BF16");
  EXPECT_EQ(values(tensors[3]), (std::vector{1.0F, -0.3125F}));
  EXPECT_FALSE(tensors[4].values.defined());
  EXPECT_EQ(tensors[5].shape, (Shape{0, 3}));
}

/// The value by the standard's formula, in doubles.
double half_by_formula(unsigned bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10U) & 31U);
  const double fraction = (bits & 1023U) / 1024.0;
  if (exponent == 31) return sign * (fraction == 0 ? std::numeric_limits<double>::infinity() : NAN);
  if (exponent == 0) return sign * std::pow(2.0, -14) * fraction;
  return sign * std::pow(2.0, exponent - 15) * (1 + fraction);
}

TEST(ReadSafetensors, EveryHalfIsTheFloatThatItStandsFor) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float found = detail::float_of_half(static_cast<std::uint16_t>(bits));
    const double expected = half_by_formula(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(found), expected) << bits;
      ASSERT_EQ(std::signbit(found), (bits & 0x8000U) != 0) << bits;
    }
  }
}

TEST(ReadSafetensors, RefusesLengthsThatTheFileDoesNotHave) {
  EXPECT_THROW(read({}), FormatError);
  EXPECT_THROW(read({1, 0, 0}), FormatError);
  Bytes huge = safetensors_bytes("{}", {});
  EXPECT_TRUE(read(huge).empty());
  for (const std::size_t byte : {0U, 3U, 7U}) {
    Bytes bytes = huge;
    bytes[byte] = 0xFF;
    EXPECT_THROW(read(bytes), FormatError) << byte;
  }
}

TEST(ReadSafetensors, RefusesTensorsThatDoNotFillTheFile) {
  const Bytes data(8);
  const auto two = [](int a, int b, int c, int d) {
    return fmt::format(R"({{"a":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}},)"
                       R"("b":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}}}})",
                       a, b, c, d);
  };
  expect_mentions(error(two(0, 4, 0, 4), data), "overlap");
  expect_mentions(error(two(0, 4, 2, 6), data), "overlap or leave a gap");
  expect_mentions(error(two(0, 4, 4, 8), Bytes(12)), "8 bytes, but 12 follow");
  expect_mentions(error(two(0, 4, 4, 8), Bytes(7)), "cut short");
  expect_mentions(error(two(4, 8, 8, 12), Bytes(12)), "tensor \"a\" begins at byte 4");
  expect_mentions(error(two(4, 0, 4, 8), data), "[4, 0)");
}

TEST(ReadSafetensors, RefusesEntriesThatMakeNoTensor) {
  const auto one = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"a":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                       offsets);
  };
  const Bytes data(8);
  EXPECT_EQ(read(safetensors_bytes(one(R"("F32")", "[2]", "[0,8]"), data)).size(), 1U);
  expect_mentions(error(one(R"("F31")", "[2]", "[0,8]"), data), "dtype such as F32");
  expect_mentions(error(one("4", "[2]", "[0,8]"), data), "tensor \"a\"");
  expect_mentions(error(one(R"("F32")", "[3]", "[0,8]"), data), "does not come to the 8 bytes");
  expect_mentions(error(one(R"("F32")", "[0,2]", "[0,8]"), data), "does not come to");
  expect_mentions(error(one(R"("F32")", "[-2]", "[0,8]"), data), "expected extents from 0");
  expect_mentions(error(one(R"("F32")", "[2.0]", "[0,8]"), data), "whole number");
  expect_mentions(error(one(R"("F32")", "[NaN]", "[0,8]"), data), "no JSON");
  expect_mentions(error(one(R"("F32")", "[null]", "[0,8]"), data), "whole number");
  expect_mentions(error(one(R"("F32")", "[4611686018427387905,4]", "[0,8]"), data), "come to");
  // A tensor without values is read, whatever its other extents come to.
  const auto none =
      read(safetensors_bytes(one(R"("F32")", "[0,9223372036854775807,9]", "[0,0]"), {}));
  EXPECT_EQ(none.at(0).values.size(), 0);
  expect_mentions(error(one(R"("F32")", "[1,1,1,1,1,1,1,1,2]", "[0,8]"), data), "at most 8");
  expect_mentions(error(one(R"("F32")", "[2]", "[0]"), data), "a begin and an end");
  expect_mentions(error(one(R"("F32")", "[2]", "[0,18446744073709551616]"), data), "whole number");
  expect_mentions(error(R"({"a":{"dtype":"F32","shape":[2]}})", data), "an object of");
  expect_mentions(error(R"([1])", data), "'{'");
  expect_mentions(error(R"({"a":)", data), "no JSON");
}

TEST(WriteSafetensors, IsReadBackInItsOrder) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "a.safetensors";
  const Tensor z = Tensor::from({2, 2}, {1, -2, 3.5F, 1e-30F});
  write_safetensors(path, {{"z", z}, {"a \"quoted\" name", Tensor::scalar(4)}});
  const auto tensors = read_safetensors(path);
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "z");
  EXPECT_EQ(values(tensors[0]), (std::vector{1.0F, -2.0F, 3.5F, 1e-30F}));
  EXPECT_EQ(tensors[1].name, "a \"quoted\" name");
  EXPECT_EQ(tensors[1].shape, Shape{});
  EXPECT_THROW(write_safetensors(path, {{"a", z}, {"a", z}}), InvalidArgument);
  EXPECT_THROW(write_safetensors(path, {{"__metadata__", z}}), InvalidArgument);
  EXPECT_THROW(write_safetensors(path, {{"a", Tensor()}}), InvalidArgument);
  EXPECT_THROW(write_safetensors(path, {{"\xFF", z}}), InvalidArgument);
  EXPECT_EQ(read_safetensors(path).size(), 2U);
}

}  // namespace
}  // namespace octet::test::safetensors_test
