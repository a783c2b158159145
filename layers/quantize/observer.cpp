#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/quant/axis.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/observer.h>

#include <algorithm>
#include <utility>

namespace octet {
namespace {

/// Finds the limits of channels whose values lie together in runs of `inner`. Returns whether all
/// values are finite.
bool min_max_runs(std::span<const float> values, std::size_t inner, std::span<float> mins,
                  std::span<float> maxs) {
  const std::size_t channels = mins.size();
  bool finite = true;
  for (std::size_t run = 0; run * inner < values.size(); ++run) {
    MinMax limits = min_max(values.subspan(run * inner, inner));
    const std::size_t c = run % channels;
    if (run >= channels) limits.include({mins[c], maxs[c], true});
    mins[c] = limits.min;
    maxs[c] = limits.max;
    finite = finite && limits.finite;
  }
  return finite;
}

}  // namespace

Observer::Observer(float initial_min, float initial_max, bool usable_from_start)
    : initial_min_(initial_min),
      initial_max_(initial_max),
      range_(std::make_shared<ObservedRange>()) {
  range_->usable_from_start = usable_from_start;
}

Observer::Observer(const Observer& other)
    : spec_(other.spec_),
      owner_(other.owner_),
      initial_min_(other.initial_min_),
      initial_max_(other.initial_max_),
      range_(std::make_shared<ObservedRange>(
          ObservedRange{clone_leaf(other.range_->min), clone_leaf(other.range_->max),
                        clone_leaf(other.range_->updates), other.range_->usable_from_start})) {}

void Observer::build(const QuantSpec& spec, std::string owner, const Shape& shape) {
  if (spec.axis >= shape.rank()) {
    throw InvalidArgument(
        fmt::format("{}: expected a range per index of an axis of {}, found axis {}", owner,
                    shape.to_string(), spec.axis));
  }
  spec_ = spec;
  owner_ = std::move(owner);
  const Shape range_shape = spec.axis < 0 ? Shape{} : Shape{shape.dim(spec.axis)};
  range_->min = Tensor::full(range_shape, initial_min_);
  range_->max = Tensor::full(range_shape, initial_max_);
  range_->updates = Tensor::scalar(0.0F);
  do_build(shape);
}

std::vector<Observer::Range> Observer::limits_of(const Tensor& x) const {
  const auto channels = static_cast<std::size_t>(range_->min.size());
  std::vector<Range> limits(channels);
  bool finite = true;
  if (spec_.axis < 0) {
    const MinMax range = detail::TensorAccess::limits(x);
    limits[0] = {range.min, range.max};
    finite = range.finite;
  } else {
    if (spec_.axis >= x.shape().rank() || x.shape().dim(spec_.axis) != range_->min.size()) {
      throw InvalidArgument(fmt::format("{}: expected {} channels on axis {}, found {}", owner_,
                                        channels, spec_.axis, x.shape().to_string()));
    }
    std::vector<float> memory(2 * channels);
    const auto mins = std::span(memory).first(channels);
    const auto maxs = std::span(memory).last(channels);
    const std::size_t inner =
        split_axis(x.shape().dims(), spec_.axis, x.span().size(), owner_).inner;
    finite = inner == 1 ? min_max_columns(x.span(), mins, maxs)
                        : min_max_runs(x.span(), inner, mins, maxs);
    for (std::size_t c = 0; c < channels; ++c) limits[c] = {mins[c], maxs[c]};
  }
  require_finite(finite);
  return limits;
}

void Observer::merge_calibrated(const Observer& /*before*/,
                                std::span<const std::unique_ptr<Observer>> parts) {
  for (const auto& part : parts) {
    std::ranges::transform(mins(), part->range_->min.span(), mins().begin(),
                           [](float a, float b) { return std::min(a, b); });
    std::ranges::transform(maxs(), part->range_->max.span(), maxs().begin(),
                           [](float a, float b) { return std::max(a, b); });
  }
}

void Observer::require_finite(bool finite) const {
  if (finite) return;
  throw NumericError(
      fmt::format("{}: expected finite values, found NaN or infinity; are they in the data? If "
                  "not, training has diverged: try a smaller learning rate",
                  owner_));
}

void Observer::require_finite(const Tensor& x) const {
  require_finite(detail::TensorAccess::limits(x).finite);
}

Observer::Range Observer::widened(const Range& range) const {
  const auto [min, max] = range;
  if (!spec_.symmetric) return {std::min(min, 0.0F), std::max(max, 0.0F)};
  // TFMOT: without the lowest code the range is [-m, m]; with it, one code longer below.
  const auto codes = static_cast<float>(1 << spec_.num_bits);
  const float ratio = spec_.narrow_range ? -1.0F : -(codes - 2.0F) / codes;
  return {std::min(min, max / ratio), std::max(max, min * ratio)};
}

}  // namespace octet
