#pragma once

#include <octet/layers/model.h>
#include <octet/train/data/data_loader.h>

#include <span>
#include <string>
#include <vector>

namespace octet {

/// The first parameter that is not finite, in words; empty where all are.
std::string parameter_at_fault(const Model& model);

/// The first layer of a forward pass whose output is not finite, in words.
std::string first_layer_at_fault(Model& model, std::span<const Tensor> inputs);

/// What of a batch is not finite, in words; empty where all is.
std::string data_at_fault(const Batch& batch);
/// What of the shards of a batch is not finite, in words; empty where all is. Some shards may be
/// empty.
std::string data_at_fault(const std::vector<Batch>& shards);

}  // namespace octet
