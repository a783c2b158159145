#pragma once

#include <octet/layers/model.h>
#include <octet/train/data/dataset.h>
#include <octet/train/output_losses.h>

#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace octet::application {

/// An output of a model as its parts call it.
struct OutputName {
  /// The layer of the float model that gives it: see OutputLoss::output.
  std::string layer;
  /// The tensor in the files that are written, after which arrays of examples are named.
  std::string tensor;
};

/// The outputs of a float model, in its order. Throws as lower_float().
std::vector<OutputName> output_names(const Model& float_model);

/// What every output of a network is trained with: --loss and --loss-weight by the names of tensors
/// in `outputs`, which are in the model's order; else the loss that goes with the output's end and
/// the kind of its targets, and weight 1. Throws command_line::UsageError for options that are not
/// NAME=VALUE, for names of no output and of no loss, and for weights of a single output, and as
/// require_output_for().
std::vector<OutputLoss> losses_of(const LossOptions& options, const Model& network,
                                  const std::vector<OutputName>& outputs, const Dataset& data);

/// The weights of --class-weights for the training examples; empty without the option. Throws
/// command_line::UsageError for another text, another number of them, and for data without one
/// class label for each example.
std::vector<float> class_weights_of(const Options& options, const Dataset& train);

/// Whether --augment mixup makes shares of class labels, for which categorical_cross_entropy()
/// trains.
bool mixes_labels(const Options& options, const Dataset& train);

/// Throws command_line::UsageError for --loss beside --class-weights or mixup of labels, which
/// choose the loss; for class weights where the network has not an output value for each class, and
/// for mixup of labels where it has a single one.
void require_one_loss(const Options& options, const Model& network, const Dataset& train);

/// Gives them to TrainerOptions or BitSearchOptions.
template <class Options>
void set_losses(Options& options, std::vector<OutputLoss> losses) {
  options.loss = losses.front().loss;
  if (losses.size() > 1) options.losses = std::move(losses);
}

}  // namespace octet::application
