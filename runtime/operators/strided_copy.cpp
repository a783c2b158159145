#include <fmt/core.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/strided_copy.h>

#include <cstring>

namespace octet::detail {
namespace {

/// The most axes that TensorFlow Lite's kernels take.
constexpr std::size_t kMostMovedAxes = 5;

/// Elements of type T, which are moved as they are.
template <class T>
class StridedCopyKernel final : public Kernel {
 public:
  StridedCopyKernel(const KernelSource& source, std::span<const StridedCopy> copies) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      Part& part = parts_.emplace_back();
      part.first = copies[i].first;
      part.axes = merge_axes(copies[i].axes);
      part.size = static_cast<std::size_t>(source.output(i).size());
      sample_bytes_ += part.size * sizeof(T);
      // Neighbours that lie side by side are copied at once.
      if (part.axes.empty() || part.axes.back().strides[0] != 1) continue;
      part.run = static_cast<std::size_t>(part.axes.back().extent);
      part.axes.pop_back();
    }
  }

  void run(const KernelArguments& a) const override {
    const std::size_t grain = parallel_grain(Work::read_bytes, sample_bytes_);
    parallel_for(static_cast<std::size_t>(a.samples), grain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) run_sample(a, i);
                 });
  }

 private:
  struct Part {
    Index first;
    std::vector<Axis<1>> axes;
    std::size_t size;
    std::size_t run = 1;

    /// Fills `y` from axis `axis` on; returns what lies behind.
    T* copy(const T* x, T* y, std::size_t axis) const {
      if (axis == axes.size()) {
        std::memcpy(y, x, run * sizeof(T));
        return y + run;
      }
      const auto [extent, strides] = axes[axis];
      if (run == 1 && axis + 1 == axes.size()) {
        for (Index i = 0; i < extent; ++i) y[i] = x[i * strides[0]];
        return y + extent;
      }
      for (Index i = 0; i < extent; ++i) y = copy(x + i * strides[0], y, axis + 1);
      return y;
    }
  };

  void run_sample(const KernelArguments& a, std::size_t sample) const {
    const std::byte* bytes = a.inputs[0].data + sample * a.inputs[0].stride;
    const auto* x = reinterpret_cast<const T*>(bytes);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      part.copy(x + part.first, a.to<T>(i) + sample * part.size, 0);
    }
  }

  std::vector<Part> parts_;
  std::size_t sample_bytes_ = 0;
};

}  // namespace

void check_moved(const OperatorView& view) {
  const ModelTensor& input = view.input();
  if (input.shape.size() > kMostMovedAxes) {
    view.fail(fmt::format("expected an input of at most {} axes, found {}", kMostMovedAxes,
                          input.shape.size()));
  }
  for (std::size_t i = 0; i < view.op.outputs.size(); ++i) {
    if (input.dtype != view.output(i).dtype) view.fail_types();
    view.require_same_grid(i);
  }
  if (input.dtype == DType::float32) return;
  if (input.dtype != DType::int8 && input.dtype != DType::int16) view.fail_types();
  view.require_per_tensor(input, "input");
}

std::unique_ptr<Kernel> make_strided_copies(const KernelSource& source,
                                            std::span<const StridedCopy> copies) {
  const DType dtype = source.output().dtype;
  if (dtype == DType::float32) return std::make_unique<StridedCopyKernel<float>>(source, copies);
  if (dtype == DType::int16) {
    return std::make_unique<StridedCopyKernel<std::int16_t>>(source, copies);
  }
  return std::make_unique<StridedCopyKernel<std::int8_t>>(source, copies);
}

}  // namespace octet::detail
