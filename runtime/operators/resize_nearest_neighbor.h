#pragma once

#include <octet/core/shape.h>
#include <octet/runtime/operators/definitions.h>

#include <array>

// RESIZE_NEAREST_NEIGHBOR: images [batch, height, width, channels] at another size, which is an
// int32 constant [height, width]; every pixel is a copy of one of the input.

namespace octet::detail {

/// The input row or column that one of the output is a copy of, in float32 as TensorFlow Lite has
/// it: with s = (input - 1) / (output - 1) where align_corners asks for it and output > 1, else
/// input / output, and h = 0.5 where half_pixel_centers does, else 0,
///
///     source(o) = min(floor((o + h) s), input - 1), rounded instead of floor with align_corners,
///     ties away from 0.
class NearestAxis {
 public:
  NearestAxis(std::int32_t input, std::int32_t output, const ResizeAttributes& attributes);

  std::int32_t input() const { return input_; }
  std::int32_t output() const { return output_; }
  std::int32_t source(std::int32_t output) const;
  /// The whole number of times that each row or column is there; 0 where they differ.
  std::int32_t repeats() const;

 private:
  std::int32_t input_;
  std::int32_t output_;
  bool rounds_;
  float offset_;
  float scale_;
};

/// Checks the operands of an operator that gives images another size.
void check_resize(const OperatorView& view);

/// How rows and columns are picked: the axis of the height and that of the width.
std::array<NearestAxis, 2> nearest_axes(const Operands& operands);

/// The attributes under which `input` rows and columns become `output`, a multiple of them, by
/// repetition of each: without attributes where float32 is exact enough for that, else with
/// half_pixel_centers, which TFLite Micro does not know. Throws InvalidArgument where neither does.
ResizeAttributes repeating_attributes(const std::array<std::int32_t, 2>& input,
                                      const std::array<std::int32_t, 2>& output);

}  // namespace octet::detail
