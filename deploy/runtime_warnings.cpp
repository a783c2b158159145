#include <fmt/format.h>
#include <octet/core/quant/rounding.h>
#include <octet/deploy/runtime_warnings.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace octet {
namespace {

/// XNNPACK's limit on a rescale factor: unsupported from here on.
constexpr float kXnnpackFactorLimit = 256.0F;

const ModelTensor& tensor_of(const IntegerModel& model, std::int32_t i) {
  return model.tensors[static_cast<std::size_t>(i)];
}

/// Why XNNPACK refuses a FULLY_CONNECTED or CONV_2D of codes; nothing where it takes it.
std::optional<std::string> xnnpack_refusal(const IntegerModel& model, const Operator& op) {
  const float in = tensor_of(model, op.inputs[0]).quantization.scale();
  const float out = tensor_of(model, op.outputs[0]).quantization.scale();
  const std::vector<float>& weights = tensor_of(model, op.inputs[1]).quantization.scales;
  for (std::size_t unit = 0; unit < weights.size(); ++unit) {
    const std::string of_unit = weights.size() == 1 ? "" : fmt::format(" of unit {}", unit);
    for (const float scale : {in, weights[unit], out}) {
      if (!std::isnormal(scale)) {
        return fmt::format("scale {}{} is below the normal float32 numbers", scale, of_unit);
      }
    }
    const float factor = in * weights[unit] / out;
    if (!(factor < kXnnpackFactorLimit)) {
      return fmt::format(
          "rescale factor {}{}, input scale {} * weight scale {} / output scale {}, is not below "
          "{}",
          factor, of_unit, in, weights[unit], out, kXnnpackFactorLimit);
    }
  }
  return std::nullopt;
}

bool computes_sums_of_codes(const IntegerModel& model, const Operator& op) {
  return (op.code == OpCode::fully_connected || op.code == OpCode::conv_2d) &&
         tensor_of(model, op.inputs[0]).dtype == DType::int8;
}

/// Whether LiteRT refuses an ADD of codes: t / (2^20 output scale), t twice the larger input scale,
/// is no factor below 1.
bool litert_refuses_add(const IntegerModel& model, const Operator& op) {
  if (op.code != OpCode::add || tensor_of(model, op.inputs[0]).dtype != DType::int8) return false;
  const float larger = std::max(tensor_of(model, op.inputs[0]).quantization.scale(),
                                tensor_of(model, op.inputs[1]).quantization.scale());
  const float out = tensor_of(model, op.outputs[0]).quantization.scale();
  return std::ldexp(2.0 * double{larger} / double{out}, -20) >= 1.0;
}

bool is_rescaling_relu6(const IntegerModel& model, const Operator& op) {
  if (op.code != OpCode::relu6) return false;
  const QuantParams& in = tensor_of(model, op.inputs[0]).quantization;
  const QuantParams& out = tensor_of(model, op.outputs[0]).quantization;
  return in.scales != out.scales || in.zero_points != out.zero_points;
}

}  // namespace

std::vector<std::string> runtime_warnings(const IntegerModel& model) {
  model.validate();
  const auto contract = model.metadata.find("octet.rounding");
  const bool for_tflite_micro =
      contract != model.metadata.end() && contract->second == to_string(Rounding::double_rounding);
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operator& op = model.operators[i];
    const std::string name = fmt::format("operator {} ({}) '{}'", i, to_string(op.code),
                                         tensor_of(model, op.outputs[0]).name);
    if (computes_sums_of_codes(model, op)) {
      if (const auto refusal = xnnpack_refusal(model, op)) {
        warnings.push_back(
            fmt::format("{}: {}; XNNPACK refuses such a layer, and LiteRT.js the model with it. "
                        "Its results are next to nothing: is it dead, or its range too narrow?",
                        name, *refusal));
      }
    } else if (litert_refuses_add(model, op)) {
      warnings.push_back(fmt::format(
          "{}: its output scale is next to nothing beside its inputs'; LiteRT and TFLite "
          "Micro refuse such a sum. Is it dead, or its range too narrow?",
          name));
    } else if (for_tflite_micro && is_rescaling_relu6(model, op)) {
      warnings.push_back(fmt::format(
          "{}: input and output differ in scale or zero point; TFLite Micro's RELU6 clamps codes "
          "without rescaling them and gives others. Octet rescales, as LiteRT does",
          name));
    }
  }
  return warnings;
}

}  // namespace octet
