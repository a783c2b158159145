#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/shared_range.h>

#include <limits>
#include <vector>

namespace octet {

namespace {

/// The smallest and the largest value of x, or NaN twice where one is not finite.
Tensor limits_tensor(const Tensor& x) {
  const MinMax limits = detail::TensorAccess::limits(x);
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  return limits.finite ? Tensor::from({2}, {limits.min, limits.max}) : Tensor::full({2}, kNaN);
}

}  // namespace

void SharedRange::watch(Quantizer& quantizer, const Tensor& x, std::size_t position,
                        const ForwardContext& context) {
  if (!context.observes() || x.size() == 0) return;
  if (quantizer.scale_rule() != nullptr && context.training()) {
    if (!quantizer.has_range()) {
      throw InvalidArgument(fmt::format(
          "{}: expected a learned scale that several steps share to have a start before it is "
          "trained, found none; call calibrate() first",
          quantizer.prefix()));
    }
    quantizer.repair_scale(x);
    return;
  }
  if (quantizer.frozen()) return;
  if (position == 0) {  // A pass that failed may have left something.
    seen_.clear();
    start_.reset();
    if (!quantizer.has_range()) start_.emplace(quantizer.observer());
  }
  seen_.push_back(quantizer.observer().reads_only_limits() ? limits_tensor(x)
                                                           : x.detach().reshape({x.size()}));
  if (start_) {
    start_->restore();
    quantizer.watch(concatenate(seen_, 0), context);
  }
  if (seen_.size() < count_) return;
  if (!start_) quantizer.watch(concatenate(seen_, 0), context);
  seen_.clear();
  start_.reset();
}

void watch_result(const StepScheme& scheme, const Tensor& real, const ForwardContext& context) {
  if (scheme.shared == nullptr) {
    scheme.result->watch(real, context);
  } else {
    scheme.shared->watch(*scheme.result, real, scheme.shared_position, context);
  }
}

}  // namespace octet
