#pragma once

#include <cmath>
#include <string_view>

#include <fmt/core.h>

#include <octet/core/error.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/quant/round.h>

namespace octet {

/// Throws InvalidArgument, naming the operator `op`, unless its operand `role` has one finite scale
/// above 0 and an int8 zero point.
inline void require_int8_operand(std::string_view op, const QuantParams& params,
                                 std::string_view role) {
  if (params.scales.size() == 1 && params.zero_points.size() == 1 &&
      std::isfinite(params.scale()) && params.scale() > 0.0F &&
      in_range(params.zero_point(), -128, 127)) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "{}: expected one finite scale above 0 and an int8 zero point for its {}, found {} scales",
      op, role, params.scales.size()));
}

}  // namespace octet
