#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/layers/quantize/oscillation.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace octet {
namespace {

/// The scales of a kernel's elements, by their index.
class ElementScales {
 public:
  ElementScales(const Tensor& kernel, const QuantParams& grid)
      : scales_(grid.scales), units_(static_cast<std::size_t>(kernel.dim(-1))) {}
  float at(std::size_t i) const { return scales_[scales_.size() > 1 ? i % units_ : 0]; }

 private:
  const std::vector<float>& scales_;
  std::size_t units_;
};

/// Moves a moving average.
void move(float& average, float value) {
  average += WeightOscillation::kMomentum * (value - average);
}

double share_of(const Tensor& tensor, float threshold) {
  if (!tensor.defined() || tensor.size() == 0) return 0.0;
  const auto above =
      std::ranges::count_if(tensor.span(), [threshold](float v) { return v > threshold; });
  return static_cast<double>(above) / static_cast<double>(tensor.size());
}

}  // namespace

WeightOscillation::WeightOscillation(float freeze_above) : freeze_above_(freeze_above) {
  if (!(freeze_above >= 0.0F && freeze_above < 1.0F)) {
    throw InvalidArgument(fmt::format(
        "WeightOscillation: expected a frequency below 1 to freeze weights above, or 0 for none, "
        "found {}",
        freeze_above));
  }
}

WeightOscillation::WeightOscillation(const WeightOscillation& other)
    : freeze_above_(other.freeze_above_),
      passes_(clone_leaf(other.passes_)),
      code_(clone_leaf(other.code_)),
      direction_(clone_leaf(other.direction_)),
      frequency_(clone_leaf(other.frequency_)),
      mean_(clone_leaf(other.mean_)),
      frozen_(clone_leaf(other.frozen_)) {}

void WeightOscillation::build(const Shape& shape) {
  passes_ = Tensor::scalar(0.0F);
  for (Tensor* tensor : {&code_, &direction_, &frequency_}) *tensor = Tensor::zeros(shape);
  if (!freezes()) return;
  for (Tensor* tensor : {&mean_, &frozen_}) *tensor = Tensor::zeros(shape);
}

void WeightOscillation::count(Tensor kernel, const QuantParams& grid) {
  const ElementScales scales(kernel, grid);
  const bool is_first = passes_.item() == 0.0F;
  passes_.mutable_data()[0] += 1.0F;
  const float* weights = kernel.data();
  float* code = code_.mutable_data();
  float* direction = direction_.mutable_data();
  float* frequency = frequency_.mutable_data();
  float* mean = freezes() ? mean_.mutable_data() : nullptr;
  float* frozen = freezes() ? frozen_.mutable_data() : nullptr;
  const auto count_weight = [&](std::size_t i) {
    const float now = std::clamp(std::round(weights[i] / scales.at(i)),
                                 static_cast<float>(grid.qmin), static_cast<float>(grid.qmax));
    const float change = is_first ? 0.0F : now - code[i];
    const float sign = change > 0.0F ? 1.0F : change < 0.0F ? -1.0F : 0.0F;
    move(frequency[i], sign * direction[i] < 0.0F ? 1.0F : 0.0F);
    if (sign != 0.0F) direction[i] = sign;
    code[i] = now;
    if (mean == nullptr) return;
    if (is_first) mean[i] = now;
    move(mean[i], now);
    if (frequency[i] <= freeze_above_) return;
    frozen[i] = 1.0F;
    code[i] = std::rint(mean[i]);
  };
  const auto size = static_cast<std::size_t>(kernel.size());
  parallel_for(size, thread_share(size, parallel_grain(Work::map_floats)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   if (frozen == nullptr || frozen[i] == 0.0F) count_weight(i);
                 }
               });
  hold(std::move(kernel), grid);
}

bool WeightOscillation::is_held(const Tensor& kernel, const QuantParams& grid) const {
  if (!freezes()) return true;
  const ElementScales scales(kernel, grid);
  const std::span<const float> weights = kernel.span();
  const std::span<const float> frozen = frozen_.span();
  const std::span<const float> code = code_.span();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (frozen[i] != 0.0F && weights[i] != code[i] * scales.at(i)) return false;
  }
  return true;
}

void WeightOscillation::hold(Tensor kernel, const QuantParams& grid) const {
  if (is_held(kernel, grid)) return;
  const ElementScales scales(kernel, grid);
  const std::span<const float> frozen = frozen_.span();
  const std::span<const float> code = code_.span();
  const std::span<float> weights = kernel.mutable_span();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (frozen[i] != 0.0F) weights[i] = code[i] * scales.at(i);
  }
}

double WeightOscillation::share(float threshold) const { return share_of(frequency_, threshold); }

double WeightOscillation::frozen_share() const { return share_of(frozen_, 0.0F); }

std::vector<NamedTensor> WeightOscillation::counters() const {
  if (!passes_.defined()) return {};
  std::vector<NamedTensor> result = {{"oscillation_passes", passes_},
                                     {"oscillation_code", code_},
                                     {"oscillation_direction", direction_},
                                     {"oscillation_frequency", frequency_}};
  if (freezes()) {
    result.push_back({"oscillation_mean", mean_});
    result.push_back({"oscillation_frozen", frozen_});
  }
  return result;
}

}  // namespace octet
