#include <octet/core/quant/lut.h>
#include <octet/runtime/operators/logistic.h>
#include <octet/runtime/operators/map.h>

#include <cmath>

namespace octet::detail {

QuantParams logistic_grid() { return QuantParams::per_tensor(Int8Lut::kLogisticScale, -128); }

void check_logistic(const OperatorView& view) {
  view.require_elementwise();
  view.require_fixed_grid();
}

ByteTable logistic_table(const KernelSource& source) {
  const QuantParams& in = source.input().quantization;
  const auto lut = Int8Lut::logistic(in.scale(), in.zero_point(), source.rounding);
  return tabulate(source, [&](std::int32_t code) { return lut(static_cast<std::int8_t>(code)); });
}

std::unique_ptr<Kernel> make_logistic(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
}

}  // namespace octet::detail
