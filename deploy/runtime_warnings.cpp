#include <fmt/core.h>
#include <octet/core/quant/rounding.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/runtime/kernel.h>
#include <octet/runtime/operators/convolution_padding.h>
#include <octet/runtime/operators/int16_functions.h>
#include <octet/runtime/operators/lstm_steps.h>
#include <octet/runtime/operators/svdf.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace octet {
namespace {

/// XNNPACK's limit on a rescale factor: unsupported from here on.
constexpr float kXnnpackFactorLimit = 256.0F;

using detail::Operands;

/// Why XNNPACK refuses sums of codes; nothing where it takes them.
std::optional<std::string> xnnpack_refusal(const Operands& of) {
  const float in = of.input().quantization.scale();
  const float out = of.output().quantization.scale();
  const std::vector<float>& weights = of.input(1).quantization.scales;
  for (std::size_t unit = 0; unit < weights.size(); ++unit) {
    const std::string of_unit = weights.size() == 1 ? "" : fmt::format(" of unit {}", unit);
    for (const float scale : {in, weights[unit], out}) {
      if (!std::isnormal(scale)) {
        return fmt::format("scale {}{} is below the normal float32 numbers (is the layer dead?)",
                           scale, of_unit);
      }
    }
    const float factor = in * weights[unit] / out;
    if (!(factor < kXnnpackFactorLimit)) {
      return fmt::format(
          "rescale factor {}{}, input scale {} * weight scale {} / output scale {}, is not below "
          "{}: one step of its input moves a result across its whole range (are other columns of "
          "the input in far larger units, or is the layer dead?)",
          factor, of_unit, in, weights[unit], out, kXnnpackFactorLimit);
    }
  }
  return std::nullopt;
}

bool computes_sums_of_codes(const Operands& of) {
  const OpCode code = of.op.code;
  return (code == OpCode::fully_connected || code == OpCode::conv_2d ||
          code == OpCode::depthwise_conv_2d || code == OpCode::transpose_conv) &&
         of.input().dtype == DType::int8;
}

/// XNNPACK takes sums whose bias says its scale; files of converters do, files made by hand may
/// not.
bool lacks_bias_scale(const Operands& of) { return of.has_input(2) && !of.input(2).is_quantized(); }

/// Whether t / (2^20 output scale) of an ADD or SUB of codes, t twice the larger input scale, is no
/// factor below 1.
bool is_sum_of_large_factor(const Operands& of) {
  const bool is_sum = of.op.code == OpCode::add || of.op.code == OpCode::sub;
  if (!is_sum || of.input().dtype != DType::int8) return false;
  const float larger = std::max(of.input(0).quantization.scale(), of.input(1).quantization.scale());
  const float out = of.output().quantization.scale();
  return std::ldexp(2.0 * double{larger} / double{out}, -20) >= 1.0;
}

/// The operand of a CONCATENATION that is there once, where the others are there for each of an
/// unknown number of samples; nothing where there is none.
std::optional<std::int32_t> operand_of_one_sample(const Operands& of,
                                                  const std::vector<bool>& batched) {
  const Operator& op = of.op;
  if (op.code != OpCode::concatenation) return std::nullopt;
  const auto& signature = of.output().shape_signature;
  const auto is_batched = [&](std::int32_t i) { return batched[static_cast<std::size_t>(i)]; };
  if (signature.empty() || signature[0] != -1 || !is_batched(op.outputs[0])) return std::nullopt;
  const auto found = std::ranges::find_if_not(op.inputs, is_batched);
  if (found == op.inputs.end()) return std::nullopt;
  return *found;
}

/// Why a convolution without a bias is not what other runtimes compute.
std::optional<std::string_view> missing_bias(const Operands& of) {
  if (!computes_sums_of_codes(of) || of.has_input(2)) return std::nullopt;
  if (of.op.code == OpCode::conv_2d) {
    return "it has no bias; LiteRT, LiteRT.js and tfjs-tflite refuse such a convolution. Give it a "
           "bias of zeros";
  }
  if (of.op.code == OpCode::depthwise_conv_2d) {
    return "it has no bias; TFLite Micro ends the program on such a convolution, and XNNPACK "
           "leaves it to a kernel that rounds twice, as rounding mode double does. Give it a bias "
           "of "
           "zeros";
  }
  return std::nullopt;
}

/// XNNPACK's depthwise kernels add two products in 16 bits, which 2 * -128 * -128 overflows.
bool overflows_16_bits(const Operands& of) {
  if (of.op.code != OpCode::depthwise_conv_2d || of.input(1).dtype != DType::int8) return false;
  constexpr auto kLowest = static_cast<std::uint8_t>(-128);
  return std::ranges::find(of.input(1).data, kLowest) != of.input(1).data.end();
}

bool is_rescaling_relu6(const Operands& of) {
  if (of.op.code != OpCode::relu6) return false;
  const QuantParams& in = of.input().quantization;
  const QuantParams& out = of.output().quantization;
  return in.scales != out.scales || in.zero_points != out.zero_points;
}

bool is_softmax_of_one_class(const Operands& of) {
  const auto& shape = of.output().shape;
  return of.op.code == OpCode::softmax && !shape.empty() && shape.back() == 1;
}

/// Why LiteRT computes an int16 operator otherwise than rounding mode q15; nothing where it does
/// not.
std::optional<std::string_view> litert_int16_difference(const Operands& of) {
  if (of.input().dtype != DType::int16) return std::nullopt;
  const OpCode code = of.op.code;
  if (code == OpCode::fully_connected) {
    return "LiteRT (measured: LiteRT.js 2.5.3) rescales sums of int16 by a product in double, not "
           "by rounding mode q15, so that some values differ by one; TensorFlow Lite (tfjs-tflite "
           "0.0.1-alpha.10) and TFLite Micro keep to q15";
  }
  if (code == OpCode::logistic || code == OpCode::tanh) {
    const auto form =
        code == OpCode::tanh ? detail::SigmoidForm::tanh : detail::SigmoidForm::logistic;
    if (!detail::is_fixed_point_in_litert(form, of.input().quantization.scale()))
      return std::nullopt;
    return "its input scale counts as 2^-12, or 2^-11, for which LiteRT and TensorFlow Lite "
           "compute "
           "in 16-bit fixed point, many values otherwise; TFLite Micro keeps to its table, as "
           "Octet "
           "does. Widen the range of its input by a tenth";
  }
  if (code != OpCode::add && code != OpCode::sub) return std::nullopt;
  const auto is_power = [](const ModelTensor& tensor) {
    int exponent = 0;
    return std::frexp(tensor.quantization.scale(), &exponent) == 0.5F;
  };
  if (!is_power(of.input(0)) || !is_power(of.input(1)) || !is_power(of.output())) {
    return std::nullopt;
  }
  return "all its scales are powers of two, for which LiteRT and TensorFlow Lite shift instead of "
         "rescaling; TFLite Micro rescales, as Octet does";
}

/// Functions that TFLite Micro has of floats alone, or not at all.
bool is_function_of_codes(const Operands& of) {
  constexpr std::array kFunctions = {OpCode::exp, OpCode::gelu, OpCode::log, OpCode::sqrt};
  return of.input().dtype == DType::int8 &&
         std::ranges::find(kFunctions, of.op.code) != kFunctions.end();
}

/// CMSIS-NN repeats an operand of one channel wrongly, as [5, 1, 1] beside [5, 6, 4].
bool is_extreme_of_one_channel(const Operands& of) {
  if (of.op.code != OpCode::maximum && of.op.code != OpCode::minimum) return false;
  const auto channels = [](const ModelTensor& x) { return x.shape.empty() ? 1 : x.shape.back(); };
  return channels(of.input(0)) != channels(of.input(1));
}

/// TFLite Micro and CMSIS-NN leave out a fused activation of a TRANSPOSE_CONV.
bool loses_activation(const Operator& op) {
  return op.code == OpCode::transpose_conv && op.activation() != FusedActivation::none;
}

/// What runtimes lack or compute otherwise of operators that change variable tensors.
std::vector<std::string_view> problems_of_states(const Operands& of) {
  if (of.op.code == OpCode::unidirectional_sequence_lstm) {
    if (of.input(detail::kLstmCell).is_constant()) {
      return {
          "LiteRT.js loads no file with its variable tensors, and TFLite Micro goes on from the "
          "states of the call before: reset the variable tensors in front of each sequence; the "
          "operators that a layer LSTM is made of need neither"};
    }
    return {
        "LiteRT.js loads no file with its variable tensors, and CMSIS-NN keeps no state from "
        "one call to the next; the operators that a layer LSTM is made of run in both"};
  }
  if (of.op.code != OpCode::svdf) return {};
  std::vector<std::string_view> problems{
      "LiteRT.js loads no file with its variable tensors; the operators that a layer SVDF is made "
      "of run there"};
  if (of.input().dtype == DType::float32) return problems;
  const bool clamps = of.op.activation() == FusedActivation::relu;
  if (!clamps) problems.emplace_back("LiteRT refuses it without RELU; TFLite Micro takes it");
  if (clamps && of.output().quantization.zero_point() > std::numeric_limits<std::int8_t>::min()) {
    problems.emplace_back(
        "no runtime applies its RELU, so that results are below 0 where their zero point is not "
        "the lowest value");
  }
  if (of.input(detail::kSvdfState).dtype == DType::int8) {
    problems.emplace_back(
        "CMSIS-NN and LiteRT compute other values with a state of int8 than TFLite Micro's "
        "reference kernels; quantize the state to int16");
  }
  return problems;
}

}  // namespace

std::vector<std::string> runtime_warnings(const IntegerModel& model) {
  model.validate();
  const auto contract = model.metadata.find(kRoundingKey);
  const bool for_tflite_micro =
      contract != model.metadata.end() && contract->second == to_string(Rounding::double_rounding);
  const std::vector<bool> batched = detail::find_batched(model);
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operands of(model, model.operators[i]);
    const std::string name =
        fmt::format("operator {} ({}) '{}'", i, to_string(of.op.code), of.output().name);
    if (const auto problem = missing_bias(of)) {
      warnings.push_back(fmt::format("{}: {}", name, *problem));
    }
    if (overflows_16_bits(of)) {
      warnings.push_back(fmt::format(
          "{}: it has weights of -128; XNNPACK (LiteRT.js, tfjs-tflite) adds two products in "
          "16 bits, which overflow where the inputs that they meet are -128 as well. Clamp the "
          "weights to -127, as TensorFlow Lite's converter and lower() do",
          name));
    }
    if (const auto window = detail::misread_window(of)) {
      warnings.push_back(fmt::format(
          "{}: with padding same its last windows end before the image does; LiteRT.js 2.0.0 and "
          "tfjs-tflite 0.0.1-alpha.10 compute wrong values then, LiteRT.js 2.5.3 right ones. {}",
          name,
          detail::pads_nothing(*window)
              ? "Write padding valid, which means the same here"
              : "Pad the image by a ZeroPadding2D in front of it and write padding valid"));
    }
    if (is_softmax_of_one_class(of)) {
      warnings.push_back(
          fmt::format("{}: its result is one class, always 1; ONNX Runtime 1.30 crashes on it at "
                      "optimisation all. End the network in a sigmoid",
                      name));
    }
    for (const std::string_view problem : problems_of_states(of)) {
      warnings.push_back(fmt::format("{}: {}", name, problem));
    }
    if (const auto difference = litert_int16_difference(of)) {
      warnings.push_back(fmt::format("{}: {}", name, *difference));
    }
    if (computes_sums_of_codes(of)) {
      if (const auto refusal = xnnpack_refusal(of)) {
        warnings.push_back(
            fmt::format("{}: {}; XNNPACK refuses such a layer, and LiteRT.js the model with it",
                        name, *refusal));
      } else if (lacks_bias_scale(of)) {
        warnings.push_back(fmt::format(
            "{}: its bias '{}' has no scale; XNNPACK leaves such a layer to LiteRT's own kernel, "
            "which rounds as mode single or double says. Give it input scale * weight scale",
            name, of.input(2).name));
      }
      if (for_tflite_micro && loses_activation(of.op)) {
        warnings.push_back(fmt::format(
            "{}: TFLite Micro and CMSIS-NN leave out the fused activation of a TRANSPOSE_CONV",
            name));
      }
    } else if (is_sum_of_large_factor(of)) {
      // LiteRT takes any factor of a SUB.
      warnings.push_back(
          fmt::format("{}: its output scale is next to nothing beside its inputs'; {}TFLite Micro "
                      "{} such a sum. Do its inputs cancel, or is it dead?",
                      name, of.op.code == OpCode::add ? "LiteRT and " : "",
                      of.op.code == OpCode::add ? "refuse" : "refuses"));
    } else if (of.op.code == OpCode::resize_bilinear &&
               of.input().quantization.scales != of.output().quantization.scales) {
      warnings.push_back(fmt::format(
          "{}: its result has scale {}, its input {}: runtimes interpolate integers and do not "
          "rescale, so that values change by that ratio",
          name, of.output().quantization.scale(), of.input().quantization.scale()));
    } else if (const auto once = operand_of_one_sample(of, batched)) {
      warnings.push_back(fmt::format(
          "{}: operand '{}' is the same for every sample, which other runtimes put together with a "
          "batch of 1 alone",
          name, of.tensor(*once).name));
    } else if (for_tflite_micro && is_function_of_codes(of)) {
      warnings.push_back(fmt::format(
          "{}: TFLite Micro has no {} of int8 and refuses the file; the C source has it{}", name,
          to_string(of.op.code),
          of.op.code == OpCode::gelu ? ", and a SiLU layer, which is near it, runs in both" : ""));
    } else if (for_tflite_micro && is_extreme_of_one_channel(of)) {
      warnings.push_back(fmt::format(
          "{}: CMSIS-NN computes wrong values where an operand of one channel is repeated; TFLite "
          "Micro's reference kernels and the C source compute right ones",
          name));
    } else if (for_tflite_micro && is_rescaling_relu6(of)) {
      warnings.push_back(fmt::format(
          "{}: input and output differ in scale or zero point; TFLite Micro's RELU6 clamps "
          "without rescaling, with other results. Octet rescales, as LiteRT does",
          name));
    }
  }
  return warnings;
}

}  // namespace octet
