#pragma once

#include <octet/tests/deploy/onnx_model.h>

#include <limits>

// What ONNX's operators on images of [n, channels, height, width] compute, as the standard's text
// says, in float32 where that is the type.

namespace octet::test::onnx {

inline double f32(double x) { return double{static_cast<float>(x)}; }

/// Element (i, j, k, l) of a tensor of four axes.
inline double at(const OnnxTensor& t, std::int64_t i, std::int64_t j, std::int64_t k,
                 std::int64_t l) {
  return t.values.at(
      static_cast<std::size_t>(((i * t.shape.at(1) + j) * t.shape.at(2) + k) * t.shape.at(3) + l));
}

inline OnnxTensor transpose(const OnnxNode& node, const OnnxTensor& x) {
  const auto& order = node.lists.at("perm");
  OnnxTensor y{x.type, {}, std::vector<double>(x.values.size())};
  for (const std::int64_t axis : order) {
    y.shape.push_back(x.shape.at(static_cast<std::size_t>(axis)));
  }
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    std::vector<std::int64_t> places(x.shape.size());
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t k = x.shape.size(); k-- > 0;) {
      places[k] = rest % x.shape[k];
      rest /= x.shape[k];
    }
    std::int64_t index = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      index = index * y.shape[k] + places.at(static_cast<std::size_t>(order[k]));
    }
    y.values[static_cast<std::size_t>(index)] = x.values[i];
  }
  return y;
}

/// Over axes 1 and 2 of four, divided by `divisor`.
inline OnnxTensor sum_of_pixels(const OnnxNode& node, const OnnxTensor& x,
                                const std::vector<double>& axes, double divisor) {
  if (axes != std::vector<double>{1, 2}) throw std::runtime_error(node.op + ": other axes");
  const bool keeps = node.attributes.at("keepdims") == 1;
  OnnxTensor y{x.type, {x.shape.at(0), 1, 1, x.shape.at(3)}, {}};
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t c = 0; c < x.shape[3]; ++c) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < x.shape[1]; ++i) {
        for (std::int64_t j = 0; j < x.shape[2]; ++j) sum += at(x, n, i, j, c);
      }
      y.values.push_back(x.type == OnnxElement::float32 ? f32(sum / divisor) : sum);
    }
  }
  if (!keeps) y.shape = {x.shape[0], x.shape[3]};
  return y;
}

/// Computes Conv of images [n, channels, height, width] and filters [units, channels of a group,
/// ...].
inline OnnxTensor conv(const OnnxNode& node, const OnnxTensor& x, const OnnxTensor& w,
                       const OnnxTensor* bias) {
  const auto& stride = node.lists.at("strides");
  const auto& dilation = node.lists.at("dilations");
  const auto& pads = node.lists.at("pads");
  const std::vector<std::int64_t> kernel{w.shape.at(2), w.shape.at(3)};
  const std::int64_t groups = node.attributes.at("group");
  if (node.lists.at("kernel_shape") != kernel || x.shape.at(1) != groups * w.shape.at(1) ||
      w.shape[0] % groups != 0) {
    throw std::runtime_error("Conv: operands do not fit");
  }
  const auto extent = [&](std::size_t i) {
    const std::int64_t span = (kernel[i] - 1) * dilation.at(i) + 1;
    return (x.shape[i + 2] + pads.at(i) + pads.at(i + 2) - span) / stride.at(i) + 1;
  };
  OnnxTensor y{OnnxElement::float32, {x.shape[0], w.shape[0], extent(0), extent(1)}, {}};
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t u = 0; u < y.shape[1]; ++u) {
      for (std::int64_t oy = 0; oy < y.shape[2]; ++oy) {
        for (std::int64_t ox = 0; ox < y.shape[3]; ++ox) {
          double sum = bias != nullptr ? bias->values.at(static_cast<std::size_t>(u)) : 0.0;
          const std::int64_t first = u / (w.shape[0] / groups) * w.shape[1];
          for (std::int64_t c = 0; c < w.shape[1]; ++c) {
            for (std::int64_t ky = 0; ky < kernel[0]; ++ky) {
              for (std::int64_t kx = 0; kx < kernel[1]; ++kx) {
                const std::int64_t iy = oy * stride[0] - pads[0] + ky * dilation[0];
                const std::int64_t ix = ox * stride[1] - pads[1] + kx * dilation[1];
                if (iy < 0 || iy >= x.shape[2] || ix < 0 || ix >= x.shape[3]) continue;
                sum = f32(sum + f32(at(x, n, first + c, iy, ix) * at(w, u, c, ky, kx)));
              }
            }
          }
          y.values.push_back(sum);
        }
      }
    }
  }
  return y;
}

/// Computes ConvTranspose of images [n, channels, height, width] and filters [channels, units,
/// height, width].
inline OnnxTensor conv_transpose(const OnnxNode& node, const OnnxTensor& x, const OnnxTensor& w,
                                 const OnnxTensor* bias) {
  const auto& stride = node.lists.at("strides");
  const auto& pads = node.lists.at("pads");
  const auto& more = node.lists.at("output_padding");
  const std::vector<std::int64_t> kernel{w.shape.at(2), w.shape.at(3)};
  if (node.lists.at("kernel_shape") != kernel || x.shape.at(1) != w.shape.at(0) ||
      node.attributes.at("group") != 1 ||
      node.lists.at("dilations") != std::vector<std::int64_t>{1, 1} || more.at(0) < 0 ||
      more.at(1) < 0 || more[0] >= stride.at(0) || more[1] >= stride.at(1)) {
    throw std::runtime_error("ConvTranspose: operands do not fit");
  }
  const auto extent = [&](std::size_t i) {
    return stride[i] * (x.shape[i + 2] - 1) + more[i] + kernel[i] - pads.at(i) - pads.at(i + 2);
  };
  OnnxTensor y{OnnxElement::float32, {x.shape[0], w.shape[1], extent(0), extent(1)}, {}};
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t u = 0; u < y.shape[1]; ++u) {
      const double start = bias != nullptr ? bias->values.at(static_cast<std::size_t>(u)) : 0.0;
      const std::size_t first = y.values.size();
      y.values.resize(first + static_cast<std::size_t>(extent(0) * extent(1)), start);
      for (std::int64_t c = 0; c < x.shape[1]; ++c) {
        for (std::int64_t iy = 0; iy < x.shape[2]; ++iy) {
          for (std::int64_t ix = 0; ix < x.shape[3]; ++ix) {
            for (std::int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
              const std::int64_t oy = iy * stride[0] - pads[0] + tap / kernel[1];
              const std::int64_t ox = ix * stride[1] - pads[1] + tap % kernel[1];
              if (oy < 0 || oy >= extent(0) || ox < 0 || ox >= extent(1)) continue;
              double& sum = y.values[first + static_cast<std::size_t>(oy * extent(1) + ox)];
              sum = f32(sum +
                        f32(at(x, n, c, iy, ix) * at(w, c, u, tap / kernel[1], tap % kernel[1])));
            }
          }
        }
      }
    }
  }
  return y;
}

/// MaxPool and AveragePool of images [n, channels, height, width].
inline OnnxTensor pool(const OnnxNode& node, const OnnxTensor& x) {
  const bool mean = node.op == "AveragePool";
  if (mean && node.attributes.at("count_include_pad") != 0) {
    throw std::runtime_error("AveragePool: counts padding");
  }
  const auto& kernel = node.lists.at("kernel_shape");
  const auto& stride = node.lists.at("strides");
  const auto& pads = node.lists.at("pads");
  OnnxTensor y{x.type, {x.shape.at(0), x.shape.at(1)}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    y.shape.push_back(
        (x.shape.at(i + 2) + pads.at(i) + pads.at(i + 2) - kernel.at(i)) / stride.at(i) + 1);
  }
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t c = 0; c < y.shape[1]; ++c) {
      for (std::int64_t oy = 0; oy < y.shape[2]; ++oy) {
        for (std::int64_t ox = 0; ox < y.shape[3]; ++ox) {
          double result = mean ? 0.0 : -std::numeric_limits<double>::infinity();
          int count = 0;
          for (std::int64_t ky = 0; ky < kernel[0]; ++ky) {
            for (std::int64_t kx = 0; kx < kernel[1]; ++kx) {
              const std::int64_t iy = oy * stride[0] - pads[0] + ky;
              const std::int64_t ix = ox * stride[1] - pads[1] + kx;
              if (iy < 0 || iy >= x.shape[2] || ix < 0 || ix >= x.shape[3]) continue;
              const double value = at(x, n, c, iy, ix);
              result = mean ? f32(result + value) : std::max(result, value);
              ++count;
            }
          }
          y.values.push_back(mean ? f32(result / count) : result);
        }
      }
    }
  }
  return y;
}

/// Linear, of [n, channels, height, width].
inline OnnxTensor interpolate(const OnnxNode& node, const OnnxTensor& x,
                              const std::vector<double>& scales) {
  const std::string& coordinates = node.texts.at("coordinate_transformation_mode");
  if (node.texts.at("mode") != "linear" || x.shape.size() != 4) {
    throw std::runtime_error("Resize: no bilinear interpolation");
  }
  OnnxTensor y{x.type, {x.shape[0], x.shape[1]}, {}};
  for (std::size_t k = 2; k < 4; ++k) {
    y.shape.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(x.shape[k]) * scales.at(k))));
  }
  const auto place = [&](std::size_t k, std::int64_t o) {
    const auto out = static_cast<double>(o);
    double at = out / scales[k];
    if (coordinates == "half_pixel") at = (out + 0.5) / scales[k] - 0.5;
    if (coordinates == "align_corners") {
      at = y.shape[k] == 1
               ? 0.0
               : out * static_cast<double>(x.shape[k] - 1) / static_cast<double>(y.shape[k] - 1);
    }
    return std::clamp(at, 0.0, static_cast<double>(x.shape[k] - 1));
  };
  for (std::int64_t i = 0; i < y.shape[0] * y.shape[1] * y.shape[2] * y.shape[3]; ++i) {
    const double py = place(2, i / y.shape[3] % y.shape[2]);
    const double px = place(3, i % y.shape[3]);
    const std::int64_t image = i / y.shape[3] / y.shape[2];
    double sum = 0;
    for (std::int64_t iy = 0; iy < x.shape[2]; ++iy) {
      for (std::int64_t ix = 0; ix < x.shape[3]; ++ix) {
        const double weight = std::max(0.0, 1 - std::abs(py - static_cast<double>(iy))) *
                              std::max(0.0, 1 - std::abs(px - static_cast<double>(ix)));
        sum += weight * at(x, image / x.shape[1], image % x.shape[1], iy, ix);
      }
    }
    y.values.push_back(f32(sum));
  }
  return y;
}

/// By default: the pixel nearest to (o + 0.5) / scale - 0.5, the lower one of two.
inline OnnxTensor resize(const OnnxNode& node, const OnnxTensor& x,
                         const std::vector<double>& scales) {
  if (node.texts.contains("mode")) return interpolate(node, x, scales);
  if (!node.attributes.empty() || x.shape.size() != 4 || scales.size() != 4) {
    throw std::runtime_error("Resize: no repetition of pixels");
  }
  OnnxTensor y{x.type, {}, {}};
  std::vector<std::vector<std::int64_t>> from(4);
  for (std::size_t k = 0; k < 4; ++k) {
    y.shape.push_back(
        static_cast<std::int64_t>(std::floor(static_cast<double>(x.shape[k]) * scales[k])));
    for (std::int64_t o = 0; o < y.shape[k]; ++o) {
      const double place = (static_cast<double>(o) + 0.5) / scales[k] - 0.5;
      from[k].push_back(static_cast<std::int64_t>(std::ceil(place - 0.5)));
    }
  }
  for (const std::int64_t n : from[0]) {
    for (const std::int64_t row : from[1]) {
      for (const std::int64_t column : from[2]) {
        for (const std::int64_t c : from[3]) y.values.push_back(at(x, n, row, column, c));
      }
    }
  }
  return y;
}

}  // namespace octet::test::onnx
