#include <octet/core/quant/rounding.h>

#include <fmt/core.h>

#include <octet/core/error.h>

namespace octet {

Rounding parse_rounding(std::string_view text) {
  for (const Rounding rounding : kRoundings) {
    if (text == to_string(rounding)) {
      return rounding;
    }
  }
  throw InvalidArgument(
      fmt::format("rounding mode: expected fp32, single, double or q15, found \"{}\"", text));
}

std::string_view to_string(Rounding rounding) {
  switch (rounding) {
    case Rounding::single_rounding:
      return "single";
    case Rounding::double_rounding:
      return "double";
    case Rounding::q15:
      return "q15";
    case Rounding::fp32:
      return "fp32";
  }
  throw InvalidArgument(
      fmt::format("a Rounding outside the enumeration: {}", static_cast<int>(rounding)));
}

}  // namespace octet
