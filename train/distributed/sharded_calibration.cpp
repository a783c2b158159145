#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/distributed/sharded_calibration.h>
#include <octet/train/model_inputs.h>

#include <memory>
#include <span>

namespace octet::detail {

ShardedCalibration::ShardedCalibration(Model& model, ProcessGroup& group)
    : model_(&model), group_(&group), state_(model) {
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) {
      if (quantizer->built()) quantizers_.push_back(quantizer);
    }
  }
}

void ShardedCalibration::add(const std::vector<Batch>& own) {
  using Observers = std::vector<std::unique_ptr<Observer>>;
  const std::vector<float> before = state_.values();
  const std::vector<float> after = states_of_shards(own, before);
  // By quantizer, what each shard left of its observer.
  std::vector<Observers> shards(quantizers_.size());
  const auto observed = [&](std::span<const float> values, std::vector<Observers>& into) {
    state_.restore(values);
    for (std::size_t i = 0; i < quantizers_.size(); ++i) {
      into[i].push_back(clone_of(quantizers_[i]->observer(), quantizers_[i]->type()));
    }
  };
  std::vector<Observers> start(quantizers_.size());
  observed(before, start);
  for (auto rest = std::span(after); !rest.empty(); rest = rest.subspan(state_.size())) {
    observed(rest.first(state_.size()), shards);
  }
  state_.restore(std::span(after).first(state_.size()));
  for (std::size_t i = 0; i < quantizers_.size(); ++i) {
    quantizers_[i]->merge_calibrated(*start[i].front(), shards[i]);
  }
  // After all of them: ranges may be tied.
  for (Quantizer* quantizer : quantizers_) quantizer->settle_range();
}

/// Returns the observers' states of all shards that have examples, end to end.
std::vector<float> ShardedCalibration::states_of_shards(const std::vector<Batch>& own,
                                                        const std::vector<float>& before) {
  std::vector<float> states;
  for (const Batch& shard : own) {
    if (!shard.features.defined()) continue;
    state_.restore(before);
    show_samples(*model_, fit_to_inputs(*model_, shard));
    const std::vector<float> values = state_.values();
    states.insert(states.end(), values.begin(), values.end());
  }
  return gather_values(*group_, states);
}

}  // namespace octet::detail
