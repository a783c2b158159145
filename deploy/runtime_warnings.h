#pragma once

#include <octet/runtime/integer_model.h>

#include <string>
#include <vector>

namespace octet {

/// What other runtimes refuse, or compute otherwise, in a model that is valid; one sentence each,
/// which names the operator by its number and its output. Empty for most models.
///
/// - XNNPACK (LiteRT's default, LiteRT.js, tfjs-tflite) takes FULLY_CONNECTED and convolutions only
///   if float32(input scale * weight scale) / output scale is below 256 for every unit, and all
///   three scales are normal float32 numbers. There is no lower limit: small factors give quantized
///   values of 0.
/// - A CONV_2D without a bias is refused by LiteRT; a DEPTHWISE_CONV_2D without one ends TFLite
///   Micro, and XNNPACK does not take it. lower() always writes one.
/// - A CONV_2D or DEPTHWISE_CONV_2D with padding same whose last windows end before the image does
///   is computed wrongly by LiteRT.js 2.0.0 and tfjs-tflite. lower() writes padding valid, which
///   all compute rightly, where no axis is padded.
/// - A SOFTMAX over one class crashes ONNX Runtime 1.30 at optimisation "all".
/// - FULLY_CONNECTED on int16 values is rescaled by LiteRT otherwise than rounding mode q15 says,
/// as
///   are LOGISTIC, TANH, ADD and SUB of some scales that are powers of two.
/// - DEPTHWISE_CONV_2D with weights of -128: XNNPACK adds two products in 16 bits, which can
///   overflow. lower() and TensorFlow Lite's converter write weights from -127 to 127.
/// - LiteRT and TFLite Micro take ADD of integers only if 2 max(input scales) / (2^20 output scale)
///   is below 1, TFLite Micro SUB as well.
/// - CONCATENATION of values of an unknown number of samples with a value that is there once, a
///   constant for one: other runtimes find shapes that fit for a batch of 1 alone.
/// - TFLite Micro's RELU6 clamps and does not rescale, TFLite Micro and CMSIS-NN leave out the
/// fused
///   activation of a TRANSPOSE_CONV, TFLite Micro has no EXP, GELU, LOG and SQRT of int8, and
///   CMSIS-NN repeats an operand of one channel wrongly in MAXIMUM and MINIMUM. Said of models in
///   rounding mode double (metadata "octet.rounding"); lower() writes none that need it.
///
/// Throws FormatError where the model is not valid.
std::vector<std::string> runtime_warnings(const IntegerModel& model);

}  // namespace octet
