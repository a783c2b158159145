#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/train/qat_recipe.h>

#include <algorithm>

namespace octet {
namespace {

/// Bits with which steps that are learned beat measured ones.
constexpr int kMostBitsLearned = 4;
/// Adam's rate. Chosen on training images that were held out of training, see docs/results.md.
constexpr float kRateOfFewBits = 1e-3F;
constexpr int kMostBitsOfInt8 = 8;

QatRecipe recipe_of(QuantizeOptions options, int fewest_weight_bits, bool learns_results) {
  QatRecipe result{options};
  if (std::min(fewest_weight_bits, options.activation_bits) > kMostBitsLearned) return result;
  const auto learn = [](Scales& scales) {
    if (scales == Scales::measured) scales = Scales::lsq;
  };
  learn(result.quantize.weight_scales);
  if (learns_results) learn(result.quantize.activation_scales);
  result.learning_rate = kRateOfFewBits;
  return result;
}

}  // namespace

QatRecipe qat_recipe(QuantizeOptions options) {
  return recipe_of(options, options.weight_bits, options.activation_bits <= kMostBitsOfInt8);
}

QatRecipe qat_recipe(const Model& model, QuantizeOptions options) {
  int fewest = options.weight_bits;
  bool learns_results = options.activation_bits <= kMostBitsOfInt8;
  for (const auto& layer : model.layers()) {
    const LayerQuantization& own = layer->quantization();
    if (!own.in_float) fewest = std::min(fewest, own.weight_bits.value_or(fewest));
    if (result_rule(*layer, options.rounding) == ResultRule::as_inputs) learns_results = false;
  }
  return recipe_of(options, fewest, learns_results);
}

std::string to_string(const QatRecipe& recipe) {
  return fmt::format("scales of weights {}, of results {}, learning rate {}",
                     to_string(recipe.quantize.weight_scales),
                     to_string(recipe.quantize.activation_scales), recipe.learning_rate);
}

std::uint64_t training_steps(const Dataset& train, int epochs, std::size_t batch_size) {
  if (epochs < 0 || batch_size == 0) {
    throw InvalidArgument(fmt::format(
        "training_steps: expected 0 epochs or more of batches of 1 example or more, found {} "
        "and {}",
        epochs, batch_size));
  }
  return (train.size() + batch_size - 1) / batch_size * static_cast<std::uint64_t>(epochs);
}

}  // namespace octet
