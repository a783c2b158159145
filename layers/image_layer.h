#pragma once

#include <octet/core/ops/image_ops.h>
#include <octet/layers/layer.h>

#include <array>
#include <string_view>

// Parts of layers on images [height, width, channels] and on sequences [steps, channels].

namespace octet::detail {

/// Throws InvalidArgument that names the layer for examples that are no images.
void require_images(const Layer& layer, const Shape& input_shape);

/// Throws InvalidArgument that names the layer for examples that are no sequences.
void require_sequences(const Layer& layer, const Shape& input_shape);

/// A number as attributes of operators hold it. Throws InvalidArgument that names the layer for one
/// that does not fit.
std::int32_t as_int32(const Layer& layer, Index number);

/// Throws InvalidArgument, "<type>: expected <what> above 0, ...", unless both numbers are.
void require_above_0(std::string_view type, std::string_view what,
                     const std::array<Index, 2>& pair);

/// Throws InvalidArgument, "<type>: expected <what> above 0, ...", unless the number is.
void require_above_0(std::string_view type, std::string_view what, Index number);

/// A pair (height, width) in a description, as a list of two numbers.
Shape as_shape(const std::array<Index, 2>& pair);
/// Throws FormatError, naming the entry, for another number of numbers.
std::array<Index, 2> pair_in(const Description& description, std::string_view key);

/// Rows and columns at the four sides, as "top", "bottom", "left" and "right".
void describe(const Padding2D& sides, Description& description);
Padding2D padding_in(const Description& description);

}  // namespace octet::detail
