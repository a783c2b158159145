#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/arg_max.h>
#include <octet/runtime/operators/definitions.h>

namespace octet::detail {
namespace {

/// The first of the largest `count` values that lie `stride` apart; a NaN is above nothing.
template <class T>
std::int32_t first_largest(const T* values, std::size_t count, std::size_t stride) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (values[i * stride] > values[best * stride]) best = i;
  }
  return static_cast<std::int32_t>(best);
}

template <class T>
class ArgMax final : public Kernel {
 public:
  explicit ArgMax(const KernelSource& source) : axis_(reduced_axis(source)) {}

  void run(const KernelArguments& a) const override {
    parallel_for(
        static_cast<std::size_t>(a.samples) * axis_.outer * axis_.inner,
        parallel_grain(Work::read_bytes, axis_.channels), [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) {
            const std::size_t first = i / axis_.inner * axis_.channels * axis_.inner;
            a.to<std::int32_t>()[i] =
                first_largest(a.input<T>() + first + i % axis_.inner, axis_.channels, axis_.inner);
          }
        });
  }

 private:
  AxisSplit axis_;
};

void check_arg_max(const OperatorView& view) {
  view.require_constant_axis("reduced");
  if (view.output().dtype != DType::int32) view.fail_types();
  if (view.input().dtype != DType::float32) {
    if (view.input().dtype != DType::int8) view.fail_types();
    view.require_per_tensor(view.input(), "input");
  }
  std::vector<std::int32_t> shape = view.input().shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(constant_axis(view)));
  view.require_output_shape(shape);
}

std::unique_ptr<Kernel> make_arg_max(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return std::make_unique<ArgMax<float>>(source);
  return std::make_unique<ArgMax<std::int8_t>>(source);
}

}  // namespace

AxisSplit reduced_axis(const Operands& operands) {
  const auto& shape = operands.input().shape;
  return split_axis(std::vector<std::int64_t>(shape.begin(), shape.end()),
                    static_cast<int>(constant_axis(operands)),
                    static_cast<std::size_t>(operands.input().size()), "ARG_MAX");
}

OperatorDefinition definitions::arg_max() {
  return checked({.name = "ARG_MAX",
                  .releases = {10900, 11400, 20900},
                  .required_version = version_by_type<>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::measured,
                  .check = check_arg_max,
                  .make_kernel = make_arg_max});
}

}  // namespace octet::detail
