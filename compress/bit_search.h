#pragma once

#include <octet/compress/layer_flash.h>
#include <octet/layers/model.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/train/data/dataset.h>
#include <octet/train/distributed/process_group.h>
#include <octet/train/loss.h>
#include <octet/train/output_losses.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Which layer of a network gets how many bits, where flash is short: the sensitivity of every layer
// is measured by the integer engine, and an exact knapsack over shipped bytes does the rest.

namespace octet {

struct BitSearchOptions {
  /// The first so many examples are what losses and accuracies are measured on.
  std::size_t samples = 2000;
  /// The first so many of these are what the ranges of results are calibrated on.
  std::size_t calibration_samples = 500;
  /// What a layer may get, ascending, from 2 to 8. Sensitivities are against the last.
  std::vector<int> widths = {2, 3, 4, 5, 6, 8};
  /// How the network is quantized but for the bits of its weights.
  QuantizeOptions quantize{.per_channel = true};
  /// The loss of a model of one output.
  Loss loss = sparse_categorical_cross_entropy();
  /// The loss of each output of a model of several, in any order; their weighted sum is the loss of
  /// a network. Empty: the model has one output.
  std::vector<OutputLoss> losses{};
  /// The processes that share out the networks to be run; all call the function, and all get the
  /// same. Null: this one alone.
  ProcessGroup* group = nullptr;
};

/// What a network came to on the samples.
struct ModelScore {
  double loss = 0.0;
  /// The share of examples classed right; none where targets are no labels, and of several outputs.
  std::optional<double> accuracy{};

  bool operator==(const ModelScore&) const = default;
};

/// What it takes and costs to give a layer so many bits.
struct WidthCost {
  int bits = 8;
  /// shipped_bytes() of the layer.
  std::int64_t bytes = 0;
  /// Against the network whose layers all have the widest width: by how much the loss is higher
  /// with this layer alone at `bits`, and the accuracy lower; 0 where targets are no labels.
  double loss_rise = 0.0;
  double accuracy_drop = 0.0;

  bool operator==(const WidthCost&) const = default;
};

/// A layer whose bits are searched.
struct SearchedLayer {
  std::string name;
  /// By ascending bits.
  std::vector<WidthCost> widths;

  bool operator==(const SearchedLayer&) const = default;
};

/// One way to give bits to all layers.
struct BitAssignment {
  /// Bits of each of BitSearch::layers, in their order.
  std::vector<int> bits;
  /// Bytes of the whole network: see BitSearch::fixed_bytes.
  std::int64_t bytes = 0;
  /// By the additive model: the score of the widest widths and the changes of each layer alone,
  /// added up; the accuracy within [0, 1].
  ModelScore predicted;
  /// The score of the network itself, quantized so and run by the integer engine; none where it was
  /// not run.
  std::optional<ModelScore> measured{};

  bool operator==(const BitAssignment&) const = default;
};

/// What search_bits() has found.
struct BitSearch {
  std::vector<SearchedLayer> layers;
  /// Bytes of the layers that are not searched: those whose bits are given, in the 8 bits or those
  /// that they ask for, and those in float, 4 bytes per parameter.
  std::int64_t fixed_bytes = 0;
  /// On the samples: the float model, and the integers with all layers at the widest width.
  ModelScore in_float;
  ModelScore widest;
  BitAssignment chosen;
  /// The assignments that were run to choose one, in the order in which they were.
  std::vector<BitAssignment> measured;
  /// Every assignment that no other beats in the additive model: by bytes, of less and less loss.
  /// The first is the smallest possible but for ties.
  std::vector<BitAssignment> curve;
  /// What was asked for, one of the two: bytes, or points of accuracy.
  std::optional<std::int64_t> budget{};
  std::optional<double> most_drop{};

  /// The bits of `chosen` by name, for set_weight_bits().
  std::vector<LayerBits> chosen_bits() const;

  bool operator==(const BitSearch&) const = default;
};

/// Finds the bits of every layer with a kernel so that the network takes at most `budget` bytes of
/// flash, weights, biases and multipliers, and loses least. `model` is a trained float model, and
/// stays as it is; `data` is what it was trained on, not what it will be judged by.
///
/// 1. Sensitivity: S[i][b] = loss with layer i alone at b bits - loss with all at the widest width,
///    both of the quantized network (quantize_post_training(), lower()) run by the integer engine
///    on the samples.
/// 2. The knapsack: the bits with the least sum of S within the budget, exactly; of equal sums
///    those of fewer bytes, then those with fewer bits in later layers.
/// 3. The five best are quantized and run for real; of these the one of least loss is chosen, of
///    equal losses the one that was predicted to be better.
/// 4. Bytes that are left widen its layers, those of the fewest bits first, where loss does not
///    rise by more than 1 / sqrt(samples) of itself, in the layer alone and when it is run for
///    real: so few samples do not tell 5 bits from 6, which training makes use of.
///
/// The budget counts what shipped_bytes() counts, as C source with packed weights holds it. A
/// .tflite file, whose containers have 8, 4 or 2 bits, takes more.
///
/// Every number is the same on any number of threads and ranks. Layers that ask for their bits
/// (set_quantization()) or have a QuantizeConfig keep them; layers in_float() stay so. Softmax at
/// the end is left out for the loss, and is there for the accuracy.
///
/// Throws InvalidArgument for a budget below the smallest possible, naming that size; where no
/// layer is left to choose for; for options that make no sense, activations of 16 bits among them,
/// an empty data set, and as
/// quantize_model(), lower() and the loss do; NumericError where a loss is not finite.
BitSearch search_bits(const Model& model, const Dataset& data, std::int64_t budget,
                      const BitSearchOptions& options = {});

/// Finds the fewest bytes whose accuracy on the samples is at most `points` percentage points below
/// that of the float model, before any training with quantization in the loop. That is a search
/// over the curve: bisection for the first of its assignments that holds when it is run, then the
/// five best of its bytes, of which the smallest that holds is chosen, of equal sizes the one of
/// least loss. (Bisection takes it that accuracy rises with bytes; what it finds holds anyway.)
/// Throws InvalidArgument as search_bits() does, for points that are no number from 0 to 100, for
/// targets that are no labels, for several outputs, and where even the widest width loses more,
/// naming how much.
BitSearch search_bits_for_drop(const Model& model, const Dataset& data, double points,
                               const BitSearchOptions& options = {});

/// Whether search_bits() chooses the bits of a layer: one with a kernel that does not say them. (A
/// BatchNorm that becomes a layer of its own has a kernel too.)
bool is_searched(const Layer& layer);

/// The smallest budget that search_bits() takes for a built model, trained or not. Throws as
/// search_bits() does.
std::int64_t least_flash(const Model& model, const BitSearchOptions& options = {});

/// The curve and what was measured as CSV, by bytes: bytes, predicted_loss, predicted_accuracy,
/// measured_loss, measured_accuracy, on_curve and chosen (1 or 0), and the bits of every layer
/// under its name. Empty where there is no number.
std::string bit_curve_csv(const BitSearch& search);

/// The curve and what was measured as a picture, a self-contained SVG: accuracy (where targets are
/// no labels, loss) over bytes. `title` stands above it.
std::string bit_curve_svg(const BitSearch& search, const std::string& title = "");

}  // namespace octet
