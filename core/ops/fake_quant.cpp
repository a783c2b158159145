#include <octet/core/autograd.h>
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

}  // namespace octet
