#pragma once

#include <octet/layers/model.h>
#include <octet/train/data/dataset.h>

#include <vector>

namespace octet {

/// Features [n, ...] as the model takes them: reshaped where only the shape of an example differs,
/// e.g. images [28, 28] for an Input({784}). Throws InvalidArgument where the sizes differ.
Tensor fit_to_input(const Model& model, const Tensor& features);

/// The features of a batch for each input of the model, reshaped as fit_to_input() does. Throws
/// InvalidArgument also for features of another number of inputs.
std::vector<Tensor> fit_to_inputs(const Model& model, const Batch& batch);

}  // namespace octet
