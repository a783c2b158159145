#include <fmt/format.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/pad.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace octet::detail {
namespace {

class Pad final : public Kernel {
 public:
  explicit Pad(const KernelSource& source)
      : axes_(pad_axes(source)),
        strides_(axes_.size() + 1),
        output_bytes_(sample_bytes(source.output())),
        border_(pad_border(source)),
        is_real_(source.output().dtype == DType::float32) {
    strides_.back() = {size_of(source.output().dtype), size_of(source.output().dtype)};
    for (std::size_t i = axes_.size(); i-- > 0;) {
      strides_[i] = {strides_[i + 1].input * static_cast<std::size_t>(axes_[i].input),
                     strides_[i + 1].output * static_cast<std::size_t>(axes_[i].output)};
    }
    // What lies in one piece in the output too is copied at once.
    while (depth_ > 0 && axes_[depth_ - 1].input == axes_[depth_ - 1].output) --depth_;
  }

  void run(const KernelArguments& a) const override {
    const std::size_t grain = parallel_grain(Work::read_bytes, output_bytes_);
    parallel_for(static_cast<std::size_t>(a.samples), grain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     std::byte* y = a.output() + i * output_bytes_;
                     fill(y);
                     copy(a.inputs[0].data + i * a.inputs[0].stride, y, 0);
                   }
                 });
  }

 private:
  struct Stride {
    std::size_t input;
    std::size_t output;
  };

  void fill(std::byte* y) const {
    if (is_real_) {
      std::fill_n(reinterpret_cast<float*>(y), output_bytes_ / sizeof(float), border_);
    } else {
      std::memset(y, static_cast<int>(border_), output_bytes_);
    }
  }

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
  float border_;
  bool is_real_;
};

std::vector<std::int32_t> paddings_of(const Operands& operands) {
  return values_of<std::int32_t>(operands.input(1));
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
  const bool takes_int16 = view.op.code == OpCode::pad;
  const bool is_int16 = takes_int16 && view.input().dtype == DType::int16;
  if (view.input().dtype != DType::int8 && !is_int16) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
  view.require_same_grid();
}

void check_padv2(const OperatorView& view) {
  check_pad(view);
  const ModelTensor& value = view.input(2);
  if (value.dtype != view.output().dtype || !value.is_constant() || value.size() != 1) {
    view.fail(
        fmt::format("expected its value as a constant of one {}, found '{}' of {}, shape "
                    "[{}]",
                    to_string(view.output().dtype), value.name, to_string(value.dtype),
                    fmt::join(value.shape, ", ")));
  }
  const QuantParams& grid = value.quantization;
  const QuantParams& out = view.output().quantization;
  if (grid.scales != out.scales || grid.zero_points != out.zero_points) {
    view.fail(fmt::format("value '{}' and output need the same scale and zero point", value.name));
  }
}

std::unique_ptr<Kernel> make_pad(const KernelSource& source) {
  return std::make_unique<Pad>(source);
}

int pad_version(const Operands& o) {
  return std::max(version_by_axes(o), o.input().dtype == DType::int16 ? 3 : 1);
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

float pad_border(const Operands& operands) {
  const ModelTensor& out = operands.output();
  if (operands.op.code == OpCode::pad) {
    return out.is_quantized() ? static_cast<float>(out.quantization.zero_point()) : 0.0F;
  }
  const ModelTensor& value = operands.input(2);
  if (out.dtype != DType::float32) return static_cast<std::int8_t>(value.data[0]);
  float real = 0.0F;
  std::memcpy(&real, value.data.data(), sizeof real);
  return real;
}

OperatorDefinition definitions::pad() {
  return checked({.name = "PAD",
                  .releases = {10500, 11400, 20400, 20600},
                  .required_version = pad_version,
                  .least_inputs = 2,
                  .most_inputs = 2,
                  .output_grid = OutputGrid::same_as_input,
                  .takes_int16 = true,
                  .check = check_pad,
                  .make_kernel = make_pad});
}

OperatorDefinition definitions::padv2() {
  return checked({.name = "PADV2",
                  .releases = {10900, 11400, 20400, 20600},
                  .required_version = version_by_axes,
                  .least_inputs = 3,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::same_as_input,
                  .check = check_padv2,
                  .make_kernel = make_pad});
}

}  // namespace octet::detail
