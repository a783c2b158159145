#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/parallel.h>
#include <octet/train/reduce_on_plateau.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <string>
#include <utility>

namespace octet {
namespace {

/// The name of the state of a WeightAverage that is no average.
constexpr const char* kDecay = "decay";

}  // namespace

ReduceOnPlateau::ReduceOnPlateau(int patience, PlateauOptions options)
    : patience_(patience), options_(std::move(options)) {
  if (patience < 1 || !(options_.factor > 0.0F && options_.factor < 1.0F) ||
      !(options_.min_rate >= 0.0F)) {
    throw InvalidArgument(
        fmt::format("ReduceOnPlateau: expected a patience of at least 1, a factor in (0, 1) and a "
                    "min_rate of 0 or more, found {}, {} and {}",
                    patience, options_.factor, options_.min_rate));
  }
}

Schedule ReduceOnPlateau::over(Schedule base) const {
  if (!base) throw InvalidArgument("ReduceOnPlateau: expected a schedule, found an empty function");
  return [base = std::move(base), factor = factor_, least = options_.min_rate](std::uint64_t step) {
    const float rate = base(step);
    return std::max(rate * *factor, std::min(rate, least));
  };
}

bool ReduceOnPlateau::take(const EpochRecord& record) {
  best_.take(record, options_.score, options_.min_delta);
  if (best_.waited < patience_) return false;
  best_.waited = 0;
  if (record.learning_rate <= options_.min_rate) return false;
  *factor_ *= options_.factor;
  return true;
}

void ReduceOnPlateau::on_fit_begin(Trainer& /*trainer*/, const History& history) {
  best_ = {};
  *factor_ = 1.0F;
  for (const EpochRecord& record : history) take(record);
}

void ReduceOnPlateau::on_epoch_end(Trainer& trainer, const EpochRecord& record) {
  if (!take(record) || !trainer.is_root()) return;
  const std::string line = fmt::format(
      "plateau after epoch {}: the learning rate falls from {:.3g} to {:.3g}", record.epoch,
      record.learning_rate, std::max(record.learning_rate * options_.factor, options_.min_rate));
  options_.tell ? options_.tell(line) : log_info(line);
}

WeightAverage::WeightAverage(float decay) : decay_(decay) {
  if (decay >= 0.0F && decay < 1.0F) return;
  throw InvalidArgument(fmt::format("WeightAverage: expected a decay in [0, 1), found {}", decay));
}

void WeightAverage::on_fit_begin(Trainer& trainer, const History& /*history*/) {
  // A checkpoint gives them in another order.
  const std::vector<NamedTensor> known = std::exchange(averages_, {});
  for (const auto& [name, tensor] : trainer.model().parameters()) {
    const auto own = std::ranges::find(known, name, &NamedTensor::name);
    if (own != known.end() && own->tensor.shape() != tensor.shape()) {
      throw FormatError(fmt::format(
          "WeightAverage: expected an average of shape {} for \"{}\", found {}; the checkpoint is "
          "damaged, or that of another model",
          tensor.shape().to_string(), name, own->tensor.shape().to_string()));
    }
    averages_.push_back({name, own == known.end() ? tensor.detach().clone() : own->tensor});
  }
}

void WeightAverage::on_step_end(Trainer& trainer, const Progress& /*progress*/) {
  const std::vector<NamedTensor> parameters = trainer.model().parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::span<float> average = averages_[p].tensor.mutable_span();
    const std::span<const float> now = parameters[p].tensor.span();
    parallel_for(average.size(), parallel_grain(Work::write_floats, 1),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     average[i] = decay_ * average[i] + (1.0F - decay_) * now[i];
                   }
                 });
  }
}

void WeightAverage::on_fit_end(Trainer& trainer) {
  for (const auto& [name, tensor] : trainer.model().parameters()) {
    const auto own = std::ranges::find(averages_, name, &NamedTensor::name);
    if (own == averages_.end()) continue;
    std::ranges::copy(own->tensor.span(), Tensor(tensor).mutable_span().begin());
  }
}

std::vector<NamedTensor> WeightAverage::state() const {
  // Never empty, which decides whether a checkpoint has a state for it.
  std::vector<NamedTensor> state = {{kDecay, Tensor::scalar(decay_)}};
  state.insert(state.end(), averages_.begin(), averages_.end());
  return state;
}

void WeightAverage::set_state(const std::vector<NamedTensor>& state) {
  averages_.clear();
  for (const NamedTensor& one : state) {
    if (one.name != kDecay) averages_.push_back({one.name, one.tensor.detach().clone()});
  }
}

}  // namespace octet
