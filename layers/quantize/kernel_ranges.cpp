#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>

namespace octet {
namespace {

/// Whether observing the tensors that it trains would leave a layer's quantizers as they are.
bool is_current(const Layer& layer) {
  const auto* wrapper = as_quantize_wrapper(layer);
  if (wrapper == nullptr) return true;
  return wrapper->holds_frozen_weights() &&
         std::ranges::all_of(wrapper->trained_tensors(), [](const auto& trained) {
           const auto& [quantizer, tensor] = trained;
           const std::unique_ptr<Quantizer> refreshed = quantizer->clone();
           refreshed->observe(tensor);
           return std::ranges::equal(refreshed->min().span(), quantizer->min().span()) &&
                  std::ranges::equal(refreshed->max().span(), quantizer->max().span()) &&
                  refreshed->has_range() == quantizer->has_range();
         });
}

}  // namespace

WithCurrentKernelRanges::WithCurrentKernelRanges(const Model& model) : original_(&model) {
  if (std::ranges::all_of(model.layers(), [](const auto& layer) { return is_current(*layer); })) {
    return;
  }
  refresh_kernel_ranges(copy_.emplace(model));
}

}  // namespace octet
