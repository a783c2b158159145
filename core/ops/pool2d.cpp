#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/kernels/pool.h>
#include <octet/core/ops/pool2d.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/ops/window_internal.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace octet {
namespace {

using detail::count_pixels;
using detail::for_each_pixel;
using detail::for_each_window;
using detail::Pooling;
using detail::PoolSplit;
using detail::TensorAccess;

Shape input_shape(const Pooling& p) {
  return {p.images, p.window.y.input, p.window.x.input, p.channels};
}
Shape output_shape(const Pooling& p) {
  return {p.images, p.window.y.output, p.window.x.output, p.channels};
}

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

void gradient_of_line(const float* x, const float* g, const PoolWindows& windows, float* dx) {
  kernels().passes.max_pool_gradient(x, g, windows, dx);
}
void gradient_of_line(const std::int8_t* x, const float* g, const PoolWindows& windows, float* dx) {
  const auto size = static_cast<std::size_t>(windows.height * windows.line);
  const ScratchBuffer<float, PoolWindows> numbers(size);
  kernels().passes.dequantize(x, size, 1.0F, 0, numbers.data());
  gradient_of_line(numbers.data(), g, windows, dx);
}

/// Adds to dx.
template <class T>
void add_max_gradient(const Pooling& p, const T* x, const float* g, float* dx) {
  const auto channels = static_cast<std::size_t>(p.channels);
  for_each_window(p, PoolSplit::images, [&] {
    return [&, largest = std::vector<T>(channels), place = std::vector<Index>(channels)](
               Index o, Index input, Index output) mutable {
      bool first = true;
      for_each_pixel(p.window, o, [&](Index pixel) {
        const T* values = x + input + pixel * p.channels;
        for (std::size_t c = 0; c < channels; ++c) {
          if (!first && !detail::exceeds(values[c], largest[c])) continue;
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
    Tensor dx = Tensor::zeros(input_shape(p));
    add_max_gradient(p, x, g, dx.mutable_data());
    return dx;
  }
  // Pixels behind the last window are in none.
  Tensor dx = is_cut(p.window.y) || is_cut(p.window.x) ? Tensor::zeros(input_shape(p))
                                                       : Tensor(input_shape(p));
  float* pixels = dx.mutable_data();
  detail::for_each_line(p, [&](const PoolWindows& windows, Index input, Index output) {
    gradient_of_line(x + input, g + output, windows, pixels + input);
  });
  return dx;
}

void mean_gradient(const Pooling& p, const float* g, float* dx) {
  for_each_window(p, PoolSplit::images, [&] {
    return [&](Index o, Index input, Index output) {
      const float* upstream = g + output;
      const auto count = static_cast<float>(count_pixels(p.window, o));
      for_each_pixel(p.window, o, [&](Index pixel) {
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
  const Shape shape = output_shape(pooling);
  auto largest = allocate_array<std::int8_t>(static_cast<std::size_t>(shape.size()));
  detail::max_pool(pooling, codes.as<std::int8_t>(), largest.get());
  const Tensor y = quantized_tensor(shape, x.quantization(), std::move(largest));
  const auto backward = [pooling, codes = std::move(codes)](const Tensor& g) {
    return std::vector<Tensor>{max_gradient(pooling, codes.as<std::int8_t>(), g.data())};
  };
  return record("max_pool2d", y, {x}, backward, BackwardReads::nothing);
}

Tensor max_pool_reals_as(std::string_view operation, const Tensor& x, const Pooling& pooling) {
  Tensor y(output_shape(pooling));
  detail::max_pool(pooling, x.data(), y.mutable_data());
  return record(operation, y, {x}, [pooling, x](const Tensor& g) {
    return std::vector<Tensor>{max_gradient(pooling, x.data(), g.data())};
  });
}

Tensor average_pool_as(std::string_view operation, const Tensor& x, const Pool2DOptions& options) {
  const Pooling pooling = pooling_of(operation, x, options);
  Tensor y(output_shape(pooling));
  detail::average_pool(pooling, x.data(), y.mutable_data());
  const auto backward = [pooling](const Tensor& g) {
    Tensor dx = Tensor::zeros(input_shape(pooling));
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
