#include <fmt/core.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/quantize.h>
#include <octet/core/quant/round.h>
#include <octet/runtime/operators/quantization.h>
#include <octet/runtime/operators/unary.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

// QUANTIZE: real values to quantized ones, q = clamp(round(x / scale) + zero_point), or quantized
// values to those of another scale and zero point, q_y = clamp(round((s_x / s_y) (q_x -
// zero_point_x)) + zero_point_y): see ElementRequantizer::quantize().
// DEQUANTIZE: quantized values to real ones, x = scale (q - zero_point).

namespace octet::detail {
namespace {

void check_per_tensor(const QuantParams& params, std::string_view what) {
  params.validate(what);
  if (params.channels() != 1) {
    throw InvalidArgument(fmt::format("{}: expected one scale, found {}", what, params.channels()));
  }
}

}  // namespace

// ---- Arithmetic

bool ElementFactor::fits_eight_bits(float factor) noexcept {
  return std::abs(factor) >= 1.0F / 256 && std::abs(factor) <= 128.0F;
}

ElementFactor ElementFactor::eight_bits(float factor) noexcept {
  ElementFactor result;
  result.eight_bits_ = true;
  result.steps_ = clamp_to<std::int32_t>(round_half_even(256.0F * factor));
  return result;
}

ElementFactor ElementFactor::rounded_twice(double factor) {
  ElementFactor result;
  result.multiplier_ = quantize_multiplier(factor);
  return result;
}

std::int32_t ElementFactor::operator()(std::int32_t x) const noexcept {
  return eight_bits_ ? saturate_int32((std::int64_t{x} * steps_ + 128) >> 8)
                     : multiply_by_quantized_multiplier(x, multiplier_, Rounding::double_rounding);
}

ElementRequantizer ElementRequantizer::make(const QuantParams& in, const QuantParams& out,
                                            ElementFactor factor, ActivationRange range) {
  ElementRequantizer result;
  result.factor_ = factor;
  result.zero_point_in_ = in.zero_point();
  result.zero_point_out_ = out.zero_point();
  result.range_ = range;
  return result;
}

ElementRequantizer ElementRequantizer::quantize(const QuantParams& in, const QuantParams& out,
                                                Rounding rounding) {
  check_per_tensor(in, "requantize input");
  check_per_tensor(out, "requantize output");
  const float ratio = in.scale() / out.scale();
  if (!std::isfinite(ratio)) {
    throw NumericError(
        fmt::format("requantize: {} / {} is beyond float32", in.scale(), out.scale()));
  }
  const bool same_type = in.qmin == out.qmin && in.qmax == out.qmax;
  const bool by_xnnpack =
      rounding == Rounding::fp32 && same_type && ElementFactor::fits_eight_bits(ratio);
  const ElementFactor factor =
      by_xnnpack ? ElementFactor::eight_bits(ratio)
                 : ElementFactor::rounded_twice(double{in.scale()} / double{out.scale()});
  return make(in, out, factor, {out.qmin, out.qmax});
}

ElementRequantizer ElementRequantizer::activation(FusedActivation activation, const QuantParams& in,
                                                  const QuantParams& out) {
  check_per_tensor(in, "activation input");
  check_per_tensor(out, "activation output");
  const auto factor = static_cast<double>(in.scale() / out.scale());
  const ActivationRange range =
      activation_range(activation, out.scale(), out.zero_point(), out.qmin, out.qmax);
  return make(in, out, ElementFactor::rounded_twice(factor), range);
}

std::int32_t ElementRequantizer::apply(std::int32_t code) const noexcept {
  const std::int32_t centred = saturate_int32(std::int64_t{code} - zero_point_in_);
  const std::int64_t moved = std::int64_t{factor_(centred)} + zero_point_out_;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(moved, range_.lo, range_.hi));
}

void ElementRequantizer::check_run(std::size_t in_size, std::size_t out_size, std::int64_t type_lo,
                                   std::int64_t type_hi) const {
  if (in_size != out_size) {
    throw InvalidArgument(fmt::format("requantize: {} values in, {} out", in_size, out_size));
  }
  if (range_.lo < type_lo || range_.hi > type_hi) {
    throw InvalidArgument(fmt::format("requantize: the range {}..{} does not fit a type of {}..{}",
                                      range_.lo, range_.hi, type_lo, type_hi));
  }
}

// ---- Operators

namespace {

/// The elements of a quantized tensor, and how they are quantized.
struct QuantizedElements {
  explicit QuantizedElements(const ModelTensor& tensor)
      : params(stored_params(tensor)),
        shape(tensor.shape.begin(), tensor.shape.end()),
        size(static_cast<std::size_t>(tensor.size())) {}

  /// Calls convert(begin, end) over the elements of `samples` samples: in any chunks where there
  /// is one scale, sample by sample where the scale depends on the place.
  template <class Convert>
  void for_chunks(Index samples, Convert&& convert) const {
    const auto count = static_cast<std::size_t>(samples);
    if (params.per_channel()) {
      parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) convert(i * size, (i + 1) * size);
      });
      return;
    }
    parallel_for(count * size, kElementsPerChunk, convert);
  }

  QuantParams params;
  std::vector<std::int64_t> shape;
  std::size_t size;
};

/// Op<Code> for a type of quantized values, which has been checked.
template <template <class> class Op>
std::unique_ptr<Kernel> make_for_type(DType dtype, const KernelSource& source) {
  if (dtype == DType::int8) return std::make_unique<Op<std::int8_t>>(source);
  if (dtype == DType::uint8) return std::make_unique<Op<std::uint8_t>>(source);
  return std::make_unique<Op<std::int16_t>>(source);
}

template <class Code>
class Quantize final : public Kernel {
 public:
  explicit Quantize(const KernelSource& source)
      : elements_(source.output()), mode_(quantize_mode(source.rounding)) {}

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<float>();
    auto* q = a.to<Code>();
    elements_.for_chunks(a.samples, [&](std::size_t begin, std::size_t end) {
      const std::span from(x + begin, end - begin);
      const std::span to(q + begin, end - begin);
      if (elements_.params.per_channel()) {
        quantize(from, elements_.shape, elements_.params, to, mode_);
      } else {
        quantize(from, elements_.params, to, mode_);
      }
    });
  }

 private:
  QuantizedElements elements_;
  RoundMode mode_;
};

void check_quantize(const OperatorView& view) {
  view.require_same_shape();
  view.require_quantized(view.output(), "output");
  const DType to = view.output().dtype;
  if (view.input().dtype == DType::float32) {
    if (!is_byte(to) && to != DType::int16) view.fail_types();
    return;
  }
  if (view.input().dtype == DType::int16 && to == DType::int16) {
    view.require_int16_grid(view.input());
    return view.require_int16_grid(view.output());
  }
  if (!is_byte(view.input().dtype) || !is_byte(to)) view.fail_types();
  view.require_per_tensor(view.input(), "input");
  view.require_per_tensor(view.output(), "output");
}

ElementRequantizer requantizer_of(const KernelSource& source) {
  return ElementRequantizer::quantize(stored_params(source.input()), stored_params(source.output()),
                                      source.rounding);
}

ByteTable quantize_table(const KernelSource& source) {
  const ElementRequantizer requantizer = requantizer_of(source);
  return tabulate(source, [&](std::int32_t code) { return requantizer.apply(code); });
}

std::unique_ptr<Kernel> make_quantize(const KernelSource& source) {
  if (source.input().dtype == DType::int16) {
    const auto apply = [requantizer = requantizer_of(source)](std::int16_t q) {
      return static_cast<std::int16_t>(requantizer.apply(q));
    };
    return std::make_unique<Map<std::int16_t, std::int16_t, decltype(apply)>>(source.input().size(),
                                                                              apply);
  }
  if (source.input().dtype != DType::float32) return make_byte_map(source);
  return make_for_type<Quantize>(source.output().dtype, source);
}

template <class Code>
class Dequantize final : public Kernel {
 public:
  explicit Dequantize(const KernelSource& source) : elements_(source.input()) {}

  void run(const KernelArguments& a) const override {
    const auto* q = a.input<Code>();
    auto* x = a.to<float>();
    elements_.for_chunks(a.samples, [&](std::size_t begin, std::size_t end) {
      const std::span from(q + begin, end - begin);
      const std::span to(x + begin, end - begin);
      if (elements_.params.per_channel()) {
        dequantize(from, elements_.shape, elements_.params, to);
      } else {
        dequantize(from, elements_.params, to);
      }
    });
  }

 private:
  QuantizedElements elements_;
};

void check_dequantize(const OperatorView& view) {
  view.require_same_shape();
  const DType from = view.input().dtype;
  if ((!is_byte(from) && from != DType::int16) || view.output().dtype != DType::float32) {
    view.fail_types();
  }
  view.require_quantized(view.input(), "input");
}

std::unique_ptr<Kernel> make_dequantize(const KernelSource& source) {
  return make_for_type<Dequantize>(source.input().dtype, source);
}

int quantize_version(const Operands& o) {
  if (o.output().quantization.scales.size() > 1) return 3;
  return o.output().dtype == DType::int16 ? 2 : 1;
}

int dequantize_version(const Operands& o) {
  if (o.input().quantization.scales.size() > 1) return 5;
  if (o.input().dtype == DType::int16) return 3;
  return version_by_type<>(o);
}

}  // namespace

OperatorDefinition definitions::quantize() {
  return checked({.name = "QUANTIZE",
                  .releases = {11400, 11500, 20700},
                  .required_version = quantize_version,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .check = check_quantize,
                  .make_kernel = make_quantize,
                  .byte_table = quantize_table});
}

OperatorDefinition definitions::dequantize() {
  return checked({.name = "DEQUANTIZE",
                  .releases = {11400, 11400, 11500, 20200, 20700},
                  .required_version = dequantize_version,
                  .least_inputs = 1,
                  .most_inputs = 1,
                  .output_grid = OutputGrid::measured,
                  .each_element = true,
                  .check = check_dequantize,
                  .make_kernel = make_dequantize});
}

}  // namespace octet::detail
