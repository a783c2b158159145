#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/train/distributed/training_state.h>

#include <algorithm>
#include <set>
#include <utility>

namespace octet::detail {
namespace {

const float* address(const Tensor& tensor) { return tensor.data(); }

std::size_t count(const Tensor& tensor) { return static_cast<std::size_t>(tensor.size()); }

}  // namespace

TrainingState::TrainingState(const Model& model) {
  std::set<const float*> of_quantizers;
  std::vector<NamedTensor> all = model.state();
  append(all, model.counters());
  for (const auto& layer : model.layers()) {
    for (Quantizer* quantizer : layer->quantizers()) {
      if (!quantizer->built()) continue;
      quantizers_.push_back(quantizer);
      append(all, quantizer->parameters());
      for (const NamedTensor& each : quantizer->state()) {
        of_quantizers.insert(address(each.tensor));
      }
      least_ += 2 * count(quantizer->min());
    }
  }
  for (const auto& layer : model.layers()) {
    const auto* wrapper = as_quantize_wrapper(*layer);
    if (wrapper == nullptr || wrapper->oscillation() == nullptr) continue;
    // A forward pass puts weights that it freezes on their codes.
    if (wrapper->oscillation()->freezes()) all.push_back({"", wrapper->weights()->kernel});
  }
  for (const NamedTensor& each : model.state()) {
    if (of_quantizers.contains(address(each.tensor))) continue;
    averaged_.push_back(each.tensor);
    sums_ += count(each.tensor);
  }
  for (NamedTensor& each : all) {
    size_ += count(each.tensor);
    all_.push_back(std::move(each.tensor));
  }
}

std::vector<float> TrainingState::values() const {
  std::vector<float> result;
  result.reserve(size_);
  for (const Tensor& tensor : all_) {
    const std::span<const float> values = tensor.span();
    result.insert(result.end(), values.begin(), values.end());
  }
  return result;
}

void TrainingState::restore(std::span<const float> values) {
  for (Tensor& tensor : all_) {
    const auto from = values.first(count(tensor));
    values = values.subspan(from.size());
    // A write drops what is known of a tensor's codes.
    if (std::ranges::equal(from, tensor.span())) continue;
    std::ranges::copy(from, tensor.mutable_data());
  }
}

std::vector<double> TrainingState::weighted(std::size_t rows) const {
  std::vector<double> result;
  result.reserve(sums_);
  for (const Tensor& tensor : averaged_) {
    for (const float value : tensor.span()) {
      result.push_back(static_cast<double>(rows) * double{value});
    }
  }
  return result;
}

std::vector<double> TrainingState::bounds() const {
  std::vector<double> result;
  result.reserve(least_);
  for (const Quantizer* quantizer : quantizers_) {
    for (const float value : quantizer->min().span()) result.push_back(double{value});
    for (const float value : quantizer->max().span()) result.push_back(-double{value});
  }
  return result;
}

void TrainingState::merge(std::span<const double> sums, std::span<const double> least,
                          std::size_t rows) {
  for (Tensor& tensor : averaged_) {
    for (float& value : tensor.mutable_span()) {
      value = static_cast<float>(sums.front() / static_cast<double>(rows));
      sums = sums.subspan(1);
    }
  }
  const auto take = [&](Tensor bound, double sign) {
    for (float& value : bound.mutable_span()) {
      value = static_cast<float>(sign * least.front());
      least = least.subspan(1);
    }
  };
  for (const Quantizer* quantizer : quantizers_) {
    take(quantizer->min(), 1.0);
    take(quantizer->max(), -1.0);
  }
  // After all of them: ranges may be tied.
  for (Quantizer* quantizer : quantizers_) quantizer->settle_range();
}

}  // namespace octet::detail
