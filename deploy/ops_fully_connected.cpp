#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/core/quant/requantize.h>
#include <octet/deploy/kernel.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace octet::detail {
namespace {

std::vector<std::int32_t> read_bias(const KernelSource& source, std::size_t units) {
  std::vector<std::int32_t> bias(units);
  if (source.has_operand(2)) {
    std::memcpy(bias.data(), source.operand(2).data.data(), units * sizeof(std::int32_t));
  }
  return bias;
}

/// int8 FULLY_CONNECTED: acc = sum (x - zx)(w - zw) + bias, rescaled, + zero point, clamped.
class FullyConnected final : public Kernel {
 public:
  explicit FullyConnected(const KernelSource& source)
      : units_(source.operand(1).shape[0]),
        depth_(source.operand(1).shape[1]),
        rows_(source.input().size() / depth_),
        weight_zero_point_(source.operand(1).quantization.zero_points[0]),
        output_zero_point_(source.output().quantization.zero_points[0]),
        weights_(codes(source), units_, depth_),
        requantizer_(Requantizer::fully_connected(
            source.input().quantization.scales[0], source.operand(1).quantization.scales,
            source.output().quantization.scales[0], source.rounding)),
        range_(activation_range(source.op.activation, source.output().quantization.scales[0],
                                output_zero_point_, -128, 127)) {
    const auto bias = read_bias(source, static_cast<std::size_t>(units_));
    const std::int64_t zero_point = source.input().quantization.zero_points[0];
    check_bounds(codes(source), bias, zero_point);
    for (std::size_t j = 0; j < bias.size(); ++j) {
      const std::int64_t offset =
          bias[j] - zero_point * weights_.row_sums()[j] + depth_ * zero_point * weight_zero_point_;
      // Only the sum with the product of codes has to fit: that one is exact modulo 2^32.
      start_.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(offset)));
    }
  }

  std::size_t scratch_bytes(Index samples) const override {
    return static_cast<std::size_t>(samples * rows_ * units_) * sizeof(std::int32_t);
  }

  void run(Index samples, const std::byte* in, std::byte* out, std::byte* scratch) const override {
    const auto* x = reinterpret_cast<const std::int8_t*>(in);
    auto* y = reinterpret_cast<std::int8_t*>(out);
    auto* acc = reinterpret_cast<std::int32_t*>(scratch);
    const auto units = static_cast<std::size_t>(units_);
    gemm_s8(samples * rows_, x, depth_, weights_, acc, start_, [&](Index begin, Index end) {
      const std::size_t at = static_cast<std::size_t>(begin) * units;
      const std::span sums(acc + at, static_cast<std::size_t>(end - begin) * units);
      if (weight_zero_point_ != 0) subtract_rows(x + begin * depth_, sums);
      requantizer_.requantize(sums, std::span(y + at, sums.size()), output_zero_point_, range_.lo,
                              range_.hi);
    });
  }

 private:
  static const std::int8_t* codes(const KernelSource& source) {
    return reinterpret_cast<const std::int8_t*>(source.operand(1).data.data());
  }

  /// No input may bring a sum past int32: runtimes would compute something else, each its own.
  void check_bounds(const std::int8_t* w, std::span<const std::int32_t> bias,
                    std::int64_t zero_point) const {
    const std::int64_t reach = std::max(zero_point + 128, 127 - zero_point);
    for (Index j = 0; j < units_; ++j) {
      std::int64_t magnitude = 0;
      for (Index i = 0; i < depth_; ++i)
        magnitude += std::abs(w[j * depth_ + i] - weight_zero_point_);
      const std::int64_t most =
          magnitude * reach + std::abs(std::int64_t{bias[static_cast<std::size_t>(j)]});
      if (most > std::numeric_limits<std::int32_t>::max()) {
        throw FormatError(fmt::format("the sum of unit {} can reach {}, past 32 bits", j, most));
      }
    }
  }

  /// Takes zw * sum of the row's codes off each row's sums, modulo 2^32.
  void subtract_rows(const std::int8_t* x, std::span<std::int32_t> acc) const {
    const auto units = static_cast<std::size_t>(units_);
    for (std::size_t row = 0; row * units < acc.size(); ++row, x += depth_) {
      std::int64_t sum = 0;
      for (Index i = 0; i < depth_; ++i) sum += x[i];
      const auto weighed = static_cast<std::uint32_t>(sum * weight_zero_point_);
      for (std::int32_t& value : acc.subspan(row * units, units)) {
        value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) - weighed);
      }
    }
  }

  Index units_;
  Index depth_;
  Index rows_;
  std::int32_t weight_zero_point_;
  std::int32_t output_zero_point_;
  PackedS8 weights_;
  Requantizer requantizer_;
  ActivationRange range_;
  /// What the sum of each unit starts from, modulo 2^32.
  std::vector<std::int32_t> start_;
};

}  // namespace

std::unique_ptr<Kernel> make_fully_connected(const KernelSource& source) {
  return std::make_unique<FullyConnected>(source);
}

}  // namespace octet::detail
