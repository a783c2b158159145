#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/kernels/softmax_row.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/softmax.h>

#include <cmath>

namespace octet::detail {
namespace {

std::size_t row_of(const Operands& source) {
  const auto& shape = source.input().shape;
  return static_cast<std::size_t>(shape.empty() ? 1 : shape.back());
}

class Int8Softmax final : public Kernel {
 public:
  explicit Int8Softmax(const KernelSource& source)
      : row_(row_of(source)),
        rows_(static_cast<std::size_t>(source.input().size()) / row_),
        softmax_(int8_softmax(source)) {}

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<std::int8_t>();
    auto* y = a.to<std::int8_t>();
    parallel_for(static_cast<std::size_t>(a.samples) * rows_, kRowsPerChunk,
                 [&](std::size_t begin, std::size_t end) {
                   const std::size_t size = (end - begin) * row_;
                   softmax_.run_rows(std::span(x + begin * row_, size),
                                     std::span(y + begin * row_, size), row_);
                 });
  }

 private:
  std::size_t row_;
  std::size_t rows_;
  SoftmaxInt8 softmax_;
};

class FloatSoftmax final : public Kernel {
 public:
  explicit FloatSoftmax(const KernelSource& source)
      : row_(row_of(source)),
        rows_(static_cast<std::size_t>(source.input().size()) / row_),
        beta_(source.op.as<SoftmaxAttributes>().beta) {}

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<float>();
    auto* y = a.to<float>();
    const std::size_t rows = static_cast<std::size_t>(a.samples) * rows_;
    for (std::size_t i = 0; i < rows; ++i) {
      softmax_row(x + i * row_, static_cast<Index>(row_), y + i * row_, beta_);
    }
  }

 private:
  std::size_t row_;
  std::size_t rows_;
  float beta_;
};

QuantParams softmax_grid() {
  return QuantParams::per_tensor(SoftmaxInt8::kOutputScale, SoftmaxInt8::kOutputZeroPoint);
}

void check_softmax(const OperatorView& view) {
  view.require_elementwise();
  const float beta = view.op.as<SoftmaxAttributes>().beta;
  if (!(std::isfinite(beta) && beta > 0)) {
    view.fail(fmt::format("beta {} is not finite and positive", beta));
  }
  view.require_fixed_grid();
}

std::unique_ptr<Kernel> make_softmax(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return std::make_unique<FloatSoftmax>(source);
  return std::make_unique<Int8Softmax>(source);
}

}  // namespace

SoftmaxInt8 int8_softmax(const KernelSource& source) {
  const std::size_t row = row_of(source);
  if (source.rounding != Rounding::fp32 && row > SoftmaxInt8::kMaxFixedPointRow) {
    throw FormatError(fmt::format("rows of {} are longer than the {} that rounding mode {} allows",
                                  row, SoftmaxInt8::kMaxFixedPointRow, to_string(source.rounding)));
  }
  return SoftmaxInt8::make(source.input().quantization.scale(),
                           source.op.as<SoftmaxAttributes>().beta, source.rounding);
}

OperatorDefinition definitions::softmax() {
  return checked({.name = "SOFTMAX",
                  .releases = {10500, 11400, 11400},
                  .required_version = version_by_type<>,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::fixed,
                  .fixed_grid = softmax_grid,
                  .check = check_softmax,
                  .make_kernel = make_softmax});
}

}  // namespace octet::detail
