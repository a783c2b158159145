#include <octet/core/quant/range_search.h>
#include <octet/layers/quantize/calibrated_observers.h>
#include <octet/layers/quantize/calibrated_quantizers.h>

namespace octet {

MseQuantizer::MseQuantizer(QuantSpec spec)
    : CalibratedQuantizer(spec, std::make_unique<MseObserver>()) {}

std::unique_ptr<Quantizer> MseQuantizer::clone() const {
  return std::make_unique<MseQuantizer>(*this);
}

PercentileQuantizer::PercentileQuantizer(QuantSpec spec, double percentile)
    : CalibratedQuantizer(spec, std::make_unique<PercentileObserver>(percentile)) {}

std::unique_ptr<Quantizer> PercentileQuantizer::clone() const {
  return std::make_unique<PercentileQuantizer>(*this);
}

HistogramMseQuantizer::HistogramMseQuantizer(QuantSpec spec)
    : CalibratedQuantizer(spec, std::make_unique<HistogramMseObserver>()) {}

std::unique_ptr<Quantizer> HistogramMseQuantizer::clone() const {
  return std::make_unique<HistogramMseQuantizer>(*this);
}

HistogramPercentileQuantizer::HistogramPercentileQuantizer(QuantSpec spec, double percentile)
    : CalibratedQuantizer(spec, std::make_unique<HistogramPercentileObserver>(percentile)) {}

std::unique_ptr<Quantizer> HistogramPercentileQuantizer::clone() const {
  return std::make_unique<HistogramPercentileQuantizer>(*this);
}

HistogramEntropyQuantizer::HistogramEntropyQuantizer(QuantSpec spec)
    : CalibratedQuantizer(spec, std::make_unique<HistogramEntropyObserver>()) {
  require_entropy_bits(spec, "HistogramEntropyQuantizer");
}

std::unique_ptr<Quantizer> HistogramEntropyQuantizer::clone() const {
  return std::make_unique<HistogramEntropyQuantizer>(*this);
}

}  // namespace octet
