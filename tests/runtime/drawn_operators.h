#pragma once

#include <octet/tests/runtime/bilinear_models.h>
#include <octet/tests/runtime/detection_models.h>
#include <octet/tests/runtime/drawn_operator.h>
#include <octet/tests/runtime/int16_models.h>
#include <octet/tests/runtime/lookup_models.h>
#include <octet/tests/runtime/matmul_models.h>
#include <octet/tests/runtime/mean_models.h>
#include <octet/tests/runtime/svdf_models.h>
#include <octet/tests/runtime/transposed_models.h>

#include <type_traits>
#include <utility>
#include <vector>

// Every operator once: how models of it are drawn, and what they compute by its definition. Tests
// of the interpreter and of every export read these tables.

namespace octet::test {

// ---- Windows

inline DrawnOperator drawn(const Pooling& p) {
  return {model_of(p), by_values<std::int8_t>([p](const auto& x, Rounding rounding) {
            return naive_codes(p, x, rounding);
          })};
}

inline DrawnOperator drawn(const Mean& m) {
  return {model_of(m), by_values<std::int8_t>([m](const auto& x, Rounding rounding) {
            return naive_means(m, x, rounding);
          })};
}

inline DrawnOperator drawn_conv(const Conv& c) {
  return {model_of(c), by_values<std::int8_t>([c](const auto& x, Rounding rounding) {
            return naive_codes(c, x, conv_2d_contract(c, rounding));
          })};
}

inline DrawnOperator drawn_depthwise(const Conv& c) {
  return {depthwise_model(c), by_values<std::int8_t>([c](const auto& x, Rounding rounding) {
            return naive_codes(c, x, depthwise_contract(c, rounding));
          }),
          !c.bias.empty()};
}

inline DrawnOperator drawn(const Transposed& t) {
  return {transposed_model(t), by_values<std::int8_t>([t](const auto& x, Rounding rounding) {
            return naive_codes(t, x, rounding);
          }),
          transposed_contract(t, Rounding::fp32) == Rounding::fp32};
}

inline DrawnOperator drawn_pad(const IntegerModel& model) {
  return {model,
          by_values<std::int8_t>([model](const auto& x, Rounding) { return naive_pad(model, x); })};
}

/// `model` in 16 bits, with what as_int16(c) gives.
inline DrawnOperator drawn_int16(const Conv& c, const IntegerModel& model) {
  return {as_int16(model), by_values<std::int16_t>([c](const auto& x, Rounding) {
            return naive_int16(as_int16(c), x);
          })};
}

/// `model` of int8 in floats: weights of an eighth of their quantized values.
inline IntegerModel in_floats(IntegerModel model) {
  for (ModelTensor& tensor : model.tensors) {
    const bool is_bias = tensor.name == "bias";
    if (tensor.dtype != DType::int8 && !is_bias) continue;
    std::vector<float> values;
    if (is_bias) {
      const auto whole = values_of<std::int32_t>(tensor.data);
      values.assign(whole.begin(), whole.end());
    } else {
      for (const std::int8_t value : values_of<std::int8_t>(tensor.data)) {
        values.push_back(static_cast<float>(value) / 8);
      }
    }
    tensor.data = to_bytes(values);
    tensor.dtype = DType::float32;
    tensor.quantization = QuantParams{{}, {}, 0, 0, 0};
  }
  return model;
}

inline float clamped(double sum, FusedActivation activation) {
  const RealLimits limits = real_limits(activation);
  return std::clamp(static_cast<float>(sum), limits.lo, limits.hi);
}

/// `model`, a convolution `c`, in floats.
inline DrawnOperator drawn_floats(const Conv& c, const IntegerModel& model) {
  return {
      in_floats(model), by_values<float>([c](const auto& x, Rounding) {
        std::vector<float> y;
        double sum = 0;
        naive_conv(
            c,
            [&](std::int32_t u) { sum = c.bias.empty() ? 0 : c.bias[static_cast<std::size_t>(u)]; },
            [&](std::size_t i, std::size_t k) { sum += double{x[i]} * c.weights[k] / 8; },
            [&](std::int32_t) { y.push_back(clamped(sum, c.attributes.activation)); });
        return y;
      })};
}

inline DrawnOperator drawn_floats(const Transposed& t) {
  return {in_floats(transposed_model(t)), by_values<float>([t](const auto& x, Rounding) {
            const Conv& c = t.conv;
            std::vector<float> y(outputs_of(t));
            for (std::size_t i = 0; i < y.size() && !c.bias.empty(); ++i) {
              y[i] = static_cast<float>(c.bias[i % c.bias.size()]);
            }
            naive_transposed(t, [&](std::size_t to, std::size_t, std::size_t i, std::size_t k) {
              y[to] += x[i] * static_cast<float>(c.weights[k]) / 8;
            });
            for (float& value : y) value = clamped(double{value}, c.attributes.activation);
            return y;
          })};
}

/// Floats of which sums are rounded.
inline Values uneven_floats(std::int64_t size, Draw& draw) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = draw.uniform(-4, 8);
  return {to_bytes(values)};
}

inline DrawnOperator drawn_floats(const Pooling& p) {
  const auto pool = [p](const std::vector<float>& inside) {
    double sum = 0;
    for (const float value : inside) sum += double{value};
    return clamped(p.code == OpCode::average_pool_2d ? sum / static_cast<double>(inside.size())
                                                     : double{std::ranges::max(inside)},
                   p.attributes.activation);
  };
  const IntegerModel model = model_of(p, DType::float32);
  return {model,
          by_values<float>([p, pool](const auto& x, Rounding) { return naive_pool(p, x, pool); }),
          true, [size = model.tensors[0].size()](Draw& draw) { return uneven_floats(size, draw); }};
}

inline DrawnOperator drawn_floats(const Mean& m) {
  const IntegerModel model = model_of(m, DType::float32);
  return {model, by_values<float>([m](const auto& x, Rounding) {
            std::vector<float> y;
            for (const double sum : naive_channel_sums<double>(m, x)) {
              y.push_back(static_cast<float>(sum / m.pixels()));
            }
            return y;
          }),
          true, [size = model.tensors[0].size()](Draw& draw) { return uneven_floats(size, draw); }};
}

// ---- Two operands

/// The second operand is the constant where there is one.
inline DrawnOperator drawn(const Pair& p, bool batched = false) {
  return {model_of(p, batched), [p](const Values& in, Rounding rounding) {
            const auto second = p.constant.empty() ? values_of<std::int8_t>(in.at(1)) : p.constant;
            return Values{to_bytes(naive_pair(p, values_of<std::int8_t>(in[0]), second, rounding))};
          }};
}

inline DrawnOperator drawn(const Matmul& m) {
  return {
      matmul_model(m),
      [m](const Values& in, Rounding rounding) {
        const auto second = m.constant.empty() ? values_of<std::int8_t>(in.at(1)) : m.constant;
        return Values{to_bytes(naive_matmul(m, values_of<std::int8_t>(in[0]), second, rounding))};
      },
      m.params[1].zero_point() == 0};
}

inline DrawnOperator drawn_int16(Matmul m, Draw& draw) {
  m.dtype = DType::int16;
  const float scale = draw.uniform(1e-5F, 1e-3F);
  m.params = {quant(scale, 0, DType::int16), quant(scale, 0, DType::int16),
              quant(scale * scale * 20000.0F, 0, DType::int16)};
  return {matmul_model(m), [m](const Values& in, Rounding) {
            return Values{to_bytes(naive_matmul_int16(m, values_of<std::int16_t>(in[0]),
                                                      values_of<std::int16_t>(in.at(1))))};
          }};
}

/// `values` as a constant second operand in half of the draws.
template <class Operands>
Operands with_constant(Operands operands, Draw& draw) {
  std::size_t size = 1;
  for (const std::int32_t extent : operands.second) size *= static_cast<std::size_t>(extent);
  if (draw.between(0, 1) == 0) operands.constant = random_codes(size, draw);
  return operands;
}

// ---- Operators that move values

/// `spec` with values of type T.
template <class T, class Spec>
Spec of_type(Spec spec) {
  if constexpr (std::is_same_v<T, std::int16_t>) {
    spec.dtype = DType::int16;
    spec.params = quant(0.01F, 0, DType::int16);
  } else if constexpr (std::is_same_v<T, float>) {
    spec.dtype = DType::float32;
    spec.params = QuantParams{{}, {}, 0, 0, 0};
  }
  return spec;
}

template <class T>
DrawnOperator drawn(const Slicing& s, const IntegerModel& model) {
  return {model, by_values<T>([s](const auto& x, Rounding) { return naive_slice(s, x); })};
}

template <class T>
DrawnOperator drawn(const Transposition& t, const IntegerModel& model) {
  return {model, by_values<T>([t](const auto& x, Rounding) { return naive_transpose(t, x); })};
}

/// Each part an output.
template <class T>
DrawnOperator drawn_parts(const Splitting& s) {
  return {split_model(s), [s](const Values& in, Rounding) {
            Values parts;
            for (std::int32_t i = 0; i < s.parts; ++i) {
              parts.push_back(to_bytes(naive_part(s, i, values_of<T>(in[0]))));
            }
            return parts;
          }};
}

/// The parts joined again, the last one first, along the axis of `s`.
inline DrawnOperator drawn_joined(const Splitting& s, const IntegerModel& model) {
  return {model, by_values<std::int8_t>([s](const auto& x, Rounding) {
            std::size_t inner = 1;
            for (std::size_t i = s.place() + 1; i < s.shape.size(); ++i) {
              inner *= static_cast<std::size_t>(s.shape[i]);
            }
            const std::size_t part = inner * static_cast<std::size_t>(s.part_shape()[s.place()]);
            const std::size_t row = part * static_cast<std::size_t>(s.parts);
            std::vector<std::int8_t> y;
            for (std::size_t i = 0; i < x.size(); ++i) {
              const std::size_t place = i % row;
              y.push_back(x[i - place + row - (place / part + 1) * part + place % part]);
            }
            return y;
          })};
}

inline DrawnOperator drawn_squeeze(Draw& draw) {
  const std::int32_t size = draw.between(1, 9);
  const std::vector<std::vector<std::int32_t>> dims{{1, -1}, {}, {-3}};
  return {squeeze_model({2, 1, size, 1}, dims[static_cast<std::size_t>(draw.between(0, 2))]),
          [](const Values& in, Rounding) { return in; }};
}

/// Draws few different values, so that many are equal, or all.
template <class T>
DrawnOperator drawn_arg_max(const Largest& l, const IntegerModel& model) {
  return {model, by_values<T>([l](const auto& x, Rounding) { return naive_arg_max(l, x); }), true,
          [l](Draw& draw) {
            std::size_t size = 1;
            for (const std::int32_t extent : l.shape) size *= static_cast<std::size_t>(extent);
            const std::int32_t most = draw.between(0, 1) == 0 ? 2 : 127;
            std::vector<T> x(size);
            for (T& value : x) value = static_cast<T>(draw.between(-most - 1, most));
            return Values{to_bytes(x)};
          }};
}

template <class T>
DrawnOperator drawn_resize(const Resize& r, DType dtype) {
  return {model_of(r, dtype),
          by_values<T>([r](const auto& x, Rounding) { return naive_resize(r, x); })};
}

template <class T>
DrawnOperator drawn_bilinear(const Resize& r, DType dtype) {
  return {model_of(r, dtype), by_values<T>([r, dtype](const auto& x, Rounding rounding) {
            const bool xnnpack = rounding == Rounding::fp32;
            const int units = dtype == DType::float32 ? 0 : xnnpack ? 2048 : 1024;
            return naive_bilinear(r, x, units, xnnpack);
          })};
}

// ---- Recurrent operators

/// The units and the next state.
template <class Code, class State>
DrawnOperator drawn(const Svdf& s) {
  return {svdf_model(s), [s](const Values& in, Rounding) {
            const auto [y, next] =
                naive_svdf(s, values_of<Code>(in[0]), values_of<State>(in.at(1)));
            return Values{to_bytes(y), to_bytes(next)};
          }};
}

// ---- Detectors

inline DrawnOperator drawn(const Detector& d) {
  const auto as_values = [](const auto& arrays) {
    Values values;
    for (const std::vector<float>& array : arrays) values.push_back(to_bytes(array));
    return values;
  };
  return {
      detection_model(d),
      [d, as_values](const Values& in, Rounding) {
        return as_values(naive_detections(d, values_of<float>(in[0]), values_of<float>(in.at(1))));
      },
      false, [d, as_values](Draw& draw) { return as_values(draw_detections(d, draw)); }};
}

// ---- One operand

inline DrawnOperator drawn_smooth(Draw& draw, const GeluOrElu& form) {
  const IntegerModel model = draw_smooth(draw, form);
  return {model, by_values<std::int8_t>([model, form](const auto& x, Rounding rounding) {
            std::vector<std::int8_t> y;
            y.reserve(x.size());
            for (const std::int8_t value : x) {
              y.push_back(naive_smooth(value, model, form, rounding));
            }
            return y;
          }),
          true, [](Draw&) { return Values{to_bytes(every_code())}; }};
}

inline DrawnOperator drawn_function(Draw& draw, OpCode code) {
  const IntegerModel model = draw_function(draw, code);
  return {model, by_values<std::int8_t>([model, code](const auto& x, Rounding) {
            std::vector<std::int8_t> y;
            y.reserve(x.size());
            for (const std::int8_t value : x) y.push_back(naive_function(value, model, code));
            return y;
          }),
          true, [](Draw&) { return Values{to_bytes(every_code())}; }};
}

/// Every quantized value.
inline DrawnOperator drawn_hard_swish(const QuantParams& in, const QuantParams& out) {
  return {hard_swish_model(in, out), by_values<std::int8_t>([in, out](const auto& x, Rounding) {
            std::vector<std::int8_t> y;
            y.reserve(x.size());
            for (const std::int8_t value : x) {
              y.push_back(naive_hard_swish(value, {in.scale(), in.zero_point()},
                                           {out.scale(), out.zero_point()}));
            }
            return y;
          }),
          true, [](Draw&) { return Values{to_bytes(every_code())}; }};
}

/// Steps from a millionth to a million.
inline DrawnOperator draw_any_hard_swish(Draw& draw) {
  const float exponent = draw.between(0, 3) == 0 ? draw.uniform(-6, 6) : draw.uniform(-3, 0);
  const QuantParams in = quant(std::pow(10.0F, exponent), draw.between(-128, 127));
  const float factor = std::pow(2.0F, draw.uniform(-6.9F, 3));
  return drawn_hard_swish(in, quant(in.scale() * factor, draw.between(-128, 127)));
}

}  // namespace octet::test
