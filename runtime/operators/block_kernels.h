#pragma once

#include <octet/core/buffer.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/fully_connected.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

// Kernels of operators whose sums are made block by block. `Sums` has units(), bytes(),
// thread_bytes(), block_rows() and for_blocks(), as DepthwiseSums.

namespace octet::detail {

/// What kind of work making such sums is.
template <class Sum>
constexpr Work work_of_sums() {
  return std::is_floating_point_v<Sum> ? Work::float_multiply_adds : Work::integer_multiply_adds;
}

/// Runs an operator of sums on quantized values; its epilogue rescales the sums while they are in
/// the cache.
template <class Code, class Sum, class Sums>
class QuantizedBlockKernel final : public Kernel {
 public:
  QuantizedBlockKernel(Sums sums, DenseEpilogue epilogue)
      : sums_(std::move(sums)), epilogue_(std::move(epilogue)) {}

  std::size_t bytes() const override {
    return sums_.bytes() + epilogue_.requantizer.factors().size_bytes() +
           epilogue_.requantizer.multipliers().size_bytes();
  }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return sums_.thread_bytes() +
           static_cast<std::size_t>(sums_.block_rows() * sums_.units()) * sizeof(Sum);
  }

  void run(const KernelArguments& a) const override {
    const Index units = sums_.units();
    auto* y = a.to<Code>();
    sums_.for_blocks(a.samples, a.input<Code>(),
                     [&](Index begin, Index end, FunctionRef<void(Sum*)> write_sums) {
                       const auto count = static_cast<std::size_t>((end - begin) * units);
                       const ScratchBuffer<Sum, QuantizedBlockKernel> sums(count);
                       write_sums(sums.data());
                       epilogue_.requantize(std::span<const Sum>(sums.data(), count),
                                            std::span(y + begin * units, count));
                     });
  }

 private:
  Sums sums_;
  DenseEpilogue epilogue_;
};

/// Runs an operator of sums on floats.
template <class Sums>
class FloatBlockKernel final : public Kernel {
 public:
  FloatBlockKernel(Sums sums, FusedActivation activation)
      : sums_(std::move(sums)), clamp_(activation) {}

  std::size_t bytes() const override { return sums_.bytes(); }
  std::size_t thread_bytes(Index /*samples*/) const override { return sums_.thread_bytes(); }

  void run(const KernelArguments& a) const override {
    const Index units = sums_.units();
    auto* y = a.to<float>();
    sums_.for_blocks(a.samples, a.input<float>(),
                     [&](Index begin, Index end, FunctionRef<void(float*)> write_sums) {
                       write_sums(y + begin * units);
                       for (Index i = begin * units; i < end * units; ++i) y[i] = clamp_(y[i]);
                     });
  }

 private:
  Sums sums_;
  FloatClamp clamp_;
};

}  // namespace octet::detail
