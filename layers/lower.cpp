#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/lower.h>
#include <octet/layers/program/equal_parts.h>
#include <octet/layers/program/lowering.h>
#include <octet/layers/quantize/batch_norm_folding.h>
#include <octet/layers/quantize/float_model.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/runtime/joined_reshapes.h>
#include <octet/runtime/operators/convolution_padding.h>
#include <octet/runtime/packed_weights.h>

#include <algorithm>

namespace octet {
namespace {

/// Says `valid` of convolutions whose padding `same` pads nothing and is misread by some runtimes.
void avoid_misread_padding(IntegerModel& model) {
  for (Operator& op : model.operators) {
    const auto window = detail::misread_window({model, op});
    if (!window || !detail::pads_nothing(*window)) continue;
    detail::with_convolution(op, [](auto& attributes) { attributes.padding = Padding::valid; });
  }
}

/// Lowers the steps of a model in their order, and notes which tensors each of its layers became.
class Walk {
 public:
  Walk(const Model& model, Lowering& lowering)
      : model_(model),
        program_(model.program()),
        lowering_(lowering),
        tensors_(program_.values.size(), kNone) {}

  /// The steps of layer `i`; returns the tensor of its result. `written` gets the results of their
  /// operators.
  std::int32_t lower_layer(std::size_t i, std::vector<std::int32_t>& written) {
    const std::size_t result = program_.result_of_layer[i];
    if (model_.inputs_of(i).empty()) {
      const Program::Value& value = program_.values[result];
      tensors_[result] = lowering_.input(value.name(), value.shape);
      return tensors_[result];
    }
    for (; next_ < program_.steps.size() && program_.steps[next_].node == i; ++next_) {
      const Step& step = program_.steps[next_];
      if (tensors_[step.result] != kNone || append_split()) {
        written.push_back(tensors_[step.result]);
        continue;
      }
      const std::size_t first = lowering_.model().operators.size();
      tensors_[step.result] = lowering_.append(step, program_.values[step.result], read_by(step));
      for (std::size_t op = first; op < lowering_.model().operators.size(); ++op) {
        written.push_back(lowering_.model().operators[op].outputs[0]);
      }
    }
    return tensors_[result];
  }

  std::int32_t result_of(std::size_t layer) const {
    return tensors_[program_.result_of_layer[layer]];
  }

 private:
  static constexpr std::int32_t kNone = -1;

  std::vector<std::int32_t> read_by(const Step& step) {
    std::vector<std::int32_t> inputs;
    for (const std::size_t input : step.inputs) inputs.push_back(tensors_[input]);
    return inputs;
  }

  /// Appends one SPLIT for the next step and those behind it, where they are equal_parts(), which
  /// then have their tensors. Returns whether they are.
  bool append_split() {
    const EqualParts parts = equal_parts(program_, next_);
    if (parts.count == 1) return false;
    const auto steps = std::span(program_.steps).subspan(next_, parts.count);
    const std::vector<std::int32_t> results =
        lowering_.split(program_, steps, parts.axis, tensors_[steps[0].inputs[0]]);
    for (std::size_t k = 0; k < steps.size(); ++k) tensors_[steps[k].result] = results[k];
    return true;
  }

  const Model& model_;
  const Program& program_;
  Lowering& lowering_;
  /// By value of the program; kNone where it is not lowered yet.
  std::vector<std::int32_t> tensors_;
  std::size_t next_ = 0;
};

LoweredModel walk(const Model& model, Lowering& lowering) {
  LoweredModel lowered;
  std::vector<std::int32_t> results;
  Walk walk(model, lowering);
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    const bool reads_reals =
        !model.inputs_of(i).empty() && lowering.is_real(walk.result_of(model.inputs_of(i).front()));
    std::vector<std::int32_t>& tensors = lowered.tensors_of_layer.emplace_back();
    results.push_back(walk.lower_layer(i, tensors));
    std::erase_if(tensors, [&](std::int32_t tensor) { return lowering.is_real(tensor); });
    // An input that became integers by its element type, with no operator in between.
    if (tensors.empty() && reads_reals && !lowering.is_real(results[i])) tensors = {results[i]};
  }
  for (const std::size_t i : model.input_layers()) {
    // The input is of integers now; other layers were trained on its real values.
    if (lowering.is_real(results[i]) || model.readers(i).size() == 1) continue;
    throw InvalidArgument(
        fmt::format("lower: input \"{}\": expected its QuantizeLayer alone to read it, found {} "
                    "layers that do; let the others read the QuantizeLayer",
                    model.layers()[i]->name(), model.readers(i).size()));
  }
  std::vector<std::int32_t> outputs;
  for (const std::size_t output : model.output_layers()) outputs.push_back(results[output]);
  lowering.finish(outputs);
  lowered.model = std::move(lowering.model());
  const std::vector<std::int32_t> joined = join_reshapes(lowered.model);
  for (std::vector<std::int32_t>& tensors : lowered.tensors_of_layer) {
    for (std::int32_t& tensor : tensors) tensor = joined[static_cast<std::size_t>(tensor)];
  }
  return lowered;
}

/// Names a layer with weights where there is one: what is to be quantized first of all.
void require_quantized(const Model& model) {
  const auto& layers = model.layers();
  const auto is_quantized = [](const auto& layer) { return layer->is_quantized(); };
  if (std::ranges::any_of(layers, is_quantized)) return;
  const auto has_weights = [](const auto& layer) { return layer->weights().has_value(); };
  const auto first = std::ranges::find_if(layers, has_weights);
  const std::string found =
      first == layers.end()
          ? fmt::format("model \"{}\" is not quantized", model.name())
          : fmt::format(
                "layer \"{}\" of type {} is not quantized, nor is any other of model \"{}\"",
                (*first)->name(), (*first)->type(), model.name());
  throw InvalidArgument(
      fmt::format("lower: {}; use quantize_model(), or lower_float() for a float model", found));
}

LoweredModel lower_in_codes(const Model& model, const LowerOptions& options) {
  model.require_built("lower");
  require_quantized(model);
  Lowering lowering(model.name(), options);
  LoweredModel lowered = walk(model, lowering);
  IntegerModel& result = lowered.model;
  result.description = "octet int8 model";
  result.metadata[kRoundingKey] = to_string(lowering.rounding().value_or(Rounding::fp32));
  result.metadata["octet.accumulator_bound"] = std::to_string(lowering.accumulator_bound());
  if (options.per_channel_dense == DenseForm::conv_2d) {
    result = per_channel_as_conv_2d(std::move(result));
  }
  if (options.pack_weights) result = pack_weights(std::move(result));
  result.validate();
  avoid_misread_padding(result);
  return lowered;
}

}  // namespace

IntegerModel lower(const Model& model, const LowerOptions& options) {
  return lower_in_codes(model, options).model;
}

LoweredModel lower_by_layer(const Model& model) { return lower_in_codes(model, {}); }

IntegerModel lower_float(const Model& model) {
  require_float_model(model, "lower_float");
  Lowering lowering(model.name());
  const auto none = [](const Layer& /*layer*/) { return false; };
  IntegerModel result =
      walk(with_folded_batch_norm(model, BatchNormMode::folded, none), lowering).model;
  result.description = "octet float model";
  result.validate();
  avoid_misread_padding(result);
  return result;
}

}  // namespace octet
