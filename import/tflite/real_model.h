#pragma once

#include <octet/runtime/integer_model.h>

namespace octet::detail {

/// `model` in real numbers: constants of codes become the float32 values that they stand for,
/// values of codes are float32, and QUANTIZE and DEQUANTIZE go. Results are not rounded to their
/// scales, nor cut where these end. Throws FormatError for weights of other scales than one, or one
/// for each index of an axis.
IntegerModel real_model(IntegerModel model);

}  // namespace octet::detail
