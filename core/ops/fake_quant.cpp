#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/fake_quant.h>

#include <string>

namespace octet {
namespace {

/// Runs an elementwise loop of core/quant on pieces of whole rows of `channels` elements.
template <class Run>
void in_pieces(Index size, Index channels, Run&& run) {
  const auto row = static_cast<std::size_t>(std::max<Index>(channels, 1));
  parallel_for(static_cast<std::size_t>(size) / row, parallel_grain(Work::map_floats, row),
               [&](std::size_t begin, std::size_t end) { run(begin * row, (end - begin) * row); });
}

Tensor masked(const Tensor& g, const Tensor& x, const auto& range, Index channels) {
  Tensor result(x.shape());
  in_pieces(x.size(), channels, [&](std::size_t begin, std::size_t count) {
    fake_quant_mask(g.span().subspan(begin, count), x.span().subspan(begin, count), range,
                    result.mutable_span().subspan(begin, count));
  });
  return result;
}

/// Records y for a range that wants no gradient. Its tensors are not read again: observers may
/// write to them before backward().
Tensor record_masked(std::string_view operation, const Tensor& y, const Tensor& x,
                     const auto& range, Index channels) {
  return record(operation, y, {x}, [x, range, channels](const Tensor& g) {
    return std::vector<Tensor>{masked(g, x, range, channels)};
  });
}

}  // namespace

Tensor fake_quant_with_min_max_args(const Tensor& x, float min, float max, int num_bits,
                                    bool narrow_range, std::string_view name) {
  check_fake_quant_args_range(min, max, name);
  const NudgedRange range = nudge(min, max, num_bits, narrow_range, name);
  Tensor y(x.shape());
  in_pieces(x.size(), 1, [&](std::size_t begin, std::size_t count) {
    fake_quant_multiply(x.span().subspan(begin, count), range,
                        y.mutable_span().subspan(begin, count));
  });
  return record_masked("fake_quant_with_min_max_args", y, x, range, 1);
}

Tensor fake_quant_with_min_max_vars(const Tensor& x, const Tensor& min, const Tensor& max,
                                    int num_bits, bool narrow_range, std::string_view name) {
  check_fake_quant_vars_shapes(min.shape().dims(), max.shape().dims(), name);
  const NudgedRange range = nudge(min.item(), max.item(), num_bits, narrow_range, name);
  Tensor y(x.shape());
  in_pieces(x.size(), 1, [&](std::size_t begin, std::size_t count) {
    fake_quant_divide(x.span().subspan(begin, count), range,
                      y.mutable_span().subspan(begin, count));
  });
  constexpr std::string_view kName = "fake_quant_with_min_max_vars";
  if (!min.requires_grad() && !max.requires_grad()) return record_masked(kName, y, x, range, 1);
  return record(kName, y, {x, min, max}, [=](const Tensor& g) {
    Tensor d_x(x.shape());
    const RangeGradient d_range = fake_quant_vars_grad(g.span(), x.span(), min.item(), max.item(),
                                                       num_bits, narrow_range, d_x.mutable_span());
    return std::vector<Tensor>{d_x, Tensor::scalar(d_range.d_min), Tensor::scalar(d_range.d_max)};
  });
}

Tensor fake_quant_with_min_max_vars_per_channel(const Tensor& x, const Tensor& min,
                                                const Tensor& max, int num_bits, bool narrow_range,
                                                std::string_view name) {
  check_fake_quant_per_channel_shapes(x.shape().dims(), min.shape().dims(), max.shape().dims(),
                                      name);
  const Index channels = x.dim(-1);
  const NudgedRanges ranges =
      nudge_per_channel(min.span(), max.span(), num_bits, narrow_range, name);
  Tensor y(x.shape());
  in_pieces(x.size(), channels, [&](std::size_t begin, std::size_t count) {
    fake_quant_multiply(x.span().subspan(begin, count), ranges,
                        y.mutable_span().subspan(begin, count));
  });
  constexpr std::string_view kName = "fake_quant_with_min_max_vars_per_channel";
  if (!min.requires_grad() && !max.requires_grad()) {
    return record_masked(kName, y, x, ranges, channels);
  }
  return record(kName, y, {x, min, max}, [=](const Tensor& g) {
    Tensor d_x(x.shape());
    Tensor d_min(min.shape());
    Tensor d_max(max.shape());
    fake_quant_per_channel_grad(g.span(), x.span(), min.span(), max.span(), num_bits, narrow_range,
                                d_x.mutable_span(), d_min.mutable_span(), d_max.mutable_span());
    return std::vector<Tensor>{d_x, d_min, d_max};
  });
}

namespace {

Tensor quantized_and_dequantized(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                                 const QuantizeAndDequantizeOptions& options,
                                 QuantizeAndDequantizeVersion version, std::string_view name) {
  check_quantize_and_dequantize_range_shapes(options.axis, input_min.shape().dims(),
                                             input_max.shape().dims(), name);
  Tensor y(x.shape());
  quantize_and_dequantize(x.span(), x.shape().dims(), input_min.span(), input_max.span(), options,
                          y.mutable_span(), version, name);
  return y;
}

Tensor with_straight_gradient(std::string_view name, const Tensor& x, const Tensor& y) {
  return record(
      name, y, {x}, [](const Tensor& g) { return std::vector<Tensor>{g}; }, BackwardReads::nothing);
}

/// The versions that pass the gradient on as it is.
Tensor straight_version(std::string_view name, QuantizeAndDequantizeVersion version,
                        const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                        const QuantizeAndDequantizeOptions& options) {
  return with_straight_gradient(
      name, x, quantized_and_dequantized(x, input_min, input_max, options, version, name));
}

}  // namespace

Tensor quantize_and_dequantize(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                               const QuantizeAndDequantizeOptions& options) {
  return straight_version("quantize_and_dequantize", QuantizeAndDequantizeVersion::v2, x, input_min,
                          input_max, options);
}

Tensor quantize_and_dequantize_v3(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                                  const QuantizeAndDequantizeOptions& options) {
  return straight_version("quantize_and_dequantize_v3", QuantizeAndDequantizeVersion::v3, x,
                          input_min, input_max, options);
}

Tensor quantize_and_dequantize_v2(const Tensor& x, const Tensor& input_min, const Tensor& input_max,
                                  const QuantizeAndDequantizeOptions& options) {
  const Tensor y =
      quantized_and_dequantized(x, input_min, input_max, options, QuantizeAndDequantizeVersion::v4,
                                "quantize_and_dequantize_v2");
  const int axis = options.axis;
  return record("quantize_and_dequantize_v2", y, {x, input_min, input_max}, [=](const Tensor& g) {
    Tensor d_x(x.shape());
    Tensor d_min(input_min.shape());
    Tensor d_max(input_max.shape());
    quantize_and_dequantize_v4_grad(g.span(), x.span(), x.shape().dims(), input_min.span(),
                                    input_max.span(), axis, d_x.mutable_span(),
                                    d_min.mutable_span(), d_max.mutable_span());
    return std::vector<Tensor>{d_x, d_min, d_max};
  });
}

Tensor grad_pass_through(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor y = no_grad([&] { return f(x); });
  if (y.shape() != x.shape()) {
    throw InvalidArgument(
        fmt::format("grad_pass_through: expected f to keep the shape {}, found {}",
                    x.shape().to_string(), y.shape().to_string()));
  }
  return with_straight_gradient("grad_pass_through", x, y.detach());
}

}  // namespace octet
