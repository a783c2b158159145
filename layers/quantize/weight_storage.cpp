#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/program/linear_operator.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/weight_storage.h>
#include <octet/runtime/operators/fully_connected.h>

#include <utility>

namespace octet {
namespace {

constexpr int kMostPackedBits = 4;

/// The fewest bits of a file that hold codes of `bits` bits.
int container_of(int bits) {
  if (bits <= 2) return 2;
  return bits <= kMostPackedBits ? kMostPackedBits : 8;
}

/// Why runtimes do not take the weights in 4 bits, and what would work.
std::string why_not_packed(const WeightForm& form, Rounding rounding) {
  constexpr const char* kOtherFiles = "C source and ONNX hold every width packed";
  if (form.is_grouped)
    return fmt::format("no runtime takes packed weights of groups; {}", kOtherFiles);
  if (form.code == OpCode::transpose_conv) {
    return fmt::format("no runtime takes its weights packed; {}", kOtherFiles);
  }
  if (rounding == Rounding::double_rounding) {
    return "TFLite Micro takes packed weights of FULLY_CONNECTED with one scale only; quantize the "
           "layer with per_channel = false, or lower it with DenseForm::conv_2d";
  }
  if (form.code == OpCode::fully_connected) {
    return fmt::format(
        "XNNPACK takes packed weights of an even number of inputs only, and LiteRT computes {} in "
        "rounding mode single; give the layer one input more, or {}",
        form.depth, kOtherFiles);
  }
  return fmt::format(
      "LiteRT computes its packed weights in rounding mode {}, those of 8 bits in fp32; {}",
      to_string(detail::contract_of_weights(form.code, rounding, kMostPackedBits, form.depth,
                                            form.per_channel)),
      kOtherFiles);
}

std::string obstacle_of(const WeightStorage& of) {
  if (of.trained_bits > kMostPackedBits || of.stored_bits == container_of(of.trained_bits))
    return "";
  if (of.stored_bits == 8) return why_not_packed(of.form, of.rounding);
  if (of.form.code != OpCode::fully_connected || of.rounding == Rounding::double_rounding) {
    return "runtimes take it in 4 bits, not in 2";
  }
  return "XNNPACK takes 2 bits with a multiple of 4 inputs and a scale per unit only; set "
         "per_channel";
}

}  // namespace

std::string WeightStorage::text() const {
  return fmt::format("trained {} bit, stored {}, {} in rounding mode {}", trained_bits, stored_bits,
                     octet::to_string(form.code), octet::to_string(rounding));
}

std::optional<WeightStorage> weight_storage(const Layer& layer) {
  const Quantizer* quantizer = layer.kernel_quantizer();
  const std::optional<Rounding> rounding = layer.contract();
  const std::optional<LayerWeights> weights = layer.weights();
  if (quantizer == nullptr || !rounding || !weights) return std::nullopt;
  const Shape& kernel = weights->kernel.shape();
  WeightStorage result{.layer = layer.name(), .rounding = *rounding};
  result.form = {.code = operator_of(*weights),
                 .depth = kernel.size() / kernel.dim(-1),
                 .per_channel = quantizer->spec().axis >= 0 && kernel.dim(-1) > 1,
                 .is_grouped = weights->convolution && !weights->depthwise &&
                               weights->convolution->groups > 1};
  result.trained_bits = quantizer->spec().num_bits;
  for (const int bits : {2, 4}) {
    if (container_of(result.trained_bits) > bits || result.stored_bits < 8) continue;
    if (takes_packed_weights(result.form, *rounding, bits)) result.stored_bits = bits;
  }
  result.obstacle = obstacle_of(result);
  return result;
}

std::vector<WeightStorage> weight_storage(const Model& model) {
  std::vector<WeightStorage> result;
  for (const auto& layer : model.layers()) {
    if (auto storage = weight_storage(*layer)) result.push_back(*std::move(storage));
  }
  return result;
}

void require_packed_weights(const Model& model, Target target) {
  for (const WeightStorage& storage : weight_storage(model)) {
    require_contract(target, storage.rounding);
    if (target == Target::onnxruntime || storage.trained_bits > kMostPackedBits) continue;
    if (storage.stored_bits < 8) continue;
    throw InvalidArgument(fmt::format(
        "layer \"{}\": expected weights that target {} executes packed, found {} bits of {} {}: {}",
        storage.layer, to_string(target), storage.trained_bits, to_string(storage.form.code),
        storage.form.per_channel ? "with a scale per unit" : "with one scale", storage.obstacle));
  }
}

}  // namespace octet
