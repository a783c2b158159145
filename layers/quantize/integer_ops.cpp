#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/ops/activation.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/code_requantize.h>
#include <octet/core/quant/lut.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/quant/round.h>
#include <octet/core/quant/softmax.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/runtime/operators/definitions.h>

#include <cstddef>

namespace octet {
namespace {

constexpr std::size_t kGrain = 1U << 14;

/// Applies `run(codes of x, codes of y)` piece by piece, in whole rows of the last axis, and puts y
/// on `output`.
template <class Run>
Tensor map_codes(const Tensor& x, const QuantParams& input, const QuantParams& output, Run&& run) {
  Tensor y(x.shape());
  const auto codes = allocate_array<std::int8_t>(y.span().size());
  const auto row = static_cast<std::size_t>(std::max<Index>(x.rank() == 0 ? 1 : x.dim(-1), 1));
  const std::size_t grain = std::max<std::size_t>(kGrain / row, 1);
  parallel_for(static_cast<std::size_t>(x.size()) / row, grain,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<std::int8_t> in((end - begin) * row);
                 const std::span<std::int8_t> out(codes.get() + begin * row, in.size());
                 quantize(x.span().subspan(begin * row, in.size()), input, in);
                 run(std::span<const std::int8_t>(in), out, row);
                 dequantize(out, output, y.span().subspan(begin * row, out.size()));
               });
  detail::TensorAccess::set_grid(y, std::make_shared<const QuantParams>(output), codes);
  return y;
}

/// The derivative of the float activation, read off its result.
float activation_slope(Activation activation, float y) {
  switch (activation) {
    case Activation::relu:
      return y > 0.0F ? 1.0F : 0.0F;
    case Activation::relu6:
      return y > 0.0F && y < 6.0F ? 1.0F : 0.0F;
    case Activation::sigmoid:
      return y * (1.0F - y);
    case Activation::tanh:
      return 1.0F - y * y;
    case Activation::none:
    case Activation::softmax:
      break;
  }
  return 1.0F;
}

}  // namespace

const QuantParams& require_grid(const Tensor& x, const std::string& owner) {
  if (detail::TensorAccess::grid(x) == nullptr) {
    throw InvalidArgument(fmt::format(
        "{}: integer simulation expects an input on a grid, found real values; quantize the layer "
        "in front too, or use Simulation::fake_quant",
        owner));
  }
  return *detail::TensorAccess::grid(x);
}

void require_int8(const QuantParams& grid, const std::string& owner) {
  if (grid.qmin != -128 || grid.qmax != 127) {
    throw InvalidArgument(fmt::format(
        "{}: expected a result on the int8 codes -128 to 127, found {} to {}; only kernels can "
        "have fewer bits, or use Simulation::fake_quant",
        owner, grid.qmin, grid.qmax));
  }
}

Tensor integer_clamp(const Tensor& x, Activation activation, const QuantParams& output,
                     const std::string& owner) {
  const QuantParams& input = require_grid(x, owner);
  require_int8(output, owner);
  const auto clamp = CodeRequantizer::activation(fused_activation(activation), input, output);
  const Tensor y = map_codes(x, input, output,
                             [&](std::span<const std::int8_t> in, std::span<std::int8_t> out,
                                 std::size_t) { clamp.run(in, out); });
  const float highest = static_cast<float>(output.qmax - output.zero_point()) * output.scale();
  return record("integer_clamp", y, {x}, [x, activation, highest](const Tensor& g) {
    Tensor d_x(x.shape());
    for (Index i = 0; i < x.size(); ++i) {
      const bool inside = x.data()[i] <= highest;
      d_x.data()[i] = inside ? g.data()[i] * activation_slope(activation, x.data()[i]) : 0.0F;
    }
    return std::vector<Tensor>{d_x};
  });
}

Tensor integer_table(const Tensor& x, Activation activation, Rounding rounding,
                     const std::string& owner) {
  const QuantParams& input = require_grid(x, owner);
  const bool is_tanh = activation == Activation::tanh;
  const Int8Lut table = is_tanh ? Int8Lut::tanh(input.scale(), input.zero_point(), rounding)
                                : Int8Lut::logistic(input.scale(), input.zero_point(), rounding);
  const QuantParams output = definition(is_tanh ? OpCode::tanh : OpCode::logistic).fixed_grid();
  const Tensor y = map_codes(x, input, output,
                             [&](std::span<const std::int8_t> in, std::span<std::int8_t> out,
                                 std::size_t) { table.run(in, out); });
  return record("integer_table", y, {x}, [x, activation](const Tensor& g) {
    const Tensor real = activation == Activation::tanh ? tanh(x) : sigmoid(x);
    Tensor d_x(x.shape());
    for (Index i = 0; i < x.size(); ++i) {
      d_x.data()[i] = g.data()[i] * activation_slope(activation, real.data()[i]);
    }
    return std::vector<Tensor>{d_x};
  });
}

Tensor integer_softmax(const Tensor& x, Rounding rounding, const std::string& owner) {
  const QuantParams& input = require_grid(x, owner);
  const auto softmax_codes = SoftmaxInt8::make(input.scale(), 1.0F, rounding);
  const QuantParams output = definition(OpCode::softmax).fixed_grid();
  const Tensor y = map_codes(x, input, output,
                             [&](std::span<const std::int8_t> in, std::span<std::int8_t> out,
                                 std::size_t row) { softmax_codes.run_rows(in, out, row); });
  return record("integer_softmax", y, {x}, [x](const Tensor& g) {
    // d_x = p (g - sum over the row of g p), p the real softmax.
    const Tensor p = softmax(x);
    Tensor d_x(x.shape());
    const Index row = x.dim(-1);
    for (Index i = 0; i < x.size(); i += row) {
      float dot = 0.0F;
      for (Index j = i; j < i + row; ++j) dot += g.data()[j] * p.data()[j];
      for (Index j = i; j < i + row; ++j) d_x.data()[j] = p.data()[j] * (g.data()[j] - dot);
    }
    return std::vector<Tensor>{d_x};
  });
}

Tensor apply_fixed_grid_activation(Activation activation, const Tensor& x, Simulation simulation,
                                   Rounding rounding, const std::string& owner) {
  if (simulation != Simulation::integer || detail::TensorAccess::grid(x) == nullptr) {
    return apply_activation(activation, x);
  }
  return activation == Activation::softmax ? integer_softmax(x, rounding, owner)
                                           : integer_table(x, activation, rounding, owner);
}

}  // namespace octet
