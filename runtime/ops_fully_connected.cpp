#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/kernels/gemm_s8.h>
#include <octet/runtime/fully_connected.h>

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

std::int64_t find_largest_sum(const FullyConnectedNumbers& n) {
  const std::int64_t zero_point = n.input_zero_point;
  const std::int64_t reach = std::max(zero_point + 128, 127 - zero_point);
  std::int64_t largest = 0;
  for (std::size_t j = 0; j < n.bias.size(); ++j) {
    const auto depth = static_cast<std::size_t>(n.depth);
    std::int64_t magnitude = 0;
    for (const std::int8_t w : n.weights.subspan(j * depth, depth)) {
      magnitude += std::abs(w - n.weight_zero_point);
    }
    const std::int64_t most = magnitude * reach + std::abs(std::int64_t{n.bias[j]});
    if (most > std::numeric_limits<std::int32_t>::max()) {
      throw FormatError(fmt::format("the sum of unit {} can reach {}, past 32 bits", j, most));
    }
    largest = std::max(largest, most);
  }
  return largest;
}

/// int8 FULLY_CONNECTED, the product of codes by gemm_s8, all else folded into one offset a unit.
class FullyConnected final : public Kernel {
 public:
  explicit FullyConnected(FullyConnectedNumbers numbers)
      : n_(std::move(numbers)), weights_(n_.weights.data(), n_.units, n_.depth) {
    const std::int64_t zero_point = n_.input_zero_point;
    for (std::size_t j = 0; j < n_.bias.size(); ++j) {
      const std::int64_t offset = n_.bias[j] - zero_point * weights_.row_sums()[j] +
                                  n_.depth * zero_point * n_.weight_zero_point;
      // Only the sum with the product of codes has to fit: that one is exact modulo 2^32.
      start_.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(offset)));
    }
    // Packed by now, and the model's own memory need not stay.
    n_.weights = {};
  }

  std::size_t thread_bytes(Index samples) const override {
    return gemm_s8_thread_bytes(samples * n_.rows, weights_);
  }

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    run_fetching(samples, in, out, {});
  }

  void run_fetching(Index samples, const std::byte* in, std::byte* out,
                    std::span<const std::byte> soon) const override {
    const auto* x = reinterpret_cast<const std::int8_t*>(in);
    auto* y = reinterpret_cast<std::int8_t*>(out);
    const auto units = static_cast<std::size_t>(n_.units);
    const auto take = [&](Index begin, Index end, std::int32_t* acc) {
      const std::span sums(acc, static_cast<std::size_t>(end - begin) * units);
      if (n_.weight_zero_point != 0) subtract_rows(x + begin * n_.depth, sums);
      std::int8_t* codes = y + static_cast<std::size_t>(begin) * units;
      n_.requantizer.requantize(sums, std::span(codes, sums.size()), n_.output_zero_point,
                                n_.range.lo, n_.range.hi);
    };
    gemm_s8(samples * n_.rows, x, n_.depth, weights_, start_, take, soon);
  }

 private:
  /// Takes zw * sum of the row's codes off each row's sums, modulo 2^32.
  void subtract_rows(const std::int8_t* x, std::span<std::int32_t> acc) const {
    const auto units = static_cast<std::size_t>(n_.units);
    for (std::size_t row = 0; row * units < acc.size(); ++row, x += n_.depth) {
      std::int64_t sum = 0;
      for (Index i = 0; i < n_.depth; ++i) sum += x[i];
      const auto weighed = static_cast<std::uint32_t>(sum * n_.weight_zero_point);
      for (std::int32_t& value : acc.subspan(row * units, units)) {
        value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) - weighed);
      }
    }
  }

  FullyConnectedNumbers n_;
  PackedS8 weights_;
  /// What the sum of each unit starts from, modulo 2^32.
  std::vector<std::int32_t> start_;
};

}  // namespace

FullyConnectedNumbers fully_connected_numbers(const KernelSource& source) {
  const ModelTensor& weights = source.operand(1);
  const QuantParams& input = source.input().quantization;
  const QuantParams& output = source.output().quantization;
  FullyConnectedNumbers n;
  n.units = weights.shape[0];
  n.depth = weights.shape.back();
  n.rows = source.input().size() / n.depth;
  n.input_zero_point = input.zero_points[0];
  n.weight_zero_point = weights.quantization.zero_points[0];
  n.output_zero_point = output.zero_points[0];
  n.weights = {reinterpret_cast<const std::int8_t*>(weights.data.data()), weights.data.size()};
  n.bias = read_bias(source, static_cast<std::size_t>(n.units));
  const auto make_requantizer =
      source.op.code == OpCode::conv_2d ? Requantizer::convolution : Requantizer::fully_connected;
  n.requantizer = make_requantizer(input.scales[0], weights.quantization.scales, output.scales[0],
                                   source.rounding);
  n.range =
      activation_range(source.op.activation, output.scales[0], n.output_zero_point, -128, 127);
  n.largest_sum = find_largest_sum(n);
  return n;
}

std::unique_ptr<Kernel> make_fully_connected(const KernelSource& source) {
  return std::make_unique<FullyConnected>(fully_connected_numbers(source));
}

}  // namespace octet::detail
