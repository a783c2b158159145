#pragma once

#include <cstddef>

namespace octet::detail {

/// Operands of SVDF behind its input: see SvdfAttributes.
inline constexpr std::size_t kSvdfFeatureWeights = 1;
inline constexpr std::size_t kSvdfTimeWeights = 2;
inline constexpr std::size_t kSvdfState = 3;
inline constexpr std::size_t kSvdfBias = 4;

}  // namespace octet::detail
