#pragma once

#include <octet/layers/quantize/observers.h>
#include <octet/layers/quantize/quantizer.h>

namespace octet {

/// The range of the last batch: what weights use.
class LastValueQuantizer : public Quantizer {
 public:
  explicit LastValueQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
  std::string_view type() const override { return "LastValue"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// An exponential average of the batches' ranges: what activations use. With r the batch's bound
/// and d the decay, bound += (r - bound) * w.
/// RangeStart::tfmot: w = 1 - d from the first step on.
/// RangeStart::first_batch: w = (1 - d) / (1 - d^t) at step t = 1, 2, ...: the bias-corrected
/// average of Adam (Kingma and Ba, ICLR 2015), which starts at the first batch's own range.
class MovingAverageQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless 0 <= decay < 1.
  explicit MovingAverageQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch,
                                  double decay = 0.99);
  std::string_view type() const override { return "MovingAverage"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// The range of everything seen so far: what a model's input uses.
class AllValuesQuantizer : public Quantizer {
 public:
  explicit AllValuesQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
  std::string_view type() const override { return "AllValues"; }
  std::unique_ptr<Quantizer> clone() const override;
};

/// A range that never changes. As in TFMOT, its fake quantization is that of constant limits
/// (fake_quant_with_min_max_args).
class FixedQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedQuantizer(float min, float max, QuantSpec spec = {});
  std::string_view type() const override { return "Fixed"; }
  Tensor fake_quant(const Tensor& x) const override;
  std::unique_ptr<Quantizer> clone() const override;
};

}  // namespace octet
