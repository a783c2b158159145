#include <octet/layers/quantize/calibrated_observers.h>
#include <octet/layers/quantize/learned_scale.h>
#include <octet/layers/quantize/quantizers.h>

#include <utility>

namespace octet {

LastValueQuantizer::LastValueQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, std::make_unique<LastValueObserver>(start)) {}

MovingAverageQuantizer::MovingAverageQuantizer(QuantSpec spec, RangeStart start, double decay)
    : Quantizer(spec, std::make_unique<MovingAverageObserver>(start, decay)) {}

AllValuesQuantizer::AllValuesQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, std::make_unique<AllValuesObserver>(start)) {}

FixedQuantizer::FixedQuantizer(float min, float max, QuantSpec spec)
    : Quantizer(spec, std::make_unique<FixedObserver>(min, max)) {}

MeanMagnitudeQuantizer::MeanMagnitudeQuantizer(QuantSpec spec)
    : Quantizer(spec, std::make_unique<MeanMagnitudeObserver>()) {}

MseQuantizer::MseQuantizer(QuantSpec spec) : Quantizer(spec, std::make_unique<MseObserver>()) {}

PercentileQuantizer::PercentileQuantizer(QuantSpec spec, double percentile)
    : Quantizer(spec, std::make_unique<PercentileObserver>(percentile)) {}

HistogramMseQuantizer::HistogramMseQuantizer(QuantSpec spec)
    : Quantizer(spec, std::make_unique<HistogramMseObserver>()) {}

HistogramPercentileQuantizer::HistogramPercentileQuantizer(QuantSpec spec, double percentile)
    : Quantizer(spec, std::make_unique<HistogramPercentileObserver>(percentile)) {}

HistogramEntropyQuantizer::HistogramEntropyQuantizer(QuantSpec spec)
    : Quantizer(spec, std::make_unique<HistogramEntropyObserver>()) {}

LsqQuantizer::LsqQuantizer(std::unique_ptr<Quantizer> start)
    : Quantizer(std::move(start), std::make_unique<LearnedScale>(LearnedScale::kLsq)) {}

LsqPlusQuantizer::LsqPlusQuantizer(std::unique_ptr<Quantizer> start)
    : Quantizer(std::move(start), std::make_unique<LearnedScale>(LearnedScale::kLsqPlus)) {}

PactQuantizer::PactQuantizer(std::unique_ptr<Quantizer> start)
    : Quantizer(std::move(start), std::make_unique<LearnedScale>(LearnedScale::kPact)) {}

}  // namespace octet
