#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/value_ranges.h>
#include <octet/runtime/operators/binary.h>
#include <octet/runtime/operators/concatenation.h>
#include <octet/runtime/operators/conv_2d.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/runtime/operators/depthwise_conv_2d.h>
#include <octet/runtime/operators/mean.h>
#include <octet/runtime/operators/pad.h>
#include <octet/runtime/operators/pool_2d.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace octet::detail {
namespace {

using Ranges = std::vector<ActivationRange>;

/// What is joined with it stays as it is.
constexpr ActivationRange kNothing{std::numeric_limits<std::int32_t>::max(),
                                   std::numeric_limits<std::int32_t>::min()};

ActivationRange joined(const ActivationRange& a, const ActivationRange& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

ActivationRange joined(const Ranges& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), kNothing,
                         [](const auto& a, const auto& b) { return joined(a, b); });
}

bool has_ranges(DType dtype) { return is_byte(dtype) || dtype == DType::int16; }

std::int32_t value_of_byte(DType dtype, std::uint8_t byte) {
  return dtype == DType::int8 ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
}

/// The values of a constant, or all that its type has.
Ranges stored_ranges(const ModelTensor& tensor) {
  if (!has_ranges(tensor.dtype)) return {};
  const auto channels = static_cast<std::size_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
  const auto [lo, hi] = integer_limits(tensor.dtype);
  if (!tensor.is_constant()) return Ranges(channels, {lo, hi});
  Ranges ranges(channels, kNothing);
  const auto wide = values_of<std::int16_t>(tensor);
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) {
    const std::int32_t value =
        tensor.dtype == DType::int16 ? wide[i] : value_of_byte(tensor.dtype, tensor.data[i]);
    ActivationRange& of = ranges[i % channels];
    of = joined(of, {value, value});
  }
  return ranges;
}

// ---- Sums

/// Sums lo..hi.
struct SumRange {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
};

/// The different sets of taps of one axis that lie inside the image, as [begin, end).
std::set<std::pair<Index, Index>> taps_inside(const WindowAxis& axis) {
  std::set<std::pair<Index, Index>> sets;
  for (Index o = 0; o < axis.output; ++o) {
    sets.emplace(axis.begin(o), axis.end(o));
    if (axis.begin(o) > 0 || axis.end(o) < axis.kernel) continue;
    // Up to the last window inside the image, all read all taps.
    o = std::max(o,
                 (axis.input - 1 - (axis.kernel - 1) * axis.dilation + axis.before) / axis.stride);
  }
  return sets;
}

Requantizer requantizer_of(const KernelSource& source) {
  switch (source.op.code) {
    case OpCode::fully_connected:
      return fully_connected_requantizer(source);
    case OpCode::conv_2d:
      return conv_2d_requantizer(source);
    case OpCode::depthwise_conv_2d:
      return depthwise_requantizer(source);
    default:
      throw InvalidArgument(
          fmt::format("value_ranges: {} has no sums of units", to_string(source.op.code)));
  }
}

class SumRanges {
 public:
  SumRanges(const KernelSource& source, const UnitSums& sums, const Ranges& x)
      : sums_(sums),
        x_(x),
        input_zero_point_(source.input().quantization.zero_point()),
        weights_(source.input(1)),
        bias_(wide_bias(source, sums.geometry.filters)),
        epilogue_(requantizer_of(source), stored_params(source.output()), source.op.activation()),
        rows_(taps_inside(sums.geometry.window.y)),
        columns_(taps_inside(sums.geometry.window.x)) {
    // A row that is less than the last axis has elements of any channel.
    const auto channels = static_cast<std::size_t>(sums.geometry.channels);
    if (x_.size() != channels) x_.assign(channels, joined(x));
  }

  Ranges run() const {
    Ranges y;
    for (Index unit = 0; unit < sums_.geometry.filters; ++unit) {
      const SumRange sum = sum_of(unit);
      y.push_back({rescaled(sum.lo, unit), rescaled(sum.hi, unit)});
    }
    return y;
  }

 private:
  SumRange sum_of(Index unit) const {
    const std::vector<SumRange> products = products_of(unit);
    const Index width = sums_.geometry.window.x.kernel;
    SumRange whole{std::numeric_limits<std::int64_t>::max(),
                   std::numeric_limits<std::int64_t>::min()};
    for (const auto& [top, bottom] : rows_) {
      for (const auto& [left, right] : columns_) {
        SumRange sum{bias_[static_cast<std::size_t>(unit)], bias_[static_cast<std::size_t>(unit)]};
        for (Index y = top; y < bottom; ++y) {
          for (Index x = left; x < right; ++x) {
            const SumRange& of = products[static_cast<std::size_t>(y * width + x)];
            sum.lo += of.lo;
            sum.hi += of.hi;
          }
        }
        whole = {std::min(whole.lo, sum.lo), std::max(whole.hi, sum.hi)};
      }
    }
    return whole;
  }

  /// By tap, the sum over the channels.
  std::vector<SumRange> products_of(Index unit) const {
    std::vector<SumRange> products(static_cast<std::size_t>(sums_.geometry.window.taps()));
    for (std::size_t tap = 0; tap < products.size(); ++tap) {
      for (Index c = 0; c < sums_.geometry.channels_per_group(); ++c) {
        const std::int64_t w = centred_weight(weights_, sums_.at(unit, static_cast<Index>(tap), c));
        const ActivationRange& x = x_[static_cast<std::size_t>(sums_.first(unit) + c)];
        const auto [lo, hi] =
            std::minmax({w * (x.lo - input_zero_point_), w * (x.hi - input_zero_point_)});
        products[tap].lo += lo;
        products[tap].hi += hi;
      }
    }
    return products;
  }

  /// A larger sum gives no smaller value, in any rounding mode.
  std::int32_t rescaled(std::int64_t sum, Index unit) const {
    const Requantizer& by = epilogue_.requantizer;
    const auto channel = static_cast<std::size_t>(unit);
    const std::int64_t steps = by.rounding() == Rounding::q15
                                   ? by.apply_wide(sum, channel)
                                   : by.apply(static_cast<std::int32_t>(sum), channel);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(
        steps + epilogue_.zero_point, epilogue_.range.lo, epilogue_.range.hi));
  }

  const UnitSums& sums_;
  Ranges x_;
  std::int32_t input_zero_point_;
  const ModelTensor& weights_;
  std::vector<std::int64_t> bias_;
  DenseEpilogue epilogue_;
  std::set<std::pair<Index, Index>> rows_;
  std::set<std::pair<Index, Index>> columns_;
};

// ---- Other operators

/// The results of an arithmetic of two operands. Where one of them is given it is monotone in the
/// other, PRELU in the first up to its zero point and from there on.
template <class Arithmetic>
Ranges ranges_of_pairs(const Arithmetic& arithmetic, std::int32_t zero_point, const Ranges& first,
                       const Ranges& second, std::size_t channels) {
  Ranges y(channels, kNothing);
  for (std::size_t i = 0; i < channels; ++i) {
    const ActivationRange& a = first[first.size() == 1 ? 0 : i];
    const ActivationRange& b = second[second.size() == 1 ? 0 : i];
    for (const std::int32_t q : {a.lo, std::clamp(zero_point, a.lo, a.hi), a.hi}) {
      for (const std::int32_t other : {b.lo, b.hi}) {
        const std::int32_t value = arithmetic.apply(q, other);
        y[i] = joined(y[i], {value, value});
      }
    }
  }
  return y;
}

Ranges ranges_of_bytes(const KernelSource& source, const Ranges& x) {
  const ByteTable table = byte_table(source);
  Ranges y(x.size(), kNothing);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::int32_t q = x[i].lo; q <= x[i].hi; ++q) {
      const std::int32_t value =
          value_of_byte(source.output().dtype, table[static_cast<std::uint8_t>(q)]);
      y[i] = joined(y[i], {value, value});
    }
  }
  return y;
}

/// The last axis is cut into equal parts, or put together from axes in front of it, or neither.
Ranges ranges_of_reshape(const Ranges& x, std::size_t channels) {
  if (x.size() % channels != 0 && channels % x.size() != 0) return Ranges(channels, joined(x));
  Ranges y(channels, kNothing);
  for (std::size_t i = 0; i < std::max(x.size(), channels); ++i) {
    y[i % channels] = joined(y[i % channels], x[i % x.size()]);
  }
  return y;
}

Ranges ranges_of_pad(const KernelSource& source, const Ranges& x, std::size_t channels) {
  const auto border = static_cast<std::int32_t>(pad_border(source));
  const auto before = static_cast<std::size_t>(pad_axes(source).back().before);
  Ranges y(channels, {border, border});
  for (std::size_t i = 0; i < x.size(); ++i) y[before + i] = joined(y[before + i], x[i]);
  return y;
}

class RangeAnalysis {
 public:
  RangeAnalysis(const IntegerModel& model, Rounding rounding) : model_(model), rounding_(rounding) {
    for (const ModelTensor& tensor : model.tensors) ranges_.push_back(stored_ranges(tensor));
  }

  std::vector<Ranges> run() {
    for (const Operator& op : model_.operators) {
      const Ranges& x = of(op.inputs[0]);
      Ranges& y = ranges_[static_cast<std::size_t>(op.outputs[0])];
      if (!x.empty() && !y.empty()) y = ranges_of({model_, op, rounding_}, x, y);
    }
    return std::move(ranges_);
  }

 private:
  const Ranges& of(std::int32_t tensor) const { return ranges_[static_cast<std::size_t>(tensor)]; }

  /// `whole` is the range of the output's type.
  Ranges ranges_of(const KernelSource& source, const Ranges& x, const Ranges& whole) const {
    const auto& in = source.op.inputs;
    const std::int32_t zero_point = source.input().quantization.zero_point();
    const bool wide = source.input().dtype == DType::int16;
    if (!wide && definition(source.op.code).byte_table != nullptr) {
      return ranges_of_bytes(source, x);
    }
    switch (source.op.code) {
      case OpCode::fully_connected:
      case OpCode::conv_2d:
      case OpCode::depthwise_conv_2d:
        return SumRanges(source, *unit_sums(source), x).run();
      case OpCode::average_pool_2d:
      case OpCode::max_pool_2d:
        return ranges_of_pool(source, x);
      case OpCode::mean:
        return ranges_of_mean(source, x);
      case OpCode::add:
      case OpCode::sub:
        if (wide) return whole;
        return ranges_of_pairs(quantized_add(source), zero_point, x, of(in[1]), whole.size());
      case OpCode::mul:
        if (wide) return whole;
        return ranges_of_pairs(quantized_mul(source), zero_point, x, of(in[1]), whole.size());
      case OpCode::prelu:
        return ranges_of_pairs(quantized_prelu(source), zero_point, x, of(in[1]), whole.size());
      case OpCode::maximum:
      case OpCode::minimum:
        return ranges_of_pairs(quantized_extreme(source), zero_point, x, of(in[1]), whole.size());
      case OpCode::reshape:
      case OpCode::squeeze:
        return ranges_of_reshape(x, whole.size());
      case OpCode::concatenation:
        return ranges_of_concatenation(source, whole.size());
      case OpCode::pad:
      case OpCode::padv2:
        return ranges_of_pad(source, x, whole.size());
      case OpCode::resize_bilinear:
      case OpCode::resize_nearest_neighbor:
        return x;
      default:
        // No operator leaves the range of its output's type.
        return whole;
    }
  }

  static Ranges ranges_of_pool(const KernelSource& source, Ranges x) {
    const ActivationRange limits = pool_range(source);
    for (ActivationRange& range : x) {
      range = {std::clamp(range.lo, limits.lo, limits.hi),
               std::clamp(range.hi, limits.lo, limits.hi)};
    }
    return x;
  }

  static Ranges ranges_of_mean(const KernelSource& source, Ranges x) {
    const QuantizedMean mean = quantized_mean(source);
    const auto pixels = static_cast<std::int32_t>(mean_window(source).inputs());
    for (ActivationRange& range : x) {
      range = {mean.apply(pixels * range.lo), mean.apply(pixels * range.hi)};
    }
    return x;
  }

  Ranges ranges_of_concatenation(const KernelSource& source, std::size_t channels) const {
    if (concatenation_axis(source) + 1 < source.output().shape.size()) {
      Ranges y(channels, kNothing);
      for (const std::int32_t input : source.op.inputs) {
        std::ranges::transform(y, of(input), y.begin(),
                               [](const auto& a, const auto& b) { return joined(a, b); });
      }
      return y;
    }
    Ranges y;
    for (const std::int32_t input : source.op.inputs) {
      y.insert(y.end(), of(input).begin(), of(input).end());
    }
    return y;
  }

  const IntegerModel& model_;
  Rounding rounding_;
  std::vector<Ranges> ranges_;
};

}  // namespace

std::optional<UnitSums> unit_sums(const Operands& operands) {
  if (!has_ranges(operands.input().dtype)) return std::nullopt;
  if (operands.op.code == OpCode::conv_2d) return UnitSums{conv_2d_geometry(operands)};
  if (operands.op.code == OpCode::depthwise_conv_2d) {
    return UnitSums{depthwise_geometry(operands), true};
  }
  if (operands.op.code != OpCode::fully_connected) return std::nullopt;
  const Index depth = operands.input(1).shape[1];
  const Index last = operands.input().shape.empty() ? 1 : operands.input().shape.back();
  const Index channels = depth % last == 0 ? last : depth;
  const Index taps = depth / channels;
  return UnitSums{{.window = {{}, slide_window(taps, taps, 1, 1, Padding::valid)},
                   .images = operands.input().size() / depth,
                   .channels = channels,
                   .filters = operands.input(1).shape[0]}};
}

std::int32_t centred_weight(const ModelTensor& weights, std::size_t i) {
  return static_cast<std::int8_t>(weights.data[i]) - weights.quantization.zero_point();
}

std::vector<std::int64_t> wide_bias(const Operands& operands, Index units) {
  if (!operands.has_input(2)) return std::vector<std::int64_t>(static_cast<std::size_t>(units));
  if (operands.input(2).dtype == DType::int64) return values_of<std::int64_t>(operands.input(2));
  const auto bias = values_of<std::int32_t>(operands.input(2));
  return {bias.begin(), bias.end()};
}

std::vector<std::vector<ActivationRange>> value_ranges(const IntegerModel& model,
                                                       Rounding rounding) {
  return RangeAnalysis(model, rounding).run();
}

}  // namespace octet::detail
