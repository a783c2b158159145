#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/pool2d.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace octet {
namespace {

using detail::TensorAccess;

struct Pooling {
  Window window;
  Index images, channels;

  Shape input_shape() const { return {images, window.y.input, window.x.input, channels}; }
  Shape output_shape() const { return {images, window.y.output, window.x.output, channels}; }
};

Pooling pooling_of(std::string_view operation, const Tensor& x, const Pool2DOptions& options) {
  check_images(operation, x);
  if (options.padding == Padding::causal) {
    throw InvalidArgument(fmt::format(
        "{}: expected padding valid or same, found causal, which convolutions alone have",
        operation));
  }
  return {window_over(operation, x, options.size, options.stride, {1, 1}, options.padding),
          x.dim(0), x.dim(3)};
}

/// What threads divide among them: whole images where windows add to pixels that they share.
enum class Split { outputs, images };

/// Calls body(o, input, output) for every window, where `input` and `output` are the offsets of the
/// image and of the output's pixel. Each thread has a body of its own, from make_body().
template <class MakeBody>
void for_each_window(const Pooling& p, Split split, MakeBody&& make_body) {
  const Index outputs = p.window.outputs();
  const Index item = split == Split::images ? outputs : 1;
  const auto items = static_cast<std::size_t>(p.images * outputs / item);
  const auto pixels = static_cast<std::size_t>(item * p.window.taps() * p.channels);
  const std::size_t least = parallel_grain(Work::map_floats, pixels);
  parallel_for(items, thread_share(items, least), [&](std::size_t begin, std::size_t end) {
    auto body = make_body();
    const Index last = static_cast<Index>(end) * item;
    for (Index row = static_cast<Index>(begin) * item; row < last; ++row) {
      body(row % outputs, row / outputs * p.window.inputs() * p.channels, row * p.channels);
    }
  });
}

/// Calls body(windows, input, output) for every line of windows side by side, with the offsets of
/// its first pixel and of its first output.
template <class Body>
void for_each_line(const Pooling& p, Body&& body) {
  const WindowAxis& y = p.window.y;
  const WindowAxis& x = p.window.x;
  const Index line = x.input * p.channels;
  const PoolWindows windows{y.kernel, x.kernel, line, p.channels, x.output};
  const auto lines = static_cast<std::size_t>(p.images * y.output);
  const auto pixels = static_cast<std::size_t>(y.kernel * line);
  const std::size_t least = parallel_grain(Work::map_floats, pixels);
  parallel_for(lines, thread_share(lines, least), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
      const Index top = i / y.output * y.input + i % y.output * y.kernel;
      body(windows, top * line, i * x.output * p.channels);
    }
  });
}

/// Whether `value` takes the place of the `largest` so far.
bool exceeds(float value, float largest) { return !(value <= largest) && largest == largest; }
bool exceeds(std::int8_t value, std::int8_t largest) { return value > largest; }

void largest_of_line(const float* x, const PoolWindows& windows, float* y) {
  kernels().passes.max_pool(x, windows, y);
}
void largest_of_line(const std::int8_t* x, const PoolWindows& windows, std::int8_t* y) {
  kernels().passes.max_pool_codes(x, windows, y);
}

void gradient_of_line(const float* x, const float* g, const PoolWindows& windows, float* dx) {
  kernels().passes.max_pool_gradient(x, g, windows, dx);
}
void gradient_of_line(const std::int8_t* x, const float* g, const PoolWindows& windows, float* dx) {
  const auto size = static_cast<std::size_t>(windows.height * windows.line);
  const ScratchBuffer<float, PoolWindows> numbers(size);
  kernels().passes.dequantize(x, size, 1.0F, 0, numbers.data());
  gradient_of_line(numbers.data(), g, windows, dx);
}

/// Writes the largest value of every window, of floats or of quantized values.
template <class T>
void largest_values(const Pooling& p, const T* x, T* y) {
  if (p.window.is_tiling()) {
    return for_each_line(p, [&](const PoolWindows& windows, Index input, Index output) {
      largest_of_line(x + input, windows, y + output);
    });
  }
  for_each_window(p, Split::outputs, [&] {
    return [&](Index o, Index input, Index output) {
      T* largest = y + output;
      bool first = true;
      for_each_tap(p.window, o, [&](Index /*tap*/, Index pixel) {
        const T* values = x + input + pixel * p.channels;
        if (first) std::copy_n(values, p.channels, largest);
        first = false;
        for (Index c = 0; c < p.channels; ++c) {
          largest[c] = exceeds(values[c], largest[c]) ? values[c] : largest[c];
        }
      });
    };
  });
}

/// Adds to dx.
template <class T>
void add_max_gradient(const Pooling& p, const T* x, const float* g, float* dx) {
  const auto channels = static_cast<std::size_t>(p.channels);
  for_each_window(p, Split::images, [&] {
    return [&, largest = std::vector<T>(channels), place = std::vector<Index>(channels)](
               Index o, Index input, Index output) mutable {
      bool first = true;
      for_each_tap(p.window, o, [&](Index /*tap*/, Index pixel) {
        const T* values = x + input + pixel * p.channels;
        for (std::size_t c = 0; c < channels; ++c) {
          if (!first && !exceeds(values[c], largest[c])) continue;
          largest[c] = values[c];
          place[c] = pixel;
        }
        first = false;
      });
      for (std::size_t c = 0; c < channels; ++c) {
        const auto channel = static_cast<Index>(c);
        dx[input + place[c] * p.channels + channel] += g[output + channel];
      }
    };
  });
}

template <class T>
Tensor max_gradient(const Pooling& p, const T* x, const float* g) {
  const auto is_cut = [](const WindowAxis& axis) { return axis.input % axis.kernel != 0; };
  if (!p.window.is_tiling()) {
    Tensor dx = Tensor::zeros(p.input_shape());
    add_max_gradient(p, x, g, dx.mutable_data());
    return dx;
  }
  // Pixels behind the last window are in none.
  Tensor dx = is_cut(p.window.y) || is_cut(p.window.x) ? Tensor::zeros(p.input_shape())
                                                       : Tensor(p.input_shape());
  float* pixels = dx.mutable_data();
  for_each_line(p, [&](const PoolWindows& windows, Index input, Index output) {
    gradient_of_line(x + input, g + output, windows, pixels + input);
  });
  return dx;
}

Index count_taps(const Window& window, Index o) {
  const Index oy = o / window.x.output;
  const Index ox = o % window.x.output;
  return (window.y.end(oy) - window.y.begin(oy)) * (window.x.end(ox) - window.x.begin(ox));
}

void mean_values(const Pooling& p, const float* x, float* y) {
  const auto channels = static_cast<std::size_t>(p.channels);
  for_each_window(p, Split::outputs, [&] {
    return [&, sums = std::vector<double>(channels)](Index o, Index input, Index output) mutable {
      std::ranges::fill(sums, 0.0);
      for_each_tap(p.window, o, [&](Index /*tap*/, Index pixel) {
        const float* values = x + input + pixel * p.channels;
        for (std::size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(values[c]);
      });
      const auto count = static_cast<double>(count_taps(p.window, o));
      for (std::size_t c = 0; c < channels; ++c) {
        y[output + static_cast<Index>(c)] = static_cast<float>(sums[c] / count);
      }
    };
  });
}

void mean_gradient(const Pooling& p, const float* g, float* dx) {
  for_each_window(p, Split::images, [&] {
    return [&](Index o, Index input, Index output) {
      const float* upstream = g + output;
      const auto count = static_cast<float>(count_taps(p.window, o));
      for_each_tap(p.window, o, [&](Index /*tap*/, Index pixel) {
        float* to = dx + input + pixel * p.channels;
        for (Index c = 0; c < p.channels; ++c) to[c] += upstream[c] / count;
      });
    };
  });
}

/// Whether a larger code has a larger real value, finite and not rounded to that of another.
bool is_in_order(const QuantParams& grid) {
  constexpr float kMostSteps = 255.0F;
  return !grid.per_channel() && grid.scale() >= std::numeric_limits<float>::min() &&
         std::isfinite(grid.scale() * kMostSteps);
}

/// Computes max pooling on the quantized values of x, from which the real values follow.
Tensor max_pool_codes(const Tensor& x, const Pooling& pooling, detail::StoredIntegers codes) {
  const Shape shape = pooling.output_shape();
  auto largest = allocate_array<std::int8_t>(static_cast<std::size_t>(shape.size()));
  largest_values(pooling, codes.as<std::int8_t>(), largest.get());
  const Tensor y = quantized_tensor(shape, x.quantization(), std::move(largest));
  const auto backward = [pooling, codes = std::move(codes)](const Tensor& g) {
    return std::vector<Tensor>{max_gradient(pooling, codes.as<std::int8_t>(), g.data())};
  };
  return record("max_pool2d", y, {x}, backward, BackwardReads::nothing);
}

Tensor max_pool_reals_as(std::string_view operation, const Tensor& x, const Pooling& pooling) {
  Tensor y(pooling.output_shape());
  largest_values(pooling, x.data(), y.mutable_data());
  return record(operation, y, {x}, [pooling, x](const Tensor& g) {
    return std::vector<Tensor>{max_gradient(pooling, x.data(), g.data())};
  });
}

Tensor average_pool_as(std::string_view operation, const Tensor& x, const Pool2DOptions& options) {
  const Pooling pooling = pooling_of(operation, x, options);
  Tensor y(pooling.output_shape());
  mean_values(pooling, x.data(), y.mutable_data());
  const auto backward = [pooling](const Tensor& g) {
    Tensor dx = Tensor::zeros(pooling.input_shape());
    mean_gradient(pooling, g.data(), dx.mutable_data());
    return std::vector<Tensor>{dx};
  };
  return record(operation, y, {x}, backward, BackwardReads::nothing);
}

/// A window as large as the image.
Pool2DOptions whole_image(std::string_view operation, const Tensor& x) {
  check_images(operation, x);
  return {.size = {x.dim(1), x.dim(2)}};
}

}  // namespace

Tensor max_pool2d(const Tensor& x, const Pool2DOptions& options) {
  const Pooling pooling = pooling_of("max_pool2d", x, options);
  detail::StoredIntegers integers = TensorAccess::integers(x);
  if (integers.dtype == DType::int8 && is_in_order(*x.quantization())) {
    return max_pool_codes(x, pooling, std::move(integers));
  }
  return max_pool_reals_as("max_pool2d", x, pooling);
}

Tensor average_pool2d(const Tensor& x, const Pool2DOptions& options) {
  return average_pool_as("average_pool2d", x, options);
}

/// Computes in floats even where x has quantized values: in integers it is two operators,
/// MAX_POOL_2D and RESHAPE, each of which computes its own.
Tensor global_max_pool2d(const Tensor& x) {
  constexpr std::string_view kName = "global_max_pool2d";
  return max_pool_reals_as(kName, x, pooling_of(kName, x, whole_image(kName, x)))
      .reshape({x.dim(0), x.dim(3)});
}

Tensor global_average_pool2d(const Tensor& x) {
  return average_pool_as("global_average_pool2d", x, whole_image("global_average_pool2d", x))
      .reshape({x.dim(0), x.dim(3)});
}

}  // namespace octet
