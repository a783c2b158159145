#pragma once

#include <octet/runtime/operators/operands.h>

#include <cstdint>
#include <vector>

// TFLite_Detection_PostProcess: the boxes that a detector found, by non-maximum suppression, in
// floats.

namespace octet::detail {

/// The operands by number, and how many results there are.
inline constexpr std::size_t kBoxEncodings = 0;
inline constexpr std::size_t kClassScores = 1;
inline constexpr std::size_t kAnchors = 2;
inline constexpr std::size_t kDetectionInputs = 3;
inline constexpr std::size_t kDetectionOutputs = 4;

/// The shape of result `i`: boxes [1, n, 4], classes [1, n], scores [1, n] and their number [1],
/// where n = max_detections max_classes_per_detection. Throws FormatError where n is below 1 or
/// leaves int32.
std::vector<std::int32_t> detection_shape(const DetectionAttributes& attributes, std::size_t i);

}  // namespace octet::detail
