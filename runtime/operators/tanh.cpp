#include <octet/core/quant/lut.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/map.h>

#include <cmath>

// TANH: y = tanh(x); codes on the scale 1/128 with zero point 0.

namespace octet::detail {
namespace {

QuantParams tanh_grid() { return QuantParams::per_tensor(Int8Lut::kTanhScale, 0); }

void check_tanh(const OperatorView& view) {
  view.require_elementwise();
  view.require_fixed_grid();
}

ByteTable tanh_table(const KernelSource& source) {
  const QuantParams& in = source.input().quantization;
  const auto lut = Int8Lut::tanh(in.scale(), in.zero_point(), source.rounding);
  return tabulate(source, [&](std::int32_t code) { return lut(static_cast<std::int8_t>(code)); });
}

std::unique_ptr<Kernel> make_tanh(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_float_map(source, [](float x) { return std::tanh(x); });
}

}  // namespace

OperatorDefinition definitions::tanh() {
  return checked({.name = "TANH",
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::fixed,
                  .fixed_grid = tanh_grid,
                  .check = check_tanh,
                  .make_kernel = make_tanh,
                  .byte_table = tanh_table});
}

}  // namespace octet::detail
