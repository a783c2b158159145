#pragma once

#include <octet/core/quant/rounding.h>

#include <array>
#include <string_view>

namespace octet {

/// A runtime that a model is made for. The last bit of a result depends on it.
enum class Target {
  litert,      ///< LiteRT and LiteRT.js, which run XNNPACK
  tflm,        ///< TFLite Micro
  cmsis_nn,    ///< TFLite Micro with CMSIS-NN
  onnxruntime  ///< ONNX Runtime, given the export of write_onnx()
};

/// Every target.
inline constexpr std::array kTargets = {Target::litert, Target::tflm, Target::cmsis_nn,
                                        Target::onnxruntime};

/// Returns "litert", "tflm", "cmsis-nn" or "onnxruntime".
[[nodiscard]] std::string_view to_string(Target target);

/// Parses such a name. Throws InvalidArgument, which lists the names, for anything else.
[[nodiscard]] Target parse_target(std::string_view text);

/// Returns the rounding mode in which a runtime computes, the one to train with for it:
/// double_rounding for TFLite Micro and CMSIS-NN, fp32 for the others.
[[nodiscard]] Rounding contract_of(Target target);

/// Whether a runtime computes in a rounding mode: in contract_of(), and in q15 on TFLite Micro and
/// CMSIS-NN.
[[nodiscard]] bool computes(Target target, Rounding rounding);

/// Throws InvalidArgument, naming both, where a model for `target` cannot keep to `rounding`.
void require_contract(Target target, Rounding rounding);

}  // namespace octet
