#include <octet/core/quant/code_requantize.h>
#include <octet/core/quant/quantize.h>
#include <octet/runtime/operators/code_conversion.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/map.h>

// QUANTIZE: reals to codes, q = clamp(round(x / scale) + zero_point), or codes of one grid to those
// of another, q_y = clamp(round((s_x / s_y) (q_x - zero_point_x)) + zero_point_y): see
// CodeRequantizer::quantize().

namespace octet::detail {
namespace {

template <class Code>
class Quantize final : public Kernel {
 public:
  explicit Quantize(const KernelSource& source)
      : grid_(source.output()), mode_(quantize_mode(source.rounding)) {}

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<float>();
    auto* q = a.to<Code>();
    grid_.for_chunks(a.samples, [&](std::size_t begin, std::size_t end) {
      const std::span from(x + begin, end - begin);
      const std::span to(q + begin, end - begin);
      if (grid_.params.per_channel()) {
        quantize(from, grid_.shape, grid_.params, to, mode_);
      } else {
        quantize(from, grid_.params, to, mode_);
      }
    });
  }

 private:
  CodeGrid grid_;
  RoundMode mode_;
};

void check_quantize(const OperatorView& view) {
  view.require_same_shape();
  view.require_quantized(view.output(), "output");
  const DType to = view.output().dtype;
  if (view.input().dtype == DType::float32) {
    if (!is_byte(to) && to != DType::int16) view.fail_types();
    return;
  }
  if (!is_byte(view.input().dtype) || !is_byte(to)) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
}

ByteTable quantize_table(const KernelSource& source) {
  const auto requantizer = CodeRequantizer::quantize(
      stored_params(source.input()), stored_params(source.output()), source.rounding);
  return tabulate(source, [&](std::int32_t code) { return requantizer.apply(code); });
}

std::unique_ptr<Kernel> make_quantize(const KernelSource& source) {
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_for_codes<Quantize>(source.output().dtype, source);
}

}  // namespace

OperatorDefinition definitions::quantize() {
  return checked({.name = "QUANTIZE",
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .check = check_quantize,
                  .make_kernel = make_quantize,
                  .byte_table = quantize_table});
}

}  // namespace octet::detail
