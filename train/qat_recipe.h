#pragma once

#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/train/data/dataset.h>
#include <octet/train/trainer.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace octet {

/// How a network that was trained in float is best trained on with quantization in the loop, where
/// nothing is known but its bits:
///
///     const QatRecipe recipe = qat_recipe(trained, {.weight_bits = 4});
///     Model quantized = quantize_model(trained, recipe.quantize);
///     const Schedule rate = cosine_decay(recipe.learning_rate, training_steps(train, epochs));
///     Trainer(quantized, Adam(rate)).fit(train, test, epochs);
struct QatRecipe {
  QuantizeOptions quantize;
  /// Adam's at first. Let it fall to 0 along half a cosine: what the last steps leave is shipped.
  float learning_rate = 1e-4F;
};

/// Returns the recipe for quantize options. With weights and results of 5 bits and more: `options`
/// unchanged and a learning rate of 1e-4. Where either has 4 bits or fewer, scales that options
/// leave measured are learned by LSQ, and the rate is 1e-3, with which quantized values still move
/// that lie far apart. Results of 16 bits keep measured scales.
QatRecipe qat_recipe(QuantizeOptions options = {});

/// Returns the recipe for a model, whose layers may ask for fewer bits (set_weight_bits(),
/// quantized()). Results keep measured scales where it has a Concatenate, whose inputs share one.
QatRecipe qat_recipe(const Model& model, QuantizeOptions options = {});

/// What the recipe says, in a line: "scales of weights lsq, of results lsq, learning rate 0.001".
std::string to_string(const QatRecipe& recipe);

/// Steps that a Trainer makes in so many epochs, for schedules. Throws InvalidArgument for a
/// negative number of epochs and batches without examples.
std::uint64_t training_steps(const Dataset& train, int epochs,
                             std::size_t batch_size = TrainerOptions{}.batch_size);

}  // namespace octet
