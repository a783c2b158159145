#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// What the numbers between QuantizeLinear and DequantizeLinear stand for.
enum class OnnxStyle {
  /// Whole numbers of steps of the scale: DequantizeLinear has scale 1, so that Gemm sums whole
  /// numbers, exact in float32 below 2^24; Mul by input scale * weight scale / output scale and
  /// QuantizeLinear of scale 1 are rounding mode fp32's rescaling; functions of one value are
  /// tables. Runtimes give Octet's integers at any optimisation level.
  exact,
  /// Real values: every scale stands at its tensor, as tools that compile for a device expect. A
  /// runtime that fuses Gemm and Conv into integers computes rounding mode fp32; one that sums the
  /// real values in floating point is off by one where a sum falls near the middle of two. ONNX
  /// Runtime fuses Conv on x86 for uint8 alone, so that values of int8 are written as uint8: 128 is
  /// added to each value and zero point. Weights stay int8. RELU and RELU6 as operators of their
  /// own are Max and Min of real values, and round once, not twice.
  standard
};

/// How a file holds the int8 weights of FULLY_CONNECTED and the convolutions whose quantized values
/// fit fewer bits. In the packed forms a chain of nodes restores the int8 values. ONNX Runtime
/// folds it when it loads the file, and computes as with int8 weights.
enum class OnnxWeights {
  /// A byte each: opset 13.
  int8,
  /// A plane for each bit, eight weights in a byte, that BitShift and BitwiseAnd take apart: 2 to 7
  /// bits, opset 18.
  planes,
  /// Weights of 4 bits as INT4 and a Cast, other widths as planes: opset 21.
  int4
};

struct OnnxOptions {
  OnnxStyle style = OnnxStyle::exact;
  OnnxWeights weights = OnnxWeights::int8;
  /// float32 in and out, by a QuantizeLinear in front and a DequantizeLinear behind; false: the
  /// types of the model, but uint8 for int8 in style standard.
  bool float_io = true;
  /// Names of quantized tensors that become further outputs, as integers; tensors that are integer
  /// outputs already are not repeated.
  std::vector<std::string> code_outputs{};
};

/// The model as an ONNX file (opset 13, later with packed weights): QuantizeLinear,
/// DequantizeLinear and float operators between them, int8 weights, int32 biases. Inputs and
/// outputs have the model's names; an unknown batch is "batch". With code_outputs or without
/// float_io, the integers of a tensor whose NAME a float input or output has are called NAME/codes.
/// ONNX has one rounding mode: single and double become fp32. Softmax is computed in floating
/// point: its results may differ by one. Equal models give equal bytes. Throws FormatError where
/// the model is not valid, InvalidArgument for a name in code_outputs that is no computed,
/// quantized tensor, and for int16 tensors.
std::vector<std::uint8_t> to_onnx(const IntegerModel& model, const OnnxOptions& options = {});

/// Writes to_onnx(model, options) to `path`, which is replaced as a whole or not at all (IoError).
void write_onnx(const IntegerModel& model, const std::filesystem::path& path,
                const OnnxOptions& options = {});

}  // namespace octet
