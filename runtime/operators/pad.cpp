#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/pad.h>

#include <cstring>
#include <limits>

namespace octet::detail {
namespace {

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelSource& source)
      : axes_(pad_axes(source)),
        strides_(axes_.size() + 1),
        output_bytes_(sample_bytes(source.output())) {
    strides_.back() = {size_of(source.output().dtype), size_of(source.output().dtype)};
    for (std::size_t i = axes_.size(); i-- > 0;) {
      strides_[i] = {strides_[i + 1].input * static_cast<std::size_t>(axes_[i].input),
                     strides_[i + 1].output * static_cast<std::size_t>(axes_[i].output)};
    }
    // What lies in one piece in the output too is copied at once.
    while (depth_ > 0 && axes_[depth_ - 1].input == axes_[depth_ - 1].output) --depth_;
    if (source.output().is_quantized()) border_ = source.output().quantization.zero_point();
  }

  void run(const KernelArguments& a) const override {
    const std::size_t grain = parallel_grain(Work::read_bytes, output_bytes_);
    parallel_for(static_cast<std::size_t>(a.samples), grain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     std::byte* y = a.output + i * output_bytes_;
                     std::memset(y, border_, output_bytes_);
                     copy(a.inputs[0].data + i * a.inputs[0].stride, y, 0);
                   }
                 });
  }

 private:
  struct Stride {
    std::size_t input;
    std::size_t output;
  };

  void copy(const std::byte* x, std::byte* y, std::size_t axis) const {
    if (axis == depth_) {
      std::memcpy(y, x, strides_[axis].input);
      return;
    }
    const Stride& inner = strides_[axis + 1];
    y += static_cast<std::size_t>(axes_[axis].before) * inner.output;
    if (axis + 1 == depth_) {
      std::memcpy(y, x, strides_[axis].input);
      return;
    }
    for (Index i = 0; i < axes_[axis].input; ++i) {
      copy(x, y, axis + 1);
      x += inner.input;
      y += inner.output;
    }
  }

  std::vector<PadAxis> axes_;
  /// Bytes of everything behind the axes in front.
  std::vector<Stride> strides_;
  std::size_t output_bytes_;
  /// Axes up to the last one with a border.
  std::size_t depth_ = axes_.size();
  int border_ = 0;
};

std::vector<std::int32_t> paddings_of(const Operands& operands) {
  const ModelTensor& paddings = operands.input(1);
  std::vector<std::int32_t> values(paddings.data.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), paddings.data.data(), paddings.data.size());
  return values;
}

void check_paddings(const OperatorView& view) {
  const ModelTensor& paddings = view.input(1);
  const auto rank = static_cast<std::int32_t>(view.input().shape.size());
  if (paddings.dtype != DType::int32 || !paddings.is_constant() ||
      paddings.shape != std::vector<std::int32_t>{rank, 2}) {
    view.fail(fmt::format(
        "expected paddings as an int32 constant [{}, 2], found '{}' of {}, shape [{}]", rank,
        paddings.name, to_string(paddings.dtype), fmt::join(paddings.shape, ", ")));
  }
  const auto values = paddings_of(view);
  const auto& signature = view.input().shape_signature;
  std::vector<std::int32_t> expected;
  for (std::size_t i = 0; i < view.input().shape.size(); ++i) {
    const std::int64_t before = values[2 * i];
    const std::int64_t after = values[2 * i + 1];
    const std::int64_t extent = view.input().shape[i] + before + after;
    if (before < 0 || after < 0 || extent > std::numeric_limits<std::int32_t>::max()) {
      view.fail(fmt::format("paddings {} and {} of axis {}", before, after, i));
    }
    if (before + after > 0 && !signature.empty() && signature[i] == -1) {
      view.fail(fmt::format("axis {} is the batch, which cannot be padded", i));
    }
    expected.push_back(static_cast<std::int32_t>(extent));
  }
  view.require_output_shape(expected);
}

void check_pad(const OperatorView& view) {
  if (view.input().dtype != view.output().dtype) view.fail_types();
  check_paddings(view);
  if (view.input().dtype == DType::float32) return;
  if (view.input().dtype != DType::int8) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  view.require_same_grid();
}

std::unique_ptr<Kernel> make_pad(const KernelSource& source) {
  return std::make_unique<Pad>(source);
}

}  // namespace

std::vector<PadAxis> pad_axes(const Operands& operands) {
  const auto paddings = paddings_of(operands);
  std::vector<PadAxis> axes;
  for (std::size_t i = 0; i < operands.input().shape.size(); ++i) {
    axes.push_back({operands.input().shape[i], paddings[2 * i], operands.output().shape[i]});
  }
  return axes;
}

OperatorDefinition definitions::pad() {
  return checked({.name = "PAD",
                  .default_attributes = default_of<NoAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_pad,
                  .make_kernel = make_pad});
}

}  // namespace octet::detail
