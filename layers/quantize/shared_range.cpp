#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/ops.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/quantizer.h>
#include <octet/layers/quantize/shared_range.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace octet {

namespace {

/// The smallest and the largest value of x, or NaN twice where one is not finite.
std::array<float, 2> finite_limits(const Tensor& x) {
  const MinMax limits = detail::TensorAccess::limits(x);
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  return limits.finite ? std::array{limits.min, limits.max} : std::array{kNaN, kNaN};
}

}  // namespace

Tensor SharedRange::seen() const {
  return values_.empty() ? Tensor::from({std::ssize(limits_)}, limits_) : concatenate(values_, 0);
}

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
    forget();
    if (!quantizer.has_range()) start_.emplace(quantizer.observer());
  }
  if (quantizer.observer().reads_only_limits()) {
    std::ranges::copy(finite_limits(x), std::back_inserter(limits_));
  } else {
    values_.push_back(x.detach().reshape({x.size()}));
  }
  ++shown_;
  if (start_) {
    start_->restore();
    quantizer.watch(seen(), context);
  }
  if (shown_ < count_) return;
  if (!start_) quantizer.watch(seen(), context);
  forget();
}

void SharedRange::forget() {
  shown_ = 0;
  values_.clear();
  limits_.clear();
  start_.reset();
}

namespace {

/// x without values further than `reach` below the largest of their row, which are raised to that.
Tensor near_the_largest(const Tensor& x, float reach) {
  const auto row = static_cast<std::size_t>(x.shape().dim(-1));
  std::vector<float> values(x.span().begin(), x.span().end());
  for (std::size_t begin = 0; begin < values.size(); begin += row) {
    const std::span<float> one = std::span(values).subspan(begin, row);
    const float least = *std::ranges::max_element(one) - reach;
    for (float& v : one) v = v < least ? least : v;  // NaN stays.
  }
  return Tensor::from(x.shape(), values);
}

/// A range of up to this width is widened to both sides, so that its zero point is not the lowest
/// quantized value; a wider one of values that are not below 0 begins there.
constexpr float kNarrowest = 1e-6F;

Tensor shown_values(const Step& step, const Tensor& real) {
  if (real.size() == 0) return real;
  if (step.reach) return near_the_largest(real, *step.reach);
  if (!step.scheme->is_radicand) return real;
  const auto [least, most] = finite_limits(real);
  if (!(least >= 0.0F && most - least <= kNarrowest)) return real;
  return Tensor::from({2}, {0.0F, std::max(most, 2.0F * kNarrowest)});
}

}  // namespace

void watch_result(const Step& step, const Tensor& real, const ForwardContext& context) {
  if (!context.observes()) return;
  const StepScheme& scheme = *step.scheme;
  const Tensor shown = shown_values(step, real);
  if (scheme.shared == nullptr) {
    scheme.result->watch(shown, context);
  } else {
    scheme.shared->watch(*scheme.result, shown, scheme.shared_position, context);
  }
}

}  // namespace octet
