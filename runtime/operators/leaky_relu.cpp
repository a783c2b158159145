#include <fmt/core.h>
#include <octet/core/quant/code_requantize.h>
#include <octet/runtime/operators/map.h>

#include <algorithm>
#include <cmath>

// LEAKY_RELU: y = x where x >= 0, alpha x elsewhere. Codes are q_y = round(m (q_x - zero_point_x))
// + zero_point_y, where m is s_x / s_y on the one side and s_x alpha / s_y on the other. TensorFlow
// Lite (reference/leaky_relu.h) rounds twice under every contract of its own; XNNPACK (qs8-vlrelu)
// computes with m in steps of 1/256, and leaves factors that these cannot tell to TensorFlow Lite.

namespace octet::detail {
namespace {

void check_leaky_relu(const OperatorView& view) {
  view.require_elementwise();
  const float alpha = view.op.as<LeakyReluAttributes>().alpha;
  if (!std::isfinite(alpha)) view.fail(fmt::format("alpha {} is not finite", alpha));
}

ByteTable table_of(const KernelSource& source, const CodeFactor& above, const CodeFactor& below) {
  const QuantParams in = stored_params(source.input());
  const QuantParams out = stored_params(source.output());
  return tabulate(source, [&](std::int32_t code) {
    const std::int32_t x = code - in.zero_point();
    const std::int64_t y = std::int64_t{x >= 0 ? above(x) : below(x)} + out.zero_point();
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(y, out.qmin, out.qmax));
  });
}

ByteTable leaky_relu_table(const KernelSource& source) {
  const float alpha = source.op.as<LeakyReluAttributes>().alpha;
  const float in = source.input().quantization.scale();
  const float out = source.output().quantization.scale();
  const float ratio = in / out;
  if (source.rounding == Rounding::fp32 && CodeFactor::fits_eight_bits(ratio) &&
      CodeFactor::fits_eight_bits(ratio * alpha)) {
    return table_of(source, CodeFactor::eight_bits(ratio), CodeFactor::eight_bits(ratio * alpha));
  }
  return table_of(source, CodeFactor::rounded_twice(double{ratio}),
                  CodeFactor::rounded_twice(double{in * alpha / out}));
}

std::unique_ptr<Kernel> make_leaky_relu(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  const float alpha = source.op.as<LeakyReluAttributes>().alpha;
  return make_float_map(source, [alpha](float x) { return x >= 0.0F ? x : alpha * x; });
}

}  // namespace

OperatorDefinition definitions::leaky_relu() {
  return checked({.name = "LEAKY_RELU",
                  .default_attributes = default_of<LeakyReluAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .check = check_leaky_relu,
                  .make_kernel = make_leaky_relu,
                  .byte_table = leaky_relu_table});
}

}  // namespace octet::detail
