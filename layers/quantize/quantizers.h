#pragma once

#include <octet/layers/quantize/quantizer.h>

namespace octet {

/// Where a range starts before anything was observed.
enum class RangeStart {
  first_batch,  ///< Octet: at the first batch's own range
  tfmot         ///< TFMOT: at -6 and 6 (AllValues: 0 and 0), whatever the data
};

/// The range of the last batch: what weights use.
class LastValueQuantizer : public Quantizer {
 public:
  explicit LastValueQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  float update(std::span<const float> batch_min, std::span<const float> batch_max) override;
};

/// An exponential average of the batches' ranges: what activations use. With r the batch's bound
/// and d the decay, bound += (r - bound) * w.
/// RangeStart::tfmot: w = 1 - d from the first step on.
/// RangeStart::first_batch: w = (1 - d) / (1 - d^t) at step t = 1, 2, ...: the bias-corrected
/// average of Adam (Kingma and Ba, ICLR 2015), which starts at the first batch's own range.
class MovingAverageQuantizer : public Quantizer {
 public:
  explicit MovingAverageQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch,
                                  double decay = 0.99);
  double decay() const { return decay_; }
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  float update(std::span<const float> batch_min, std::span<const float> batch_max) override;

 private:
  RangeStart start_;
  double decay_;
};

/// The range of everything seen so far: what a model's input uses.
class AllValuesQuantizer : public Quantizer {
 public:
  explicit AllValuesQuantizer(QuantSpec spec, RangeStart start = RangeStart::first_batch);
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  float update(std::span<const float> batch_min, std::span<const float> batch_max) override;
};

/// A range that never changes. As in TFMOT, its fake quantization is that of constant limits
/// (fake_quant_with_min_max_args).
class FixedQuantizer : public Quantizer {
 public:
  /// Throws InvalidArgument unless min < max.
  FixedQuantizer(float min, float max, QuantSpec spec = {});
  Tensor fake_quant(const Tensor& x) const override;
  std::unique_ptr<Quantizer> clone() const override;

 protected:
  float update(std::span<const float>, std::span<const float>) override { return updates(); }
};

}  // namespace octet
