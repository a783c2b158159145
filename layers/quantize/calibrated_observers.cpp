#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/axis.h>
#include <octet/core/quant/histogram.h>
#include <octet/core/quant/range_search.h>
#include <octet/layers/quantize/calibrated_observers.h>

#include <algorithm>

namespace octet {
namespace {

/// The values of each channel, one channel behind the other.
std::vector<float> by_channel(const Tensor& x, const AxisSplit& split) {
  const std::span<const float> values = x.span();
  std::vector<float> result(values.size());
  float* to = result.data();
  for (std::size_t c = 0; c < split.channels; ++c) {
    for (std::size_t o = 0; o < split.outer; ++o) {
      const auto run = values.subspan((o * split.channels + c) * split.inner, split.inner);
      to = std::ranges::copy(run, to).out;
    }
  }
  return result;
}

}  // namespace

ClipObserver::ClipObserver(const ClipObserver& other)
    : Observer(other), clip_(clone_leaf(other.clip_)) {}

void ClipObserver::do_build(const Shape& /*shape*/) {
  clip_ = Tensor::full(range().min.shape(), 1.0F);
  searched_ = {};
  found_ = {};
}

void ClipObserver::observe(const Tensor& x) {
  if (updates() == 0.0F) {
    calibrate(x);
    return;
  }
  searched_ = {};
  follow(limits_of(x));
}

void ClipObserver::calibrate(const Tensor& x) {
  const std::vector<Range> limits = limits_of(x);
  if (found_.empty() || !std::ranges::equal(x.span(), searched_)) search(x, limits);
  std::ranges::copy(found_, clip_.mutable_data());
  follow(limits);
  set_updates(1.0F);
}

/// Searches the clips of x.
void ClipObserver::search(const Tensor& x, const std::vector<Range>& limits) {
  std::vector<float> clips(limits.size());
  if (spec().axis < 0) {
    clips[0] = clip_of(x.span(), limits[0]);
  } else {
    const AxisSplit split =
        split_axis(x.shape().dims(), spec().axis, static_cast<std::size_t>(x.size()), owner());
    const std::vector<float> values = by_channel(x, split);
    const std::size_t size = split.outer * split.inner;
    parallel_for(clips.size(), parallel_grain(Work::map_floats, kClips * size),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t c = begin; c < end; ++c) {
                     clips[c] = clip_of(std::span(values).subspan(c * size, size), limits[c]);
                   }
                 });
  }
  const std::span<const float> values = x.span();
  searched_.assign(values.begin(), values.end());
  found_ = std::move(clips);
}

void ClipObserver::follow(const std::vector<Range>& limits) {
  const std::span<const float> clips = clip_.span();
  for (std::size_t c = 0; c < limits.size(); ++c) {
    const MinMax all{limits[c].min, limits[c].max};
    const MinMax part = clipped(all, clips[c] * magnitude(all));
    const Range range = widened({part.min, part.max});
    mins()[c] = range.min;
    maxs()[c] = range.max;
  }
}

HistogramObserver::HistogramObserver(const HistogramObserver& other)
    : Observer(other),
      histogram_(clone_leaf(other.histogram_)),
      extremes_(clone_leaf(other.extremes_)) {}

void HistogramObserver::do_build(const Shape& /*shape*/) {
  if (spec().axis >= 0) {
    throw InvalidArgument(
        fmt::format("{}: expected one range for the tensor from a histogram, found axis {}; take "
                    "MseQuantizer or PercentileQuantizer for a range per channel",
                    owner(), spec().axis));
  }
  const std::vector<float> empty = MagnitudeHistogram().packed();
  histogram_ = Tensor::from({static_cast<Index>(empty.size())}, empty);
  extremes_ = Tensor::full({2}, 0.0F);
}

void HistogramObserver::observe(const Tensor& x) {
  if (updates() == 0.0F) {
    calibrate(x);
  } else {
    static_cast<void>(limits_of(x));
  }
}

void HistogramObserver::calibrate(const Tensor& x) {
  const Range found = limits_of(x).front();
  MagnitudeHistogram counted = histogram();
  counted.add(x.span());
  const std::span<const float> extremes = extremes_.span();
  take(counted, {std::min(extremes[0], found.min), std::max(extremes[1], found.max)});
  set_updates(updates() + 1.0F);
}

void HistogramObserver::merge_calibrated(const Observer& before,
                                         std::span<const std::unique_ptr<Observer>> parts) {
  // Copies of this observer: their counters are as its own.
  const auto histogram_of = [&](const std::vector<NamedTensor>& counters) {
    return MagnitudeHistogram::unpacked(counters.at(0).tensor.span(), owner());
  };
  const MagnitudeHistogram counted_before = histogram_of(before.counters());
  MagnitudeHistogram counted = counted_before;
  MinMax limits;
  for (const auto& part : parts) {
    const std::vector<NamedTensor> counters = part->counters();
    counted.add_new(histogram_of(counters), counted_before);
    const std::span<const float> extremes = counters.at(1).tensor.span();
    limits = {std::min(limits.min, extremes[0]), std::max(limits.max, extremes[1])};
  }
  take(counted, limits);
}

MagnitudeHistogram HistogramObserver::histogram() const {
  return MagnitudeHistogram::unpacked(histogram_.span(), owner());
}

void HistogramObserver::take(const MagnitudeHistogram& histogram, const MinMax& limits) {
  const MinMax part = clipped(limits, threshold(histogram, limits));
  const Range range = widened({part.min, part.max});
  mins()[0] = range.min;
  maxs()[0] = range.max;
  extremes_.mutable_span()[0] = limits.min;
  extremes_.mutable_span()[1] = limits.max;
  std::ranges::copy(histogram.packed(), histogram_.mutable_span().begin());
}

float MseObserver::clip_of(std::span<const float> values, const Range& /*limits*/) const {
  return mse_clip(values, spec(), owner());
}

PercentileObserver::PercentileObserver(double percentile) : percentile_(percentile) {
  require_percentile(percentile, "PercentileQuantizer");
}

float PercentileObserver::clip_of(std::span<const float> values, const Range& limits) const {
  const float kth = percentile_magnitude(values, percentile_, owner());
  const float largest = magnitude({limits.min, limits.max});
  // All but outliers are 0: no range would be left of them.
  return kth > 0.0F ? kth / largest : 1.0F;
}

void PercentileObserver::describe(Description& description) const {
  description.set("percentile", percentile_);
}

float HistogramMseObserver::threshold(const MagnitudeHistogram& histogram,
                                      const MinMax& limits) const {
  return mse_clip(histogram, limits, spec(), owner()) * magnitude(limits);
}

HistogramPercentileObserver::HistogramPercentileObserver(double percentile)
    : percentile_(percentile) {
  require_percentile(percentile, "HistogramPercentileQuantizer");
}

float HistogramPercentileObserver::threshold(const MagnitudeHistogram& histogram,
                                             const MinMax& limits) const {
  return percentile_magnitude(histogram, limits, percentile_, owner());
}

void HistogramPercentileObserver::describe(Description& description) const {
  description.set("percentile", percentile_);
}

void HistogramEntropyObserver::require_spec(const QuantSpec& spec) const {
  require_entropy_bits(spec, "HistogramEntropyQuantizer");
}

float HistogramEntropyObserver::threshold(const MagnitudeHistogram& histogram,
                                          const MinMax& limits) const {
  return entropy_magnitude(histogram, limits, spec(), owner());
}

}  // namespace octet
