#include <octet/core/arithmetic/sigmoid.h>
#include <octet/core/quant/lut.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/map.h>

// LOGISTIC: y = 1 / (1 + exp(-x)); codes on the scale 1/256 with zero point -128.

namespace octet::detail {
namespace {

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
  return make_float_map(source, [](float x) { return sigmoid(x); });
}

}  // namespace

OperatorDefinition definitions::logistic() {
  return checked({.name = "LOGISTIC",
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::fixed,
                  .fixed_grid = logistic_grid,
                  .check = check_logistic,
                  .make_kernel = make_logistic,
                  .byte_table = logistic_table});
}

}  // namespace octet::detail
