#pragma once

#include <octet/runtime/integer_model.h>

namespace octet {

/// What decides whether runtimes take packed weights.
struct WeightForm {
  OpCode code = OpCode::fully_connected;
  /// Weights of a unit: products of a sum.
  Index depth = 0;
  bool per_channel = false;
  /// A convolution of several groups.
  bool is_grouped = false;
};

/// Whether the runtimes of a rounding mode take such weights in `bits` bits, 2 or 4, and compute
/// the bytes that they compute of 8.
bool takes_packed_weights(const WeightForm& form, Rounding rounding, int bits);

/// Returns the model with its weights stored in as few bits as they fit (2 or 4: see
/// ModelTensor::stored_bits) where the runtimes of its rounding mode then compute the same bytes:
///
/// - fp32: FULLY_CONNECTED that XNNPACK takes: in 4 bits with an even number of inputs, in 2 bits
///   with a multiple of 4 and a scale per unit;
/// - single: FULLY_CONNECTED in 4 and 2 bits, CONV_2D and DEPTHWISE_CONV_2D in 4;
/// - double: CONV_2D and DEPTHWISE_CONV_2D in 4 bits, and FULLY_CONNECTED with one scale, as TFLite
///   Micro takes it.
///
/// Other weights, those of several groups and those that several operators read among them, stay as
/// they are. TensorFlow Lite before 2.11 knows no weights of 4 bits, and tfjs-tflite none at all.
IntegerModel pack_weights(IntegerModel model);

/// Returns the model with weights as indices of 1 to 7 bits, from which an operator TFLM_DECODE of
/// TensorFlow Lite Micro makes int8 values in its arena (ModelTensor::decoded_bits): less flash,
/// more RAM, the same bytes, for weights of any width and in every operator. Weights that would not
/// get smaller, also than in 4 packed bits, or that several operators read stay as they are. Throws
/// InvalidArgument for a model of another rounding mode than that runtime's, double or q15.
IntegerModel decode_weights(IntegerModel model);

}  // namespace octet
