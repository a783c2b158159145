#include <octet/core/archive.h>
#include <octet/core/quant/activation_range.h>
#include <octet/layers/input.h>
#include <octet/layers/lstm.h>
#include <octet/layers/multiply.h>
#include <octet/layers/position_embedding.h>
#include <octet/layers/program/step_layers.h>
#include <octet/layers/program/streams.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/quantize_layer.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/quantizers.h>
#include <octet/layers/sequence_shapes.h>
#include <octet/layers/slice.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

namespace octet {
namespace {

/// Adds what a quantizer keeps to an archive as the tensors whose names begin with `prefix`: the
/// range of all that it is tied to, and a learned scale.
void add_range(Archive& archive, const std::string& prefix, const Quantizer& quantizer) {
  const ObservedRange range = quantizer.common_range();
  for (const auto& kept : {quantizer.state(), quantizer.parameters(), quantizer.counters()}) {
    for (const auto& [name, tensor] : kept) {
      const std::string own = name.substr(quantizer.prefix().size());
      archive.add(prefix + own, own == "min" ? range.min : own == "max" ? range.max : tensor);
    }
  }
}

std::unique_ptr<Quantizer> fixed_quantizer(const QuantParams& params,
                                           const QuantizeOptions& options) {
  const RealLimits limits = real_limits(params);
  return std::make_unique<FixedQuantizer>(limits.lo, limits.hi, activation_spec(options));
}

/// A PositionEmbedding of sequences [steps, 1] that adds 1 to the last `ones`.
std::unique_ptr<Layer> add_ones(Index steps, Index ones, const std::string& name) {
  auto layer = std::make_unique<PositionEmbedding>(name);
  const Shape shape = {steps, 1};
  layer->build_all({&shape, 1}, Random());
  const std::span<float> embeddings = layer->parameters().front().tensor.mutable_span();
  std::ranges::fill(embeddings, 0.0F);
  std::ranges::fill(embeddings.last(static_cast<std::size_t>(ones)), 1.0F);
  return layer;
}

}  // namespace

std::string StepLayers::name_of(std::size_t i) const {
  return inner_of(*source_.layers()[i]).name();
}

bool StepLayers::reads_integers(std::size_t i) const {
  const std::size_t read = result_of(source_.inputs_of(i)[0]);
  return as_quantize_wrapper(*source_.layers()[i]) != nullptr && form_of(read).is_integer;
}

const QuantizeOptions& StepLayers::options_of(std::size_t i) const {
  return as_quantize_wrapper(*source_.layers()[i])->config().options();
}

/// A quantizer with scale and zero point of a value of the source, null where layer `i` reads real
/// values.
std::unique_ptr<Quantizer> StepLayers::quantizer_of(std::size_t i, std::size_t of) const {
  if (!reads_integers(i)) return nullptr;
  const ValueForm& form = form_of(of);
  if (form.quantizer != nullptr) return form.quantizer->clone();
  const OperatorDefinition& fixing = definition(form.fixed_by.value());
  const DType type = form.is_int16 ? DType::int16 : DType::int8;
  return fixed_quantizer(fixing.fixed_grid_of(type), options_of(i));
}

/// The quantizer of flags, null where layer `i` reads real values. Its scale is a power of two, so
/// that the product with 1 is exactly the other factor in every rounding mode.
std::unique_ptr<Quantizer> StepLayers::flag_quantizer(std::size_t i) const {
  if (!reads_integers(i)) return nullptr;
  const QuantSpec spec = activation_spec(options_of(i));
  const float scale = std::ldexp(1.0F, 2 - spec.num_bits);
  return fixed_quantizer(QuantParams::per_tensor(scale, 0, spec.qmin(), spec.qmax()),
                         options_of(i));
}

Value StepLayers::add(std::size_t i, std::unique_ptr<Layer> layer, const std::vector<Value>& inputs,
                      std::unique_ptr<Quantizer> quantizer) {
  if (reads_integers(i)) {
    const QuantizeOptions& options = options_of(i);
    layer = std::make_unique<QuantizeWrapper>(
        std::move(layer), quantizer != nullptr
                              ? given_quantizers(options, nullptr, std::move(quantizer))
                              : default_8bit(options));
  }
  Value result = step_.add_built(std::move(layer), inputs);
  Layer& added = *step_.layers().back();
  added_.push_back({added.name() + "/"});
  if (const QuantizeWrapper* const wrapper = as_quantize_wrapper(added)) {
    for (const auto& [of, tensor] : wrapper->trained_tensors()) of->observe(tensor);
  }
  return result;
}

Value StepLayers::quantized(std::size_t i, const Value& x, const std::string& name,
                            std::unique_ptr<Quantizer> quantizer, std::optional<std::size_t> of) {
  added_.push_back({name + "/", of});
  return step_.add_built(std::make_unique<QuantizeLayer>(std::move(quantizer), options_of(i), name),
                         {x});
}

Value StepLayers::quantized(std::size_t i, const Value& x, const std::string& name,
                            std::size_t of) {
  return quantized(i, x, name, quantizer_of(i, of), of);
}

/// An input, behind a QuantizeLayer unless the quantizer is null.
Value StepLayers::input(std::size_t i, const std::string& name, const Shape& shape,
                        std::unique_ptr<Quantizer> quantizer, std::optional<std::size_t> of) {
  Value value = step_.add_built(std::make_unique<InputLayer>(shape, name), {});
  if (quantizer == nullptr) return value;
  return quantized(i, value, name + "_quantize", std::move(quantizer), of);
}

Value StepLayers::state_input(std::size_t i, const std::string& name, const Shape& shape,
                              std::size_t of) {
  return input(i, name, shape, quantizer_of(i, of), of);
}

Value StepLayers::cell_input(std::size_t i, const std::string& name, const Shape& shape) {
  constexpr float kMost = 32767 * kLstmCellScale;
  const QuantSpec int16{.num_bits = 16, .symmetric = true};
  return input(i, name, shape, std::make_unique<FixedQuantizer>(-kMost, kMost, int16),
               std::nullopt);
}

Value StepLayers::part(std::size_t i, const std::string& name, const Value& sequence, Index begin,
                       Index count) {
  return add(
      i,
      std::make_unique<Slice>(SliceOptions{.axis = 0, .begin = begin, .size = count, .name = name}),
      {sequence});
}

Value StepLayers::begun(std::size_t i, Index zeros, Index count) {
  const std::string name = name_of(i) + "_begun";
  const Value before = input(i, name + "_state", {zeros, 1}, flag_quantizer(i), std::nullopt);
  const Value longer = add(i, std::make_unique<ZeroPadding1D>(0, count, name + "_zeros"), {before});
  const Value window =
      add(i, add_ones(zeros + count, count, name + "_window"), {longer}, flag_quantizer(i));
  carry(name + "_state", part(i, name + "_next", window, count, zeros));
  return part(i, name, window, 0, count);
}

Value StepLayers::product(std::size_t i, const std::string& name, const Value& x,
                          const Value& flags, std::size_t of) {
  Value y =
      add(i, std::make_unique<Multiply>(Activation::none, name), {x, flags}, quantizer_of(i, of));
  if (reads_integers(i)) added_.back() = {step_.layers().back()->name() + "/output_", of};
  return y;
}

void StepLayers::carry(const std::string& state, const Value& next) {
  states_.push_back({state, next, step_.layers().back()->name()});
}

void StepLayers::restore() {
  const std::vector<NamedTensor> made = step_.saved_tensors();
  std::set<std::string> wanted;
  for (const NamedTensor& saved : made) wanted.insert(saved.name);
  Archive tensors;
  for (const auto& [name, tensor] : source_.saved_tensors()) {
    // The zeros in front of the first step have a quantizer that one step has not.
    if (wanted.contains(name)) tensors.add(name, tensor);
  }
  for (const Added& added : added_) {
    const Quantizer* const measured = added.of ? form_of(*added.of).quantizer : nullptr;
    if (measured != nullptr) {
      add_range(tensors, added.prefix, *measured);
      continue;
    }
    for (const auto& [name, tensor] : made) {
      if (name.starts_with(added.prefix)) tensors.add(name, tensor);
    }
  }
  step_.restore(tensors);
  static_cast<void>(step_.program());
}

}  // namespace octet
