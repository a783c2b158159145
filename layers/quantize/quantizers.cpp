#include <octet/core/ops/fake_quant.h>
#include <octet/layers/quantize/quantizers.h>

namespace octet {

LastValueQuantizer::LastValueQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, std::make_unique<LastValueObserver>(start)) {}

std::unique_ptr<Quantizer> LastValueQuantizer::clone() const {
  return std::make_unique<LastValueQuantizer>(*this);
}

MovingAverageQuantizer::MovingAverageQuantizer(QuantSpec spec, RangeStart start, double decay)
    : Quantizer(spec, std::make_unique<MovingAverageObserver>(start, decay)) {}

std::unique_ptr<Quantizer> MovingAverageQuantizer::clone() const {
  return std::make_unique<MovingAverageQuantizer>(*this);
}

AllValuesQuantizer::AllValuesQuantizer(QuantSpec spec, RangeStart start)
    : Quantizer(spec, std::make_unique<AllValuesObserver>(start)) {}

std::unique_ptr<Quantizer> AllValuesQuantizer::clone() const {
  return std::make_unique<AllValuesQuantizer>(*this);
}

FixedQuantizer::FixedQuantizer(float min, float max, QuantSpec spec)
    : Quantizer(spec, std::make_unique<FixedObserver>(min, max)) {}

Tensor FixedQuantizer::fake_quant(const Tensor& x) const {
  if (!enabled()) return x;
  require_range();
  const ObservedRange range = grid_range();
  return fake_quant_with_min_max_args(x, range.min.item(), range.max.item(), spec().num_bits,
                                      spec().narrow_range, owner());
}

std::unique_ptr<Quantizer> FixedQuantizer::clone() const {
  return std::make_unique<FixedQuantizer>(*this);
}

}  // namespace octet
