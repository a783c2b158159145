#include <octet/core/quant/quantize.h>
#include <octet/runtime/operators/code_conversion.h>
#include <octet/runtime/operators/definitions.h>

// DEQUANTIZE: codes to reals, x = scale (q - zero_point).

namespace octet::detail {
namespace {

template <class Code>
class Dequantize final : public Kernel {
 public:
  explicit Dequantize(const KernelSource& source) : grid_(source.input()) {}

  void run(const KernelArguments& a) const override {
    const auto* q = a.input<Code>();
    auto* x = a.to<float>();
    grid_.for_chunks(a.samples, [&](std::size_t begin, std::size_t end) {
      const std::span from(q + begin, end - begin);
      const std::span to(x + begin, end - begin);
      if (grid_.params.per_channel()) {
        dequantize(from, grid_.shape, grid_.params, to);
      } else {
        dequantize(from, grid_.params, to);
      }
    });
  }

 private:
  CodeGrid grid_;
};

void check_dequantize(const OperatorView& view) {
  view.require_same_shape();
  const DType from = view.input().dtype;
  if ((!is_byte(from) && from != DType::int16) || view.output().dtype != DType::float32) {
    view.fail_types();
  }
  view.require_quantized(view.input(), "input");
}

std::unique_ptr<Kernel> make_dequantize(const KernelSource& source) {
  return make_for_codes<Dequantize>(source.input().dtype, source);
}

}  // namespace

OperatorDefinition definitions::dequantize() {
  return checked({.name = "DEQUANTIZE",
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .check = check_dequantize,
                  .make_kernel = make_dequantize});
}

}  // namespace octet::detail
