#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>

namespace octet {
namespace {

/// Whether observing its kernel would leave a layer's quantizer as it is.
bool is_current(const Layer& layer) {
  const Quantizer* kernel = layer.kernel_quantizer();
  if (kernel == nullptr) return true;
  const auto* wrapper = as_quantize_wrapper(layer);
  if (wrapper != nullptr && !wrapper->holds_frozen_weights()) return false;
  const std::unique_ptr<Quantizer> refreshed = kernel->clone();
  refreshed->observe(layer.weights()->kernel);
  return std::ranges::equal(refreshed->min().span(), kernel->min().span()) &&
         std::ranges::equal(refreshed->max().span(), kernel->max().span()) &&
         refreshed->has_range() == kernel->has_range();
}

}  // namespace

WithCurrentKernelRanges::WithCurrentKernelRanges(const Model& model) : original_(&model) {
  if (std::ranges::all_of(model.layers(), [](const auto& layer) { return is_current(*layer); })) {
    return;
  }
  refresh_kernel_ranges(copy_.emplace(model));
}

}  // namespace octet
