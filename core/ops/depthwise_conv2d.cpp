#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/depthwise.h>
#include <octet/core/ops/depthwise_conv2d_internal.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// The fewest lines that justify waking a thread.
std::size_t line_grain(const Conv2DGeometry& s) {
  const auto products = static_cast<std::size_t>(s.window.x.output * s.window.taps() * s.filters);
  return parallel_grain(Work::map_floats, products);
}

/// Images [n, h, w, c] with every channel as often as it has filters: a multiplier is a convolution
/// of these, with a filter each.
Tensor repeated_channels(const Tensor& x, Index multiplier) {
  if (multiplier == 1) return x;
  Tensor result(Shape{x.dim(0), x.dim(1), x.dim(2), x.dim(3) * multiplier});
  const float* from = x.data();
  float* to = result.mutable_data();
  for (Index i = 0; i < x.size(); ++i) to = std::fill_n(to, multiplier, from[i]);
  return result;
}

/// The images of a convolution, line by line: from codes where they have not become floats, and
/// from what they are computed from where that is on demand, which takes a pass over memory less.
class Images {
 public:
  Images(const Conv2DGeometry& s, const Tensor& x)
      : pixels_(s.window.x.input), line_(pixels_ * s.channels), lines_(s.window.y.input) {
    const bool in_place = s.filters_per_group() == 1;
    if (in_place && detail::TensorAccess::pending(x) != nullptr) {
      integers_ = detail::TensorAccess::integers(x);
    }
    if (integers_.as<std::int8_t>() != nullptr) {
      params_ = x.quantization();
    } else if (in_place && computes_rows(x, s.channels)) {
      rows_.emplace(x, s.channels);
    } else {
      line_ *= s.filters_per_group();
      floats_ = repeated_channels(x.detach(), s.filters_per_group());
    }
  }

  /// Returns the lines [first, last) of an image as a LinesOfImage does; `memory` is there for
  /// them.
  const float* lines(Index image, Index first, Index last, std::vector<float>& memory) const {
    const Index begin = image * lines_ * line_;
    if (floats_.defined()) return floats_.data() + begin;
    const auto size = static_cast<std::size_t>((last - first) * line_);
    memory.resize(std::max(memory.size(), size));
    if (rows_) {
      const Index row = image * lines_ * pixels_;
      rows_->read(row + first * pixels_, row + last * pixels_, memory.data());
    } else {
      dequantize({integers_.as<std::int8_t>() + begin + first * line_, size}, *params_,
                 {memory.data(), size});
    }
    return memory.data() - first * line_;
  }

  /// Asks for an image that is read soon.
  void prefetch(Index image) const {
    constexpr Index kMost = Index{1} << 14;
    const Index size = lines_ * line_;
    if (floats_.defined() && size <= kMost) prefetch_floats(floats_.data() + image * size, size);
  }

 private:
  Index pixels_;
  Index line_;
  Index lines_;
  /// const, so that threads may read it.
  Tensor floats_;
  std::optional<TensorRows> rows_;
  detail::StoredIntegers integers_;
  std::shared_ptr<const QuantParams> params_;
};

/// The gradient of what repeated_channels() takes.
Tensor sum_of_repeated(const Tensor& g, Index multiplier, const Shape& shape) {
  return multiplier == 1 ? g : sum(g.reshape({shape.size(), multiplier}), {1}).reshape(shape);
}

/// Computes all lines that `correlation` gives of images: line m of an image is line first + m *
/// step of results [out_lines, out_line].
struct LinesOf {
  Index images;
  Index out_lines, out_line;
  Index first, step;
};

/// in(image, first, last, memory) is where an image begins or would begin; its lines [first, last)
/// are there. `next(image)` is called before the image that is read behind another.
template <class In, class Next>
void run_lines(const DepthwiseCorrelation<float>& correlation, const LinesOf& l, std::size_t least,
               const In& in, const Next& next, float* y) {
  const auto count = static_cast<std::size_t>(l.images * correlation.lines());
  parallel_for(count, thread_share(count, least), [&](std::size_t begin, std::size_t end) {
    std::vector<float> memory;
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end);) {
      const Index image = i / correlation.lines();
      const Index m = i % correlation.lines();
      const Index lines = std::min(correlation.lines() - m, static_cast<Index>(end) - i);
      i += lines;
      if (i < static_cast<Index>(end)) next(image + 1);
      const auto [first, last] = correlation.lines_read(m, m + lines);
      correlation.run(in(image, first, last, memory), m, m + lines,
                      y + (image * l.out_lines + l.first + m * l.step) * l.out_line,
                      l.step * l.out_line);
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

}  // namespace

Conv2DGeometry depthwise_conv2d_geometry(const Tensor& x, const Tensor& kernel,
                                         const DepthwiseConv2DOptions& options) {
  check_images("depthwise_conv2d", x);
  check_kernel(x, kernel);
  const Shape& shape = kernel.shape();
  return {.window = window_over("depthwise_conv2d", x, {shape[0], shape[1]}, options.stride,
                                options.dilation, options.padding),
          .images = x.dim(0),
          .channels = x.dim(3),
          .filters = x.dim(3) * shape[3],
          .groups = x.dim(3)};
}

namespace {

/// The gradient of images from that of results. Pixels whose distance is a multiple of the stride
/// read the same taps: a phase.
class InputGradient {
 public:
  InputGradient(const Conv2DGeometry& s, const Tensor& kernel)
      : s_(s), in_line_(s.window.x.input * s.filters), out_line_(s.window.x.output * s.filters) {
    const Window& w = s.window;
    for (Index y = 0; y < std::min(w.y.stride, w.y.input); ++y) {
      for (Index x = 0; x < std::min(w.x.stride, w.x.input); ++x) {
        phases_.push_back({y,
                           {CorrelationAxis::backward(w.y, y), CorrelationAxis::backward(w.x, x),
                            w.x.kernel, s.filters, kernel.data(), nullptr}});
      }
    }
  }

  /// Writes the gradient of one image, in which every channel occurs as often as it has filters.
  void write_image(const float* g, float* dx) const {
    for (const Phase& phase : phases_) {
      const Index lines = phase.correlation.lines();
      phase.correlation.run(g, 0, lines, dx + phase.first * in_line_,
                            s_.window.y.stride * in_line_);
    }
  }
  void write_all(const float* g, float* dx) const {
    const Window& w = s_.window;
    const auto in = [&](Index image, Index, Index, std::vector<float>&) {
      return g + image * w.y.output * out_line_;
    };
    for (const Phase& phase : phases_) {
      run_lines(
          phase.correlation, {s_.images, w.y.input, in_line_, phase.first, w.y.stride},
          line_grain(s_), in, [](Index) {}, dx);
    }
  }

 private:
  struct Phase {
    Index first;
    DepthwiseCorrelation<float> correlation;
  };

  Conv2DGeometry s_;
  Index in_line_;
  Index out_line_;
  std::vector<Phase> phases_;
};

Tensor repeated_images(const Conv2DGeometry& s) {
  return Tensor(Shape{s.images, s.window.y.input, s.window.x.input, s.filters});
}

/// Reads the gradient of an image when its products are to be made, and then makes the rest.
class ImageGradients {
 public:
  ImageGradients(const Conv2DGeometry& s, const TensorRows& g, const InputGradient* input_gradient,
                 float* dx)
      : s_(s),
        g_(g),
        memory_(g.scratch(s.window.outputs())),
        input_gradient_(input_gradient),
        dx_(dx),
        totals_(static_cast<std::size_t>(s.filters)) {}

  /// Returns the gradient of an image as a LinesOfImage does.
  const float* lines(Index image) {
    if (image == image_) return gradient_;
    image_ = image;
    const Index outputs = s_.window.outputs();
    gradient_ = g_.read(image * outputs, (image + 1) * outputs, memory_.data());
    if (gradient_ != memory_.data()) prefetch_floats(gradient_, outputs * s_.filters);
    if (dx_ != nullptr) {
      input_gradient_->write_image(gradient_, dx_ + image * s_.window.inputs() * s_.filters);
    }
    add_columns(gradient_, outputs, totals_);
    return gradient_;
  }

  void write_bias(float* sums) const {
    std::ranges::transform(totals_, sums, [](double total) { return static_cast<float>(total); });
  }

 private:
  const Conv2DGeometry& s_;
  const TensorRows& g_;
  ScratchBuffer<float, ImageGradients> memory_;
  const InputGradient* input_gradient_;
  float* dx_;
  std::vector<double> totals_;
  Index image_ = -1;
  const float* gradient_ = nullptr;
};

bool has_image_for_each_part(const Conv2DGeometry& s) {
  return s.images >= count_parts(s.rows(), s.kernel_shape().size());
}

}  // namespace

Tensor depthwise_conv2d_input_gradient(const Conv2DGeometry& s, const Tensor& kernel,
                                       const Tensor& g) {
  Tensor dx = repeated_images(s);
  InputGradient(s, kernel).write_all(g.data(), dx.mutable_data());
  return sum_of_repeated(dx, s.filters_per_group(), s.input_shape());
}

Tensor depthwise_conv2d_kernel_gradient(const Conv2DGeometry& s, const Tensor& x, const Tensor& g) {
  if (has_image_for_each_part(s)) {
    return depthwise_conv2d_gradients(s, x, Tensor(), g, {false, true, false}).kernel;
  }
  const Images images(s, x);
  const auto add_part = [&, upstream = g.data()](Index begin, Index end, float* sums) {
    std::vector<float> memory;
    const auto lines = [&](Index image, Index first, Index last) {
      return images.lines(image, first, last, memory);
    };
    const Index line = s.window.x.output * s.filters;
    const auto gradients = [&](Index image, Index first, Index last) {
      const float* const of_image = upstream + image * s.window.y.output * line;
      prefetch_floats(of_image + first * line, (last - first) * line);
      return of_image;
    };
    depthwise_products_f32(s.window, s.filters, lines, gradients, begin, end, sums);
  };
  return sum_of_parts(s.kernel_shape(), s.rows(), add_part, s.window.outputs());
}

ConvGradients depthwise_conv2d_gradients(const Conv2DGeometry& s, const Tensor& x,
                                         const Tensor& kernel, const Tensor& g,
                                         const WantedGradients& wanted) {
  ConvGradients result;
  if (!wanted.kernel || !has_image_for_each_part(s)) {
    if (wanted.x) {
      const ProfilePart profiled("input gradient");
      result.x = depthwise_conv2d_input_gradient(s, kernel, g);
    }
    const ProfilePart profiled("kernel gradient");
    if (wanted.kernel) result.kernel = depthwise_conv2d_kernel_gradient(s, x, g);
    if (wanted.bias) result.bias = sum(g, {0, 1, 2});
    return result;
  }
  const ProfilePart profiled(wanted.x ? "gradients" : "kernel gradient");
  const Images images(s, x);
  const TensorRows gradients(g, s.filters);
  std::optional<InputGradient> input_gradient;
  Tensor dx;
  if (wanted.x) {
    input_gradient.emplace(s, kernel);
    dx = repeated_images(s);
  }
  float* const to = wanted.x ? dx.mutable_data() : nullptr;
  const auto add_part = [&](Index begin, Index end, std::span<float* const> sums) {
    std::vector<float> memory;
    ImageGradients of_image(s, gradients, input_gradient ? &*input_gradient : nullptr, to);
    const auto lines = [&](Index image, Index first, Index last) {
      return images.lines(image, first, last, memory);
    };
    const auto lines_of_g = [&](Index image, Index /*first*/, Index /*last*/) {
      return of_image.lines(image);
    };
    depthwise_products_f32(s.window, s.filters, lines, lines_of_g, begin, end, sums[0]);
    of_image.write_bias(sums[1]);
  };
  const std::vector<Tensor> sums =
      sums_of_parts({s.kernel_shape(), Shape{s.filters}}, s.rows(), add_part, s.window.outputs());
  if (wanted.x) result.x = sum_of_repeated(dx, s.filters_per_group(), s.input_shape());
  result.kernel = sums[0];
  if (wanted.bias) result.bias = sums[1];
  return result;
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel,
                        const DepthwiseConv2DOptions& options) {
  return depthwise_conv2d(x, kernel, Tensor(), options);
}

Tensor depthwise_conv2d(const Tensor& x, const Tensor& kernel, const Tensor& bias,
                        const DepthwiseConv2DOptions& options) {
  const Conv2DGeometry s = depthwise_conv2d_geometry(x, kernel, options);
  check_filter_bias("depthwise_conv2d", bias, s.filters);
  const Window& w = s.window;
  const Index width = s.filters;
  const Images images(s, x);
  Tensor y(s.output_shape());
  const DepthwiseCorrelation<float> correlation(
      CorrelationAxis::forward(w.y), CorrelationAxis::forward(w.x), w.x.kernel, width,
      kernel.data(), bias.defined() ? bias.data() : nullptr);
  const auto in = [&](Index image, Index first, Index last, std::vector<float>& memory) {
    return images.lines(image, first, last, memory);
  };
  run_lines(
      correlation, {s.images, w.y.output, w.x.output * width, 0, 1}, line_grain(s), in,
      [&](Index image) { images.prefetch(image); }, y.mutable_data());
  return record("depthwise_conv2d", y, {x, kernel, bias}, [s, x, kernel, bias](const Tensor& g) {
    const ConvGradients all = depthwise_conv2d_gradients(
        s, x, kernel, g, {x.requires_grad(), kernel.requires_grad(), bias.requires_grad()});
    const bool wanted = all.kernel.defined();
    return std::vector<Tensor>{all.x, wanted ? all.kernel.reshape(kernel.shape()) : Tensor(),
                               all.bias};
  });
}

}  // namespace octet
