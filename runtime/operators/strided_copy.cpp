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
  StridedCopyKernel(const KernelSource& source, const StridedCopy& copy)
      : first_(copy.first),
        axes_(merge_axes(copy.axes)),
        output_size_(static_cast<std::size_t>(source.output().size())) {
    // Neighbours that lie side by side are copied at once.
    if (axes_.empty() || axes_.back().strides[0] != 1) return;
    run_ = static_cast<std::size_t>(axes_.back().extent);
    axes_.pop_back();
  }

  void run(const KernelArguments& a) const override {
    const std::size_t grain = parallel_grain(Work::read_bytes, output_size_ * sizeof(T));
    parallel_for(static_cast<std::size_t>(a.samples), grain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     const std::byte* x = a.inputs[0].data + i * a.inputs[0].stride;
                     copy(reinterpret_cast<const T*>(x) + first_, a.to<T>() + i * output_size_, 0);
                   }
                 });
  }

 private:
  /// Fills `y` from axis `axis` on; returns what lies behind.
  T* copy(const T* x, T* y, std::size_t axis) const {
    if (axis == axes_.size()) {
      std::memcpy(y, x, run_ * sizeof(T));
      return y + run_;
    }
    const auto [extent, strides] = axes_[axis];
    if (run_ == 1 && axis + 1 == axes_.size()) {
      for (Index i = 0; i < extent; ++i) y[i] = x[i * strides[0]];
      return y + extent;
    }
    for (Index i = 0; i < extent; ++i) y = copy(x + i * strides[0], y, axis + 1);
    return y;
  }

  Index first_;
  std::vector<Axis<1>> axes_;
  std::size_t output_size_;
  std::size_t run_ = 1;
};

}  // namespace

void check_moved(const OperatorView& view) {
  const ModelTensor& input = view.input();
  if (input.shape.size() > kMostMovedAxes) {
    view.fail(fmt::format("expected an input of at most {} axes, found {}", kMostMovedAxes,
                          input.shape.size()));
  }
  if (input.dtype != view.output().dtype) view.fail_types();
  if (input.dtype == DType::float32) return;
  if (input.dtype != DType::int8 && input.dtype != DType::int16) view.fail_types();
  view.require_per_tensor(input, "input");
  view.require_same_grid();
}

std::unique_ptr<Kernel> make_strided_copy(const KernelSource& source, const StridedCopy& copy) {
  const DType dtype = source.output().dtype;
  if (dtype == DType::float32) return std::make_unique<StridedCopyKernel<float>>(source, copy);
  if (dtype == DType::int16) return std::make_unique<StridedCopyKernel<std::int16_t>>(source, copy);
  return std::make_unique<StridedCopyKernel<std::int8_t>>(source, copy);
}

}  // namespace octet::detail
