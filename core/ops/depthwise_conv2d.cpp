#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/depthwise.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// The fewest lines that justify waking a thread.
std::size_t line_grain(const DepthwiseConv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.window.x.output * s.window.taps() * s.filters());
  return parallel_grain(Work::map_floats, products);
}

/// Images [n, h, w, c] with every channel as often as it has filters: a multiplier is a convolution
/// of these, with a filter each.
Tensor repeated_channels(const Tensor& x, Index multiplier) {
  if (multiplier == 1) return x;
  Tensor result(Shape{x.dim(0), x.dim(1), x.dim(2), x.dim(3) * multiplier});
  const float* from = x.data();
  float* to = result.data();
  for (Index i = 0; i < x.size(); ++i) to = std::fill_n(to, multiplier, from[i]);
  return result;
}

/// The images that a kernel's gradient reads, line by line: from codes where they have not become
/// floats, which then take a pass over memory less.
class Images {
 public:
  Images(const DepthwiseConv2DGeometry& s, const Tensor& x)
      : line_(s.window.x.input * s.channels), lines_(s.window.y.input) {
    const bool reads_codes = s.multiplier == 1 && detail::TensorAccess::pending(x) != nullptr;
    if (reads_codes) codes_ = detail::TensorAccess::codes(x);
    if (codes_ != nullptr) {
      grid_ = detail::TensorAccess::grid(x);
    } else {
      line_ *= s.multiplier;
      floats_ = repeated_channels(x.detach(), s.multiplier);
    }
  }

  /// As LinesOfImage; `memory` is there for them.
  const float* lines(Index image, Index first, Index last, std::vector<float>& memory) const {
    const Index begin = image * lines_ * line_;
    if (codes_ == nullptr) return std::as_const(floats_).data() + begin;
    const auto size = static_cast<std::size_t>((last - first) * line_);
    memory.resize(std::max(memory.size(), size));
    dequantize({codes_.get() + begin + first * line_, size}, *grid_, {memory.data(), size});
    return memory.data() - first * line_;
  }

 private:
  Index line_;
  Index lines_;
  Tensor floats_;
  std::shared_ptr<const std::int8_t[]> codes_;
  std::shared_ptr<const QuantParams> grid_;
};

/// The gradient of what repeated_channels() takes.
Tensor sum_of_repeated(const Tensor& g, Index multiplier, const Shape& shape) {
  return multiplier == 1 ? g : sum(g.reshape({shape.size(), multiplier}), {1}).reshape(shape);
}

/// Computes all lines that `correlation` gives of images [lines, in_line]: line m of an image is
/// line first + m * step of results [out_lines, out_line].
struct LinesOf {
  Index images;
  Index in_lines, in_line;
  Index out_lines, out_line;
  Index first, step;
};

void run_lines(const DepthwiseCorrelation<float>& correlation, const LinesOf& l, std::size_t least,
               const float* x, float* y) {
  const auto count = static_cast<std::size_t>(l.images * correlation.lines());
  parallel_for(count, thread_share(count, least), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end);) {
      const Index image = i / correlation.lines();
      const Index m = i % correlation.lines();
      const Index lines = std::min(correlation.lines() - m, static_cast<Index>(end) - i);
      correlation.run(x + image * l.in_lines * l.in_line, m, m + lines,
                      y + (image * l.out_lines + l.first + m * l.step) * l.out_line,
                      l.step * l.out_line);
      i += lines;
    }
  });
}

void check_kernel(const Tensor& x, const Tensor& kernel) {
  const Shape& shape = kernel.shape();
  if (shape.rank() == 4 && shape[2] == x.dim(3) && shape[3] >= 1) return;
  const char* hint = "";
  if (shape.rank() == 4 && shape[2] == 1 && shape[3] % x.dim(3) == 0) {
    hint = "; a kernel of conv2d with groups? reshape it to [kh, kw, c, multiplier]";
  } else if (shape.rank() == 4 && shape[2] == x.dim(1)) {
    hint = "; images [n, c, h, w]? permute(x, {0, 2, 3, 1})";
  }
  throw InvalidArgument(
      fmt::format("depthwise_conv2d: expected a kernel [kh, kw, {}, multiplier] for images {}, "
                  "found shape {}{}",
                  x.dim(3), x.shape().to_string(), shape.to_string(), hint));
}

void check_bias(const Tensor& bias, const DepthwiseConv2DGeometry& s) {
  if (!bias.defined() || bias.shape() == Shape{s.filters()}) return;
  throw InvalidArgument(
      fmt::format("depthwise_conv2d: expected a bias of shape {}, one per filter, found {}",
                  Shape{s.filters()}.to_string(), bias.shape().to_string()));
}

}  // namespace

DepthwiseConv2DGeometry depthwise_conv2d_geometry(const Tensor& x, const Tensor& kernel,
                                                  const DepthwiseConv2DOptions& options) {
  check_images("depthwise_conv2d", x);
  check_kernel(x, kernel);
  const Shape& shape = kernel.shape();
  return {.window = window_over("depthwise_conv2d", x, {shape[0], shape[1]}, options.stride,
                                options.dilation, options.padding),
          .images = x.dim(0),
          .channels = x.dim(3),
          .multiplier = shape[3]};
}

Tensor depthwise_conv2d_input_gradient(const DepthwiseConv2DGeometry& s, const Tensor& kernel,
                                       const Tensor& g) {
  const Window& w = s.window;
  const Index width = s.filters();
  Tensor dx(Shape{s.images, w.y.input, w.x.input, width});
  // Pixels whose distance is a multiple of the stride read the same taps.
  for (Index y = 0; y < std::min(w.y.stride, w.y.input); ++y) {
    for (Index x = 0; x < std::min(w.x.stride, w.x.input); ++x) {
      const DepthwiseCorrelation<float> correlation(CorrelationAxis::backward(w.y, y),
                                                    CorrelationAxis::backward(w.x, x), w.x.kernel,
                                                    width, kernel.data(), nullptr);
      run_lines(
          correlation,
          {s.images, w.y.output, w.x.output * width, w.y.input, w.x.input * width, y, w.y.stride},
          line_grain(s), g.data(), dx.data());
    }
  }
  return sum_of_repeated(dx, s.multiplier, s.input_shape());
}

Tensor depthwise_conv2d_kernel_gradient(const DepthwiseConv2DGeometry& s, const Tensor& x,
                                        const Tensor& g) {
  const Images images(s, x);
  return sum_of_parts(
      s.kernel_shape(), s.rows(), [&, upstream = g.data()](Index begin, Index end, float* sums) {
        std::vector<float> memory;
        const auto lines = [&](Index image, Index first, Index last) {
          return images.lines(image, first, last, memory);
        };
        depthwise_products_f32(s.window, s.filters(), lines, upstream, begin, end, sums);
      });
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const DepthwiseConv2DOptions& options) {
  return depthwise_conv2d(x, kernel, Tensor(), options);
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const DepthwiseConv2DOptions& options) {
  const DepthwiseConv2DGeometry s = depthwise_conv2d_geometry(x, kernel, options);
  check_bias(bias, s);
  const Window& w = s.window;
  const Index width = s.filters();
  const Tensor images = repeated_channels(x.detach(), s.multiplier);
  Tensor y(s.output_shape());
  const DepthwiseCorrelation<float> correlation(
      CorrelationAxis::forward(w.y), CorrelationAxis::forward(w.x), w.x.kernel, width,
      kernel.data(), bias.defined() ? bias.data() : nullptr);
  run_lines(correlation,
            {s.images, w.y.input, w.x.input * width, w.y.output, w.x.output * width, 0, 1},
            line_grain(s), images.data(), y.data());
  return record("depthwise_conv2d", y, {x, kernel, bias}, [s, x, kernel, bias](const Tensor& g) {
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) gradients[0] = depthwise_conv2d_input_gradient(s, kernel, g);
    if (kernel.requires_grad()) gradients[1] = depthwise_conv2d_kernel_gradient(s, x, g);
    if (bias.requires_grad()) gradients[2] = sum(g, {0, 1, 2});
    return gradients;
  });
}

}  // namespace octet
