#include <octet/core/quant/packed_codes.h>
#include <octet/deploy/onnx/values.h>

#include <cstdint>
#include <utility>

// Weights of 2 to 7 bits as nodes that make int8 codes of them. ONNX Runtime computes a layer of
// INT4 weights in floating point where they go straight into DequantizeLinear; of int8 ones, which
// it makes of these nodes before it looks for layers, it makes one operator of integers.

namespace octet::detail {
namespace {

constexpr auto kInt8 = static_cast<std::int64_t>(OnnxType::int8);
constexpr auto kInt32 = static_cast<std::int64_t>(OnnxType::int32);

}  // namespace

std::string OnnxValues::weight_codes(const std::string& name, const Extents& shape,
                                     std::span<const std::uint8_t> data) {
  const std::span codes(reinterpret_cast<const std::int8_t*>(data.data()), data.size());
  const int bits = bits_of_codes(codes);
  if (options_.weights == OnnxWeights::int8 || bits == 8) {
    return graph_.constant(name, OnnxType::int8, shape, std::as_bytes(data));
  }
  const bool int4 = options_.weights == OnnxWeights::int4 && bits == 4;
  return int4 ? int4_codes(name, shape, codes) : plane_codes(name, shape, codes, bits);
}

std::string OnnxValues::int4_codes(const std::string& name, const Extents& shape,
                                   std::span<const std::int8_t> codes) {
  const std::string packed = constant(name + "/int4", OnnxType::int4, shape, pack_codes(codes, 4));
  return node("Cast", {packed}, name, {{"to", kInt8}});
}

std::string OnnxValues::plane_codes(const std::string& name, const Extents& shape,
                                    std::span<const std::int8_t> codes, int bits) {
  const auto count = std::ssize(codes);
  const std::int64_t bytes = (count + 7) / 8;
  std::vector<std::int32_t> values(static_cast<std::size_t>(bits), 1);
  for (std::size_t bit = 1; bit < values.size(); ++bit) values[bit] = 2 * values[bit - 1];
  values.back() = -values.back();
  const std::string planes =
      constant(name + "/planes", OnnxType::uint8, {bits, bytes, 1}, pack_bit_planes(codes, bits));
  const std::string shifts = constant(name + "/shifts", OnnxType::uint8, {8},
                                      std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7});
  const std::string one =
      constant(name + "/one", OnnxType::uint8, Extents{}, std::vector<std::uint8_t>{1});
  const std::string values_of_bits =
      constant(name + "/values_of_bits", OnnxType::int32, {bits, 1, 1}, values);
  const auto list = [&](const char* which, const Extents& numbers) {
    return constant(name + which, OnnxType::int64, {std::ssize(numbers)}, numbers);
  };
  // [bits, bytes, 8], then the sum over the bits.
  std::string x =
      node("BitShift", {planes, shifts}, name + "/shifted", {{"direction", std::string("RIGHT")}});
  x = node("BitwiseAnd", {x, one}, name + "/bits");
  x = node("Cast", {x}, name + "/integer_bits", {{"to", kInt32}});
  x = node("Mul", {x, values_of_bits}, name + "/parts");
  x = node("ReduceSum", {x, list("/axis", {0})}, name + "/sums", {{"keepdims", std::int64_t{0}}});
  if (count % 8 != 0) {
    x = node("Reshape", {x, list("/flat", {-1})}, name + "/padded");
    x = node("Slice", {x, list("/begin", {0}), list("/end", {count})}, name + "/integers");
  }
  x = node("Reshape", {x, list("/shape", shape)}, name + "/shaped");
  return node("Cast", {x}, name, {{"to", kInt8}});
}

}  // namespace octet::detail
