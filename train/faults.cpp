#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/train/faults.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.span(), [](float v) { return std::isfinite(v); });
}

}  // namespace

std::string parameter_at_fault(const Model& model) {
  for (const auto& [name, tensor] : model.parameters()) {
    if (!all_finite(tensor)) return fmt::format("parameter \"{}\" holds NaN or infinity", name);
  }
  return "";
}

std::string first_layer_at_fault(Model& model, std::span<const Tensor> inputs) {
  const NoGrad guard;
  constexpr const char* kAdvice = ". Try a smaller learning rate";
  if (std::string fault = parameter_at_fault(model); !fault.empty()) return fault + kAdvice;
  std::string fault;
  const auto look = [&](std::size_t layer, const std::vector<Tensor>& steps) {
    if (fault.empty() && !all_finite(steps.back())) {
      fault = fmt::format("the output of layer \"{}\" holds NaN or infinity",
                          model.layers()[layer]->name());
    }
  };
  model.forward_all(inputs, {.logits = true}, look);
  if (!fault.empty()) return fault + kAdvice;
  return "every layer's output is finite; the loss itself is not";
}

std::string data_at_fault(const Batch& batch) {
  constexpr const char* kAdvice = "; look at the data set and its augmentation";
  if (!std::ranges::all_of(batch.inputs(), all_finite)) {
    return std::string("the batch itself holds NaN or infinity") + kAdvice;
  }
  const auto is_finite = [](const Targets& targets) {
    return targets.are_labels() || all_finite(targets.values());
  };
  if (!std::ranges::all_of(batch.all_targets(), is_finite)) {
    return std::string("the targets of the batch hold NaN or infinity") + kAdvice;
  }
  return "";
}

std::string data_at_fault(const std::vector<Batch>& shards) {
  for (const Batch& shard : shards) {
    if (!shard.features.defined()) continue;
    if (std::string fault = data_at_fault(shard); !fault.empty()) return fault;
  }
  return "";
}

}  // namespace octet
