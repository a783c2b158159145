#pragma once

#include <octet/core/kernels/pool.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <memory>
#include <utility>

// Operators that make one value of the pixels of each window, channel by channel.

namespace octet::detail {

/// Runs compute(pooling, x, y) for the images of all samples.
template <class T, class Compute>
class PoolKernel final : public Kernel {
 public:
  PoolKernel(const KernelSource& source, const Window& window, Compute compute)
      : sample_{window, source.input().shape[0], source.input().shape[3]},
        compute_(std::move(compute)) {}

  void run(const KernelArguments& a) const override {
    compute_(Pooling{sample_.window, a.samples * sample_.images, sample_.channels}, a.input<T>(),
             a.to<T>());
  }

 private:
  Pooling sample_;
  Compute compute_;
};

template <class T, class Compute>
std::unique_ptr<Kernel> make_pool(const KernelSource& source, const Window& window,
                                  Compute compute) {
  return std::make_unique<PoolKernel<T, Compute>>(source, window, std::move(compute));
}

/// The kernel of `pool`, and then of `clamp` where the operator has an activation.
template <class T, class Clamp>
std::unique_ptr<Kernel> make_clamped_pool(const KernelSource& source, const Window& window,
                                          void (*pool)(const Pooling& p, const T* x, T* y),
                                          Clamp clamp) {
  const bool clamps = source.op.activation() != FusedActivation::none;
  return make_pool<T>(source, window, [=](const Pooling& p, const T* x, T* y) {
    pool(p, x, y);
    if (clamps) std::transform(y, y + p.images * p.window.outputs() * p.channels, y, clamp);
  });
}

/// The kernel of codes finish(sum of a window, its pixels).
template <class Finish>
std::unique_ptr<Kernel> make_code_means(const KernelSource& source, const Window& window,
                                        Finish finish) {
  const auto add = [](std::int32_t sum, std::int8_t code) { return sum + code; };
  return make_pool<std::int8_t>(source, window,
                                [=](const Pooling& p, const std::int8_t* x, std::int8_t* y) {
                                  reduce_windows(p, x, y, std::int32_t{0}, add, finish);
                                });
}

}  // namespace octet::detail
