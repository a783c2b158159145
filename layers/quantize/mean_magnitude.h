#pragma once

#include <octet/layers/quantize/observer.h>
#include <octet/layers/quantize/quantizer.h>

#include <memory>
#include <string_view>

namespace octet {

/// A range whose step is 2 mean |x| / sqrt(Qp), for the values of the last batch, Qp the highest
/// code from the zero point on: where LSQ starts (Esser et al., ICLR 2020). Symmetric or from 0 on,
/// as the spec says.
class MeanMagnitudeObserver : public Observer {
 public:
  void observe(const Tensor& x) override;
  std::unique_ptr<Observer> clone() const override;
};

/// The same as a quantizer, whose step is taken anew from every kernel: also known as StatsQ.
class MeanMagnitudeQuantizer : public Quantizer {
 public:
  explicit MeanMagnitudeQuantizer(QuantSpec spec);
  std::string_view type() const override { return "MeanMagnitude"; }
  std::unique_ptr<Quantizer> clone() const override;
};

}  // namespace octet
