#pragma once

#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// What the numbers between QuantizeLinear and DequantizeLinear stand for.
enum class OnnxStyle {
  /// Steps of the codes: DequantizeLinear has scale 1, so that Gemm sums whole numbers, exact in
  /// float32 below 2^24; Mul by input scale * weight scale / output scale and QuantizeLinear of
  /// scale 1 are the fp32 contract's rescaling; functions of one code are tables. Runtimes give our
  /// codes whatever they optimise.
  exact,
  /// Reals: every scale stands at its tensor, as tools that compile for a device expect. A runtime
  /// that fuses Gemm and Conv into integers computes the fp32 contract; one that sums the reals in
  /// floating point gives a neighbouring code where a sum falls near the middle of two. ONNX
  /// Runtime
  /// fuses Conv on x86 for uint8 alone, so that values of int8 are written as uint8: 128 is added
  /// to
  /// each code and zero point. Weights stay int8. RELU and RELU6 as operators of their own are Max
  /// and Min of reals, and round once, not twice.
  standard
};

/// How a file holds the int8 weights of FULLY_CONNECTED and the convolutions whose codes fit fewer
/// bits. In the packed forms a chain of nodes makes the int8 codes of them, which ONNX Runtime
/// folds when it loads the file: it computes what it computes of the codes themselves.
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
  /// Names of quantized tensors whose codes become further outputs; codes that are put out already
  /// are not put out once more.
  std::vector<std::string> code_outputs{};
};

/// The model as an ONNX file (opset 13, later with packed weights): QuantizeLinear,
/// DequantizeLinear and float operators between them, int8 weights, int32 biases. Inputs and
/// outputs have the model's names; an unknown batch is "batch". With code_outputs or without
/// float_io, the codes of a tensor that float ends are named after are NAME/codes, and so are those
/// of an input. ONNX knows one rounding: contracts single and double become fp32. Softmax is
/// computed in floating point: its codes may differ by one. Equal models give equal bytes. Throws
/// FormatError where the model is not valid, InvalidArgument for a name in code_outputs that is no
/// computed, quantized tensor, and for int16 tensors.
std::vector<std::uint8_t> to_onnx(const IntegerModel& model, const OnnxOptions& options = {});

/// Writes to_onnx(model, options) to `path`, which is replaced as a whole or not at all (IoError).
void write_onnx(const IntegerModel& model, const std::filesystem::path& path,
                const OnnxOptions& options = {});

}  // namespace octet
