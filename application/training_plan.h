#pragma once

#include <octet/train/history.h>
#include <octet/train/reduce_on_plateau.h>
#include <octet/train/trainer.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "options.h"
#include "training.h"

// How the options say that a network is trained.

namespace octet::application {

/// Changes examples as --augment and --shift say; empty where they stay as they are, so that
/// batches are not copied. Of a set that keeps its signals it changes those. Mixed labels have a
/// share for each output value of the network.
Augment changed_examples(const Options& options, const Model& network, const Dataset& train);

/// The rates of the epochs in float, and of those with quantization in the loop.
Schedule float_schedule(const Options& options, const Dataset& data);
Schedule qat_schedule(const Options& options, const Dataset& data);

/// Lowers the rate of the epochs in float, which it says on the screen; null without --plateau.
std::shared_ptr<ReduceOnPlateau> plateau_of(const Options& options, std::FILE* screen);

/// Adds the callbacks that say which weights the epochs in float end with.
void add_ends(const Options& options, Trainer& trainer);

/// Says how many epochs were trained and whose weights are kept; nothing without --patience.
std::string early_end_text(const Options& options, const History& history);

/// The batches that ranges are measured on.
std::size_t calibration_batches(const Options& options);

/// The files that a run may write, and those that it reads.
std::vector<std::string> outputs_of(const Application& application);
std::vector<std::filesystem::path> inputs_of(const Options& options);

/// The phases of a run, one behind the other.
std::vector<std::string> phases_of(const Options& options);

/// How gradients are computed that are not float32, and which layers compute theirs in floats: a
/// line.
std::string backward_text(const Model& quantized, Backward backward);

/// Adam, with --weight-decay AdamW; or SGD with momentum.
std::unique_ptr<Optimizer> optimizer_of(const Options& options, Schedule schedule);

}  // namespace octet::application
