#include <octet/deploy/c/plan.h>

#include <algorithm>

// Reading packed weights in C: those of core/quant/packed_codes.h, row by row.

namespace octet::detail {
namespace {

constexpr std::string_view kMemory = R"(/* The weights of one unit. */
static int8_t @name@_unpacked[@unpacked@];

)";

// The second byte is read where the code ends in it: never behind a row.
constexpr std::string_view kCode =
    R"(/* Code i of a row of codes of @bits@ bits, the first in the lowest bits. */
static int32_t @name@_code@bits@(const uint8_t *row, int32_t i)
{
    const uint32_t first = (uint32_t)i * @bits@;
    const uint32_t shift = first % 8;
    uint32_t code = row[first / 8];
    if (shift > @last@) {
        code |= (uint32_t)row[first / 8 + 1] << 8;
    }
    return (int32_t)(((code >> shift) & @mask@) ^ @half@) - @half@;
}

)";

constexpr std::string_view kRow = R"(/* The first `count` codes of a row, a byte each. */
static const int8_t *@name@_unpack@bits@_row(const uint8_t *row, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        @name@_unpacked[i] = (int8_t)@name@_code@bits@(row, i);
    }
    return @name@_unpacked;
}

)";

constexpr std::string_view kColumn = R"(/* Code `column` of each of `count` rows, a byte each. */
static const int8_t *@name@_unpack@bits@_column(const uint8_t *rows, int32_t row_bytes,
        int32_t column, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        @name@_unpacked[i] = (int8_t)@name@_code@bits@(rows + i * row_bytes, column);
    }
    return @name@_unpacked;
}

)";

}  // namespace

std::int64_t c_unpacked_bytes(const std::vector<CLayer>& layers) {
  std::int64_t most = 0;
  for (const CLayer& layer : layers) {
    const bool unpacks =
        layer.unpacking == CUnpacking::row || layer.unpacking == CUnpacking::column;
    if (unpacks) most = std::max(most, layer.unit_weights);
  }
  return most;
}

std::string c_unpacking(const CPlan& plan, const std::vector<CLayer>& layers) {
  Fillings f = plan.fillings();
  std::string text;
  const std::int64_t bytes = c_unpacked_bytes(layers);
  f["unpacked"] = std::to_string(bytes);
  if (bytes > 0) text += fill(kMemory, f);
  for (int bits = 2; bits < 8; ++bits) {
    const auto is_read = [&](CUnpacking how) {
      return std::ranges::any_of(layers, [&](const CLayer& layer) {
        return layer.weight_bits == bits && layer.unpacking == how;
      });
    };
    const bool rows = is_read(CUnpacking::row);
    const bool columns = is_read(CUnpacking::column);
    f["bits"] = std::to_string(bits);
    f["last"] = std::to_string(8 - bits);
    f["half"] = std::to_string(1 << (bits - 1));
    f["mask"] = std::to_string((1 << bits) - 1);
    if (rows || columns || is_read(CUnpacking::code)) text += fill(kCode, f);
    if (rows) text += fill(kRow, f);
    if (columns) text += fill(kColumn, f);
  }
  return text;
}

}  // namespace octet::detail
