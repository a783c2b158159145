#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/activation.h>
#include <octet/layers/input.h>
#include <octet/layers/quantize/model_passes.h>
#include <octet/layers/quantize/step_rules.h>

namespace octet {
namespace {

/// The only layer that reads layer `i`, where nothing else, nor the user, does.
std::optional<std::size_t> only_reader(const Model& model, std::size_t i) {
  const std::vector<std::size_t> readers = model.readers(i);
  if (readers.size() != 1 || model.is_output(i) || model.is_reused(i)) return std::nullopt;
  return readers.front();
}

}  // namespace

std::vector<std::optional<std::size_t>> fusible_clamps(
    const Model& model, FunctionRef<bool(std::size_t layer, std::size_t clamp)> may_fuse) {
  std::vector<std::optional<std::size_t>> found(model.layers().size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::optional<std::size_t> next = only_reader(model, i);
    if (!next || model.is_reused(*next) || !may_fuse(i, *next)) continue;
    const Layer& clamp = *model.layers()[*next];
    const Activation function = clamp.activation();
    if (!is_activation(clamp) || function == Activation::none) continue;
    // No layer takes one that runtimes compute of its result, as a softmax.
    if (model.layers()[i]->can_end_in(function)) found[i] = next;
  }
  return found;
}

bool needs_quantize_layer(const ValueForm& form, ResultRule rule) {
  return !form.is_integer || (rule == ResultRule::as_inputs && form.fixed_by);
}

std::vector<bool> indices_of(const Model& model) {
  std::vector<bool> found(model.layers().size());
  for (std::size_t i = found.size(); i-- > 0;) {
    const Layer& layer = *model.layers()[model.used_layer(i)];
    if (is_input(layer)) continue;
    if (reads_indices(layer)) {
      found[model.inputs_of(i)[0]] = true;
    } else if (found[i] && moves_alone(layer)) {
      for (const std::size_t input : model.inputs_of(i)) found[input] = true;
    }
  }
  return found;
}

void require_index_readers(const Model& model, const std::vector<bool>& indices, std::size_t i) {
  for (const std::size_t reader : model.readers(i)) {
    const Layer& layer = *model.layers()[model.used_layer(reader)];
    if (reads_indices(layer) || (indices[reader] && moves_alone(layer))) continue;
    const Layer& found = *model.layers()[reader];
    throw InvalidArgument(
        fmt::format("quantize_model: expected layers that look up indices alone to read {} "
                    "\"{}\", found \"{}\" of type {}; give that an input of its own",
                    is_input(*model.layers()[i]) ? "input" : "layer", model.layers()[i]->name(),
                    found.name(), found.type()));
  }
}

}  // namespace octet
