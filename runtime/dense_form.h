#pragma once

#include <octet/runtime/integer_model.h>

namespace octet {

/// The operator that computes a Dense layer of int8.
enum class DenseForm {
  fully_connected,  ///< FULLY_CONNECTED
  conv_2d           ///< CONV_2D of 1 x 1 between RESHAPEs, where weights have a scale per channel
};

/// Returns the model with every int8 FULLY_CONNECTED of more than one weight scale as CONV_2D of 1
/// x 1, which computes the same bytes: [n, inputs] becomes an image [n, 1, 1, inputs] by RESHAPE,
/// and stays one up to the first reader of another kind. For runtimes that know a scale per channel
/// in convolutions only. A layer without bias gets one of zeros, without which XNNPACK takes no
/// CONV_2D. Weights that several operators read stay as they are; those of CONV_2D are stored in 8
/// bits.
IntegerModel per_channel_as_conv_2d(IntegerModel model);

}  // namespace octet
