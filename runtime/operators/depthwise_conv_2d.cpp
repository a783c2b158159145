#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/float_clamp.h>
#include <octet/runtime/operators/image_window.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace octet::detail {
namespace {

/// Sums that are made at once stay in the cache.
constexpr Index kSums = 8192;

/// Sums of products, one column of outputs after the other.
template <class Code, class Sum>
class DepthwiseSums {
 public:
  /// Weights [taps, units].
  DepthwiseSums(const Conv2DGeometry& geometry, std::vector<Code> weights, std::vector<Sum> bias,
                Sum zero_point)
      : geometry_(geometry),
        weights_(std::move(weights)),
        bias_(std::move(bias)),
        zero_point_(zero_point) {}

  const Conv2DGeometry& geometry() const { return geometry_; }
  std::size_t bytes() const { return weights_.size() * sizeof(Code) + bias_.size() * sizeof(Sum); }

  /// Columns [begin, end) of row `oy` of the outputs of an image.
  void make(const Code* image, Index oy, Index begin, Index end, Sum* sums) const {
    const WindowAxis& y = geometry_.window.y;
    const WindowAxis& x = geometry_.window.x;
    for (Index ox = begin; ox < end; ++ox, sums += geometry_.filters) {
      std::copy(bias_.begin(), bias_.end(), sums);
      for (Index ky = y.begin(oy); ky < y.end(oy); ++ky) {
        const Code* line = image + (y.first(oy) + ky * y.dilation) * x.input * geometry_.channels;
        for (Index kx = x.begin(ox); kx < x.end(ox); ++kx) {
          add_tap(line + (x.first(ox) + kx * x.dilation) * geometry_.channels,
                  weights_.data() + (ky * x.kernel + kx) * geometry_.filters, sums);
        }
      }
    }
  }

 private:
  void add_tap(const Code* pixel, const Code* weights, Sum* sums) const {
    const Index channels = geometry_.channels;
    const Index multiplier = geometry_.filters_per_group();
    if (multiplier == 1) {
      for (Index c = 0; c < channels; ++c) sums[c] += (pixel[c] - zero_point_) * weights[c];
      return;
    }
    for (Index c = 0; c < channels; ++c, weights += multiplier, sums += multiplier) {
      const Sum value = pixel[c] - zero_point_;
      for (Index j = 0; j < multiplier; ++j) sums[j] += value * weights[j];
    }
  }

  Conv2DGeometry geometry_;
  std::vector<Code> weights_;
  /// One per unit.
  std::vector<Sum> bias_;
  Sum zero_point_;
};

/// Columns whose sums are made at once.
Index block_columns(const Conv2DGeometry& geometry) {
  return std::clamp<Index>(kSums / geometry.filters, 1, geometry.window.x.output);
}

/// Calls body(image, oy, begin, end, y) for blocks of columns of every row of outputs, y where the
/// first of them goes.
template <class Code, class Body>
void for_columns(const Conv2DGeometry& geometry, Work work, const KernelArguments& a, Body&& body) {
  const Window& w = geometry.window;
  const Index block = block_columns(geometry);
  const auto rows = static_cast<std::size_t>(a.samples * geometry.images * w.y.output);
  const Index taps = std::min(w.y.kernel, w.y.input) * std::min(w.x.kernel, w.x.input);
  const auto products = static_cast<std::size_t>(w.x.output * geometry.filters * taps);
  parallel_for(rows, parallel_grain(work, products), [&](std::size_t first, std::size_t last) {
    for (auto row = static_cast<Index>(first); row < static_cast<Index>(last); ++row) {
      const Code* image = a.input<Code>() + row / w.y.output * w.inputs() * geometry.channels;
      Code* y = a.to<Code>() + row * w.x.output * geometry.filters;
      for (Index begin = 0; begin < w.x.output; begin += block) {
        body(image, row % w.y.output, begin, std::min(begin + block, w.x.output),
             y + begin * geometry.filters);
      }
    }
  });
}

class Int8Depthwise final : public Kernel {
 public:
  explicit Int8Depthwise(const KernelSource& source, const FullyConnectedNumbers& n)
      : sums_(depthwise_geometry(source), values_of<std::int8_t>(source.input(1)), n.bias,
              n.input_zero_point),
        epilogue_(n.epilogue) {}

  std::size_t bytes() const override {
    return sums_.bytes() + epilogue_.requantizer.factors().size_bytes() +
           epilogue_.requantizer.multipliers().size_bytes();
  }
  std::size_t thread_bytes(Index /*samples*/) const override {
    const Conv2DGeometry& geometry = sums_.geometry();
    return static_cast<std::size_t>(block_columns(geometry) * geometry.filters) *
           sizeof(std::int32_t);
  }

  void run(const KernelArguments& a) const override {
    const Index units = sums_.geometry().filters;
    for_columns<std::int8_t>(
        sums_.geometry(), Work::integer_multiply_adds, a,
        [&](const std::int8_t* image, Index oy, Index begin, Index end, std::int8_t* y) {
          const auto count = static_cast<std::size_t>((end - begin) * units);
          const ScratchBuffer<std::int32_t, DepthwiseSums<std::int8_t, std::int32_t>> sums(count);
          sums_.make(image, oy, begin, end, sums.data());
          epilogue_.requantize({sums.data(), count}, {y, count});
        });
  }

 private:
  DepthwiseSums<std::int8_t, std::int32_t> sums_;
  DenseEpilogue epilogue_;
};

class FloatDepthwise final : public Kernel {
 public:
  explicit FloatDepthwise(const KernelSource& source)
      : sums_(depthwise_geometry(source), values_of<float>(source.input(1)),
              bias_of<float>(source, 3), 0.0F),
        clamp_(source.op.activation()) {}

  std::size_t bytes() const override { return sums_.bytes(); }

  void run(const KernelArguments& a) const override {
    const Index units = sums_.geometry().filters;
    for_columns<float>(sums_.geometry(), Work::float_multiply_adds, a,
                       [&](const float* image, Index oy, Index begin, Index end, float* y) {
                         sums_.make(image, oy, begin, end, y);
                         for (Index i = 0; i < (end - begin) * units; ++i) y[i] = clamp_(y[i]);
                       });
  }

 private:
  DepthwiseSums<float, float> sums_;
  FloatClamp clamp_;
};

// ---- The operator

void check_depthwise(const OperatorView& view) {
  const auto& a = view.op.as<DepthwiseConv2DAttributes>();
  const ModelTensor& filter = view.input(1);
  if (filter.shape.size() != 4 || filter.shape[0] != 1) {
    view.fail(fmt::format("expected a filter [1, height, width, units], found geometry [{}]",
                          fmt::join(filter.shape, ", ")));
  }
  require_window(view, a, filter.shape[1], filter.shape[2], filter.shape[3]);
  const std::int64_t units = std::int64_t{view.input().shape[3]} * a.depth_multiplier;
  if (a.depth_multiplier < 1 || units != filter.shape[3]) {
    view.fail(
        fmt::format("expected a filter of {} channels times a depth multiplier of {}, found "
                    "one of {}",
                    view.input().shape[3], a.depth_multiplier, filter.shape[3]));
  }
  const auto& zero_points = filter.quantization.zero_points;
  if (std::ranges::any_of(zero_points, [](std::int32_t z) { return z != 0; })) {
    view.fail("its filter has a zero point other than 0");
  }
  check_dense_operands(view, 3);
}

std::unique_ptr<Kernel> make_depthwise(const KernelSource& source) {
  if (source.input().dtype == DType::float32) return std::make_unique<FloatDepthwise>(source);
  std::vector<std::int8_t> weights;
  return std::make_unique<Int8Depthwise>(source, depthwise_numbers(source, weights));
}

std::size_t depthwise_bytes(const Operands& operands) {
  const Conv2DGeometry geometry = depthwise_geometry(operands);
  const auto weights = static_cast<std::size_t>(operands.input(1).size());
  const auto units = static_cast<std::size_t>(geometry.filters);
  if (operands.input().dtype == DType::float32) return (weights + units) * sizeof(float);
  return weights + units * (sizeof(std::int32_t) + sizeof(QuantizedMultiplier));
}

}  // namespace

Conv2DGeometry depthwise_geometry(const Operands& operands) {
  const auto& filter = operands.input(1).shape;
  const auto& image = operands.input().shape;
  return {.window = window_of(operands, operands.op.as<DepthwiseConv2DAttributes>(), filter[1],
                              filter[2]),
          .images = image[0],
          .channels = image[3],
          .filters = filter[3],
          .groups = image[3]};
}

Rounding depthwise_rounding(const KernelSource& source) {
  const bool of_xnnpack = source.rounding == Rounding::fp32 && source.has_input(2);
  return of_xnnpack ? Rounding::fp32 : Rounding::double_rounding;
}

FullyConnectedNumbers depthwise_numbers(const KernelSource& source,
                                        std::vector<std::int8_t>& weights) {
  const QuantParams input = stored_params(source.input());
  const Conv2DGeometry geometry = depthwise_geometry(source);
  const auto of_taps = values_of<std::int8_t>(source.input(1));
  const auto units = static_cast<std::size_t>(geometry.filters);
  const auto taps = static_cast<std::size_t>(geometry.window.taps());
  weights.resize(of_taps.size());
  std::vector<std::int64_t> magnitudes(units);
  for (std::size_t tap = 0; tap < taps; ++tap) {
    for (std::size_t unit = 0; unit < units; ++unit) {
      const std::int8_t weight = of_taps[tap * units + unit];
      weights[unit * taps + tap] = weight;
      magnitudes[unit] += std::abs(weight);
    }
  }
  FullyConnectedNumbers n{
      .rows = geometry.rows(),
      .depth = geometry.window.taps(),
      .units = geometry.filters,
      .input_zero_point = input.zero_point(),
      .weight_zero_point = 0,
      .weights = weights,
      .bias = bias_of<std::int32_t>(source, 3),
      .epilogue = {Requantizer::convolution(input.scale(), source.input(1).quantization.scales,
                                            source.output().quantization.scale(),
                                            depthwise_rounding(source)),
                   stored_params(source.output()), source.op.activation()},
      .largest_sum = 0};
  n.largest_sum =
      accumulator_bound(magnitudes, n.bias, farthest_from_zero_point(input), source.input(1).name);
  return n;
}

OperatorDefinition definitions::depthwise_conv_2d() {
  return checked({.name = "DEPTHWISE_CONV_2D",
                  .default_attributes = default_of<DepthwiseConv2DAttributes>,
                  .least_inputs = 2,
                  .most_inputs = 3,
                  .output_grid = OutputGrid::measured,
                  .check = check_depthwise,
                  .make_kernel = make_depthwise,
                  .kernel_bytes = depthwise_bytes});
}

}  // namespace octet::detail
