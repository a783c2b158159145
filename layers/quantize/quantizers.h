#pragma once

#include <octet/layers/quantize/calibrated_observers.h>
#include <octet/layers/quantize/learned_scale.h>
#include <octet/layers/quantize/observers.h>
#include <octet/layers/quantize/quantizer.h>

#include <memory>
#include <utility>

// The usual quantizers by name. Each is nothing but a constructor: what it makes is a Quantizer.

namespace octet {

/// A Quantizer of class O's observer, made with the arguments behind the spec:
///
///     MovingAverageQuantizer(QuantSpec{}, RangeStart::first_batch, /*decay=*/0.9)
template <class O>
class MeasuredQuantizer : public Quantizer {
 public:
  /// Throws as O's constructor and O::require_spec().
  template <class... Arguments>
  explicit MeasuredQuantizer(QuantSpec spec = {}, Arguments... arguments)
      : Quantizer(spec, std::make_unique<O>(arguments...)) {}
};

using LastValueQuantizer = MeasuredQuantizer<LastValueObserver>;
using MovingAverageQuantizer = MeasuredQuantizer<MovingAverageObserver>;
using AllValuesQuantizer = MeasuredQuantizer<AllValuesObserver>;
using MeanMagnitudeQuantizer = MeasuredQuantizer<MeanMagnitudeObserver>;
using MseQuantizer = MeasuredQuantizer<MseObserver>;
using PercentileQuantizer = MeasuredQuantizer<PercentileObserver>;
using HistogramMseQuantizer = MeasuredQuantizer<HistogramMseObserver>;
using HistogramPercentileQuantizer = MeasuredQuantizer<HistogramPercentileObserver>;
using HistogramEntropyQuantizer = MeasuredQuantizer<HistogramEntropyObserver>;

/// A Quantizer of a range that never changes. As in TFMOT, its fake quantization is that of
/// constant limits (fake_quant_with_min_max_args).
class FixedQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedQuantizer(float min, float max, QuantSpec spec = {})
      : Quantizer(spec, std::make_unique<FixedObserver>(min, max)) {}
};

/// A Quantizer whose scale is learned by a policy of LearnedScale.
template <const LearnedScale::Policy& policy>
class LearnedQuantizer : public Quantizer {
 public:
  /// Starts at the range of `start`, e.g. a MeanMagnitudeQuantizer for the start of LSQ's paper.
  /// Throws InvalidArgument for a null or a learned `start`, and for one that is symmetric or per
  /// channel where the policy is for results of layers alone.
  explicit LearnedQuantizer(std::unique_ptr<Quantizer> start)
      : Quantizer(std::move(start), std::make_unique<LearnedScale>(policy)) {}
};

using LsqQuantizer = LearnedQuantizer<LearnedScale::kLsq>;
using LsqPlusQuantizer = LearnedQuantizer<LearnedScale::kLsqPlus>;
using PactQuantizer = LearnedQuantizer<LearnedScale::kPact>;

}  // namespace octet
