#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/image_window.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// Patches that are made and multiplied at once stay in the cache.
constexpr Index kPatchBytes = 32768;
/// Fewer rows than a product has tiles for would leave them half empty.
constexpr Index kLeastRows = 32;

/// The rows of one block, which a thread makes at once.
Index block_rows(const Conv2DShape& shape, std::size_t element) {
  const Index row = shape.depth() * static_cast<Index>(element);
  return std::max(kPatchBytes / std::max<Index>(row, 1), kLeastRows);
}

/// Patches of rows [begin, end) of all images, of the channels of one group.
template <class T>
void gather_rows(const Conv2DShape& shape, const T* images, Index group, T padding, Index begin,
                 Index end, T* patches) {
  const Index outputs = shape.window.outputs();
  while (begin < end) {
    const Index image = begin / outputs;
    const Index last = std::min(end, (image + 1) * outputs);
    gather_patches(shape.window, images + image * shape.window.inputs() * shape.channels,
                   shape.channels, group * shape.group_channels(), shape.group_channels(), padding,
                   begin - image * outputs, last - image * outputs, patches);
    patches += (last - begin) * shape.depth();
    begin = last;
  }
}

/// Calls body(begin, end) for blocks of rows.
template <class Body>
void for_blocks(Index rows, const Conv2DShape& shape, Index block, Work work, Body&& body) {
  const auto products = static_cast<std::size_t>(shape.depth() * shape.units);
  const auto grain = std::max(static_cast<std::size_t>(block), parallel_grain(work, products));
  parallel_for(static_cast<std::size_t>(rows), grain, [&](std::size_t first, std::size_t last) {
    const auto end = static_cast<Index>(last);
    for (auto i = static_cast<Index>(first); i < end; i += block) body(i, std::min(i + block, end));
  });
}

class Int8Conv final : public Kernel {
 public:
  Int8Conv(const Conv2DShape& shape, const FullyConnectedNumbers& n)
      : shape_(shape),
        block_(block_rows(shape, sizeof(std::int8_t))),
        padding_(static_cast<std::int8_t>(n.input_zero_point)) {
    const Index units = shape.group_units();
    const auto count = static_cast<std::size_t>(units);
    for (Index g = 0; g < shape.groups; ++g) {
      const auto first = static_cast<std::size_t>(g * units);
      groups_.push_back({DenseSums(PackedS8(n.weights.data() + g * units * n.depth, units, n.depth),
                                   std::span(n.bias).subspan(first, count), n.input_zero_point),
                         n.epilogue});
      groups_.back().epilogue.requantizer = n.epilogue.requantizer.part(first, count);
    }
  }

  std::size_t bytes() const override {
    std::size_t total = 0;
    for (const Group& group : groups_) {
      total += DenseSums::bytes(shape_.group_units(), shape_.depth()) +
               group.epilogue.requantizer.factors().size_bytes() +
               group.epilogue.requantizer.multipliers().size_bytes();
    }
    return total;
  }
  std::size_t thread_bytes(Index samples) const override {
    const Index rows = std::min(samples * shape_.rows(), block_);
    return groups_[0].sums.thread_bytes(rows) +
           static_cast<std::size_t>(rows * (shape_.depth() + shape_.group_units()));
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<std::int8_t>();
    auto* y = a.to<std::int8_t>();
    for_blocks(a.samples * shape_.rows(), shape_, block_, Work::integer_multiply_adds,
               [&](Index begin, Index end) {
                 for (Index g = 0; g < shape_.groups; ++g) run_group(x, g, begin, end, y);
               });
  }

 private:
  struct Group {
    DenseSums sums;
    DenseEpilogue epilogue;
  };

  void run_group(const std::int8_t* x, Index g, Index begin, Index end, std::int8_t* y) const {
    const ScratchBuffer<std::int8_t, struct ConvPatches> patches(
        static_cast<std::size_t>((end - begin) * shape_.depth()));
    gather_rows(shape_, x, g, padding_, begin, end, patches.data());
    const Group& group = groups_[static_cast<std::size_t>(g)];
    const Index units = shape_.group_units();
    group.sums.sums(end - begin, patches.data(), [&](Index first, Index last, std::int32_t* sums) {
      const auto count = static_cast<std::size_t>((last - first) * units);
      if (shape_.groups == 1) {
        group.epilogue.requantize({sums, count}, {y + (begin + first) * units, count});
        return;
      }
      const ScratchBuffer<std::int8_t, struct ConvCodes> codes(count);
      group.epilogue.requantize({sums, count}, {codes.data(), count});
      for (Index i = first; i < last; ++i) {
        std::copy_n(codes.data() + (i - first) * units, units,
                    y + (begin + i) * shape_.units + g * units);
      }
    });
  }

  Conv2DShape shape_;
  Index block_;
  /// What lies outside an image: the code of 0.
  std::int8_t padding_;
  std::vector<Group> groups_;
};

class FloatConv final : public Kernel {
 public:
  FloatConv(const Conv2DShape& shape, const KernelSource& source)
      : shape_(shape),
        block_(block_rows(shape, sizeof(float))),
        weights_(values_of<float>(source.input(1))),
        bias_(bias_of<float>(source)),
        clamp_(source.op.activation()) {}

  std::size_t bytes() const override { return (weights_.size() + bias_.size()) * sizeof(float); }
  std::size_t thread_bytes(Index samples) const override {
    const Index rows = std::min(samples * shape_.rows(), block_);
    return static_cast<std::size_t>(rows * shape_.depth()) * sizeof(float);
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<float>();
    auto* y = a.to<float>();
    for_blocks(a.samples * shape_.rows(), shape_, block_, Work::float_multiply_adds,
               [&](Index begin, Index end) {
                 for (Index g = 0; g < shape_.groups; ++g) run_group(x, g, begin, end, y);
                 for (Index i = begin * shape_.units; i < end * shape_.units; ++i) {
                   y[i] = clamp_(y[i] + bias_[static_cast<std::size_t>(i % shape_.units)]);
                 }
               });
  }

 private:
  void run_group(const float* x, Index g, Index begin, Index end, float* y) const {
    const Index depth = shape_.depth();
    const Index units = shape_.group_units();
    const ScratchBuffer<float, struct ConvPatches> patches(
        static_cast<std::size_t>((end - begin) * depth));
    gather_rows(shape_, x, g, 0.0F, begin, end, patches.data());
    gemm_f32(end - begin, units, depth, {patches.data(), depth},
             {weights_.data() + g * units * depth, depth, Transpose::yes},
             y + begin * shape_.units + g * units, shape_.units);
  }

  Conv2DShape shape_;
  Index block_;
  std::vector<float> weights_;
  std::vector<float> bias_;
  FloatClamp clamp_;
};

// ---- The operator

/// Throws FormatError unless the filter's channels divide those of the input into whole groups.
void check_groups(const OperatorView& view) {
  const std::int32_t channels = view.input().shape[3];
  const std::int32_t read = view.input(1).shape[3];
  const std::int32_t units = view.input(1).shape[0];
  if (read > 0 && channels % read == 0 && units % (channels / read) == 0) return;
  view.fail(
      fmt::format("expected filters over all {} channels of the input, or over those of a group "
                  "among groups of equally many of the {} filters, found filters over {} channels",
                  channels, units, read));
}

void check_conv_2d(const OperatorView& view) {
  const ModelTensor& filter = view.input(1);
  if (filter.shape.size() != 4) {
    view.fail(fmt::format("expected a filter [units, height, width, inputs], found shape [{}]",
                          fmt::join(filter.shape, ", ")));
  }
  require_window(view, view.op.as<Conv2DAttributes>(), filter.shape[1], filter.shape[2],
                 filter.shape[0]);
  check_groups(view);
  const auto& zero_points = filter.quantization.zero_points;
  if (std::ranges::any_of(zero_points, [](std::int32_t z) { return z != 0; })) {
    view.fail("its filter has a zero point other than 0");
  }
  check_dense_operands(view);
}

std::unique_ptr<Kernel> make_conv_2d(const KernelSource& source) {
  const Conv2DShape shape = conv_2d_shape(source);
  if (source.input().dtype == DType::float32) {
    if (shape.is_dense()) return make_float_dense(source);
    return std::make_unique<FloatConv>(shape, source);
  }
  const FullyConnectedNumbers numbers = conv_2d_numbers(source);
  if (shape.is_dense()) return make_int8_dense(numbers);
  return std::make_unique<Int8Conv>(shape, numbers);
}

std::size_t conv_2d_bytes(const Operands& operands) {
  const Conv2DShape shape = conv_2d_shape(operands);
  if (operands.input().dtype == DType::float32) {
    return static_cast<std::size_t>(shape.units * (shape.depth() + 1)) * sizeof(float);
  }
  return static_cast<std::size_t>(shape.groups) *
             DenseSums::bytes(shape.group_units(), shape.depth()) +
         static_cast<std::size_t>(std::max(shape.units, shape.groups)) *
             sizeof(QuantizedMultiplier);
}

}  // namespace

Conv2DShape conv_2d_shape(const Operands& operands) {
  const auto& filter = operands.input(1).shape;
  const auto& image = operands.input().shape;
  return {.window = window_of(operands, operands.op.as<Conv2DAttributes>(), filter[1], filter[2]),
          .images = image[0],
          .channels = image[3],
          .groups = image[3] / filter[3],
          .units = filter[0]};
}

FullyConnectedNumbers conv_2d_numbers(const KernelSource& source) {
  const bool grouped = conv_2d_shape(source).groups > 1;
  const Rounding rounding = grouped && source.rounding == Rounding::single_rounding
                                ? Rounding::double_rounding
                                : source.rounding;
  return dense_numbers(source,
                       Requantizer::convolution(source.input().quantization.scale(),
                                                source.input(1).quantization.scales,
                                                source.output().quantization.scale(), rounding));
}

OperatorDefinition definitions::conv_2d() {
  return checked({.name = "CONV_2D",
                  .default_attributes = default_of<Conv2DAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .check = check_conv_2d,
                  .make_kernel = make_conv_2d,
                  .kernel_bytes = conv_2d_bytes});
}

}  // namespace octet::detail
