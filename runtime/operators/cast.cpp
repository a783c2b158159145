#include <octet/core/parallel.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <cmath>
#include <limits>

// CAST between float32 and int32, which have no scales.

namespace octet::detail {
namespace {

/// Towards 0, saturated; a NaN is 0.
std::int32_t cast(float x, std::int32_t /*to*/) {
  if (std::isnan(x)) return 0;
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(
      std::clamp<double>(double{x}, double{Limits::min()}, double{Limits::max()}));
}

float cast(std::int32_t x, float /*to*/) { return static_cast<float>(x); }

template <class From, class To>
class Cast final : public Kernel {
 public:
  explicit Cast(const KernelSource& source) : size_(source.input().size()) {}

  void run(const KernelArguments& a) const override {
    parallel_for(static_cast<std::size_t>(a.samples * size_), parallel_grain(Work::map_floats),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     a.to<To>()[i] = cast(a.input<From>()[i], To{});
                   }
                 });
  }

 private:
  Index size_;
};

void check_cast(const OperatorView& view) {
  view.require_same_shape();
  const auto is = [&](DType from, DType to) {
    return view.input().dtype == from && view.output().dtype == to;
  };
  if (!is(DType::float32, DType::int32) && !is(DType::int32, DType::float32)) view.fail_types();
}

std::unique_ptr<Kernel> make_cast(const KernelSource& source) {
  if (source.input().dtype == DType::float32) {
    return std::make_unique<Cast<float, std::int32_t>>(source);
  }
  return std::make_unique<Cast<std::int32_t, float>>(source);
}

}  // namespace

OperatorDefinition definitions::cast() {
  return checked({.name = "CAST",
                  .releases = {10500, 10500, 10500, 10500},
                  .required_version = first_version,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .each_element = true,
                  .check = check_cast,
                  .make_kernel = make_cast});
}

}  // namespace octet::detail
