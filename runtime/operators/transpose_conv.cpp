#include <fmt/format.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/block_kernels.h>
#include <octet/runtime/operators/transpose_conv.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// Products that are made at once stay in the cache.
constexpr Index kProducts = 16384;

/// The operand behind the bias.
constexpr std::size_t kShape = 3;

void check_output_shape(const OperatorView& view) {
  if (!view.has_input(kShape)) view.fail("expected its output's shape as its last input");
  const ModelTensor& shape = view.input(kShape);
  const std::vector<std::int32_t>& output = view.output().shape;
  const bool constant = shape.dtype == DType::int32 && shape.is_constant();
  const auto values = constant ? values_of<std::int32_t>(shape) : std::vector<std::int32_t>();
  if (constant && values == output) return;
  view.fail(
      fmt::format("expected its output's shape [{}] as an int32 constant, found '{}' of {}, "
                  "{}",
                  fmt::join(output, ", "), shape.name, to_string(shape.dtype),
                  constant ? fmt::format("[{}]", fmt::join(values, ", ")) : "no constant"));
}

void check_axis(const OperatorView& view, std::size_t axis, std::int32_t stride) {
  const std::int32_t input = view.input().shape[axis];
  const std::int32_t output = view.output().shape[axis];
  const std::int32_t kernel = view.input(1).shape[axis];
  const Padding padding = view.op.as<TransposeConvAttributes>().padding;
  WindowAxis window;
  try {
    window = slide_window(output, kernel, stride, 1, padding);
  } catch (const InvalidArgument& error) {
    view.fail(error.what());
  }
  if (window.output == input) return;
  view.fail(
      fmt::format("expected an output from which a convolution with a kernel of {}, a stride "
                  "of {} and padding {} leads back to the {} of axis {}, found {}",
                  kernel, stride, to_string(padding), input, axis, output));
}

void check_transpose_conv(const OperatorView& view) {
  const auto& a = view.op.as<TransposeConvAttributes>();
  const ModelTensor& weights = view.input(1);
  const auto& image = view.input().shape;
  const auto& output = view.output().shape;
  if (weights.shape.size() != 4) {
    view.fail(fmt::format("expected weights [units, height, width, channels], found shape [{}]",
                          fmt::join(weights.shape, ", ")));
  }
  if (image.size() != 4 || image[3] != weights.shape[3]) {
    view.fail(fmt::format("expected images [n, height, width, {}], found shape [{}]",
                          weights.shape[3], fmt::join(image, ", ")));
  }
  if (output.size() != 4 || output[0] != image[0] || output[3] != weights.shape[0]) {
    view.fail(fmt::format("expected an output [{}, height, width, {}], found shape [{}]", image[0],
                          weights.shape[0], fmt::join(output, ", ")));
  }
  check_axis(view, 1, a.stride_h);
  check_axis(view, 2, a.stride_w);
  check_output_shape(view);
  const auto& zero_points = weights.quantization.zero_points;
  if (std::ranges::any_of(zero_points, [](std::int32_t z) { return z != 0; })) {
    view.fail("its weights have a zero point other than 0");
  }
  check_dense_operands(view);
}

std::unique_ptr<Kernel> make_transpose_conv(const KernelSource& source) {
  const Conv2DGeometry geometry = transpose_conv_geometry(source);
  if (source.input().dtype == DType::float32) {
    const auto weights = values_of<float>(source.input(1));
    return std::make_unique<FloatBlockKernel<TransposedFloatSums>>(
        TransposedFloatSums(geometry, weights, bias_of<float>(source), 0.0F),
        source.op.activation());
  }
  const FullyConnectedNumbers n = transpose_conv_numbers(source);
  return std::make_unique<QuantizedBlockKernel<std::int8_t, std::int32_t, TransposedCodeSums>>(
      TransposedCodeSums(geometry, n.weights, n.bias, n.input_zero_point), n.epilogue);
}

/// Every input pixel times the whole kernel.
std::int64_t transpose_conv_products(const Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return operands.input().size() * (weights.size() / weights.shape[3]);
}

std::size_t transpose_conv_bytes(const Operands& operands) {
  const Conv2DGeometry geometry = transpose_conv_geometry(operands);
  if (operands.input().dtype == DType::float32) return TransposedFloatSums::bytes(geometry);
  return TransposedCodeSums::bytes(geometry) +
         static_cast<std::size_t>(geometry.channels) * sizeof(QuantizedMultiplier);
}

/// A file has the output's shape in front, then the weights, the image and the bias.
constexpr std::array<std::size_t, 4> kTransposeConvOrder = {3, 1, 0, 2};

int transpose_conv_version(const Operands& o) {
  if (o.op.activation() != FusedActivation::none) return 4;
  return o.has_input(2) ? 3 : version_by_type<>(o);
}

}  // namespace

Conv2DGeometry transpose_conv_geometry(const Operands& operands) {
  const auto& a = operands.op.as<TransposeConvAttributes>();
  const auto& weights = operands.input(1).shape;
  const auto& output = operands.output().shape;
  return {.window = {slide_window(output[1], weights[1], a.stride_h, 1, a.padding),
                     slide_window(output[2], weights[2], a.stride_w, 1, a.padding)},
          .images = output[0],
          .channels = weights[0],
          .filters = weights[3],
          .groups = 1};
}

// ---- Sums

void FloatsOfKernelLine::multiply(Index pixels, const float* x, float* products) const {
  const Index rows = static_cast<Index>(rows_.size()) / depth_;
  gemm_f32(pixels, rows, depth_, {x, depth_}, {rows_.data(), depth_, Transpose::yes}, products,
           rows);
}

std::size_t FloatsOfKernelLine::thread_bytes(Index pixels) const {
  return gemm_f32_thread_bytes(pixels, static_cast<Index>(rows_.size()) / depth_, depth_);
}

template <class Code, class Sum, class KernelLine>
TransposedSums<Code, Sum, KernelLine>::TransposedSums(const Conv2DGeometry& geometry,
                                                      std::span<const Code> weights,
                                                      std::vector<Sum> bias, Sum zero_point)
    : geometry_(geometry), bias_(std::move(bias)) {
  const Index width = geometry.window.x.kernel;
  const Index height = geometry.window.y.kernel;
  const auto depth = static_cast<std::size_t>(geometry.filters);
  for (Index ky = 0; ky < height; ++ky) {
    std::vector<Code> rows;
    rows.reserve(static_cast<std::size_t>(width * units()) * depth);
    for (Index kx = 0; kx < width; ++kx) {
      for (Index unit = 0; unit < units(); ++unit) {
        const auto tap = static_cast<std::size_t>((unit * height + ky) * width + kx);
        const auto from = weights.subspan(tap * depth, depth);
        rows.insert(rows.end(), from.begin(), from.end());
      }
    }
    kernel_.emplace_back(std::move(rows), geometry.filters, zero_point);
  }
}

template <class Code, class Sum, class KernelLine>
std::size_t TransposedSums<Code, Sum, KernelLine>::bytes(const Conv2DGeometry& geometry) {
  const Window& w = geometry.window;
  return static_cast<std::size_t>(w.y.kernel) *
             (KernelLine::bytes(w.x.kernel * geometry.channels, geometry.filters) +
              sizeof(KernelLine)) +
         static_cast<std::size_t>(geometry.channels) * sizeof(Sum);
}

template <class Code, class Sum, class KernelLine>
Index TransposedSums<Code, Sum, KernelLine>::pixels_at_once() const {
  const WindowAxis& x = geometry_.window.x;
  return std::clamp<Index>(kProducts / (x.kernel * units()), 1, x.output);
}

template <class Code, class Sum, class KernelLine>
std::size_t TransposedSums<Code, Sum, KernelLine>::thread_bytes() const {
  return static_cast<std::size_t>(pixels_at_once() * geometry_.window.x.kernel * units()) *
             sizeof(Sum) +
         kernel_.front().thread_bytes(pixels_at_once());
}

template <class Code, class Sum, class KernelLine>
void TransposedSums<Code, Sum, KernelLine>::for_blocks(
    Index samples, const Code* x,
    FunctionRef<void(Index begin, Index end, FunctionRef<void(Sum*)> write_sums)> body) const {
  const WindowAxis& lines = geometry_.window.y;
  const Index columns = geometry_.window.x.input;
  const Index image_size = geometry_.window.outputs() * geometry_.filters;
  // Products for a line of the output, on average.
  const Index products = divided_up(image_size * geometry_.window.taps() * units(), lines.input);
  parallel_for(static_cast<std::size_t>(samples * geometry_.images * lines.input),
               parallel_grain(work_of_sums<Sum>(), static_cast<std::size_t>(products)),
               [&](std::size_t first, std::size_t last) {
                 for (auto line = static_cast<Index>(first); line < static_cast<Index>(last);
                      ++line) {
                   const Code* image = x + line / lines.input * image_size;
                   body(line * columns, (line + 1) * columns,
                        [&](Sum* sums) { write_line(image, line % lines.input, sums); });
                 }
               });
}

template <class Code, class Sum, class KernelLine>
void TransposedSums<Code, Sum, KernelLine>::write_line(const Code* image, Index oy,
                                                       Sum* sums) const {
  const WindowAxis& y = geometry_.window.y;
  const WindowAxis& x = geometry_.window.x;
  std::fill_n(sums, x.input * units(), Sum{});
  const Index step = pixels_at_once();
  const ScratchBuffer<Sum, TransposedSums> products(
      static_cast<std::size_t>(step * x.kernel * units()));
  // Tap ky of line iy of the input falls on line iy * stride - before + ky.
  const Index at = oy + y.before;
  const Index from = divided_up(std::max<Index>(at - (y.kernel - 1), 0), y.stride);
  const Index to = std::min(at / y.stride + 1, y.output);
  for (Index iy = from; iy < to; ++iy) {
    const KernelLine& line = kernel_[static_cast<std::size_t>(at - iy * y.stride)];
    for (Index ix = 0; ix < x.output; ix += step) {
      const Index end = std::min(ix + step, x.output);
      line.multiply(end - ix, image + (iy * x.output + ix) * geometry_.filters, products.data());
      add_products(ix, end, products.data(), sums);
    }
  }
  for (Index ox = 0; ox < x.input; ++ox, sums += units()) {
    for (Index unit = 0; unit < units(); ++unit) {
      sums[unit] += bias_[static_cast<std::size_t>(unit)];
    }
  }
}

/// Adds the products of the pixels [begin, end) of a line to the outputs that they fall on.
template <class Code, class Sum, class KernelLine>
void TransposedSums<Code, Sum, KernelLine>::add_products(Index begin, Index end,
                                                         const Sum* products, Sum* sums) const {
  const WindowAxis& x = geometry_.window.x;
  for (Index ix = begin; ix < end; ++ix, products += x.kernel * units()) {
    const Index first = x.begin(ix);
    const Index count = (x.end(ix) - first) * units();
    const Sum* from = products + first * units();
    Sum* to = sums + (x.first(ix) + first) * units();
    for (Index i = 0; i < count; ++i) to[i] += from[i];
  }
}

template class TransposedSums<std::int8_t, std::int32_t, CodesOfKernelLine>;
template class TransposedSums<float, float, FloatsOfKernelLine>;

// ---- Epilogue

bool xnnpack_takes_transpose_conv(const Conv2DGeometry& geometry, Padding padding) {
  const WindowAxis& y = geometry.window.y;
  const WindowAxis& x = geometry.window.x;
  return padding == Padding::valid || (y.stride <= y.kernel && x.stride <= x.kernel);
}

bool xnnpack_takes_transpose_conv(const Operands& operands) {
  const bool sound_bias = !operands.has_input(2) || operands.input(2).is_quantized();
  return sound_bias &&
         xnnpack_takes_transpose_conv(transpose_conv_geometry(operands),
                                      operands.op.as<TransposeConvAttributes>().padding);
}

Requantizer transpose_conv_requantizer(float input_scale, std::span<const float> weight_scales,
                                       float output_scale, Rounding rounding, bool xnnpack_takes) {
  const bool of_xnnpack = rounding == Rounding::fp32 && xnnpack_takes;
  return Requantizer::convolution(input_scale, weight_scales, output_scale,
                                  of_xnnpack ? Rounding::fp32 : Rounding::double_rounding);
}

FullyConnectedNumbers transpose_conv_numbers(const KernelSource& source) {
  return dense_numbers(
      source, transpose_conv_requantizer(source.input().quantization.scale(),
                                         source.input(1).quantization.scales,
                                         source.output().quantization.scale(), source.rounding,
                                         xnnpack_takes_transpose_conv(source)));
}

OperatorDefinition definitions::transpose_conv() {
  return checked({.name = "TRANSPOSE_CONV",
                  .releases = {10900, 20200, 20300, 21300},
                  .required_version = transpose_conv_version,
                  .file_order = kTransposeConvOrder,
                  .least_inputs = 2,
                  .most_inputs = 4,
                  .output_grid = OutputGrid::measured,
                  .check = check_transpose_conv,
                  .make_kernel = make_transpose_conv,
                  .kernel_bytes = transpose_conv_bytes,
                  .multiply_adds = transpose_conv_products});
}

}  // namespace octet::detail
