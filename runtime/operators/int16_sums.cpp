#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/parallel.h>
#include <octet/runtime/operators/block_kernels.h>
#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/int16_sums.h>
#include <octet/runtime/operators/int16_weights.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace octet::detail {
namespace {

/// Codes that are read at once stay in the cache.
constexpr Index kBlockCodes = 32768;
constexpr Index kMostRows = 64;
constexpr Index kLeastRows = 4;

Index rows_per_block(Index depth) {
  return std::clamp<Index>(kBlockCodes / std::max<Index>(depth, 1), kLeastRows, kMostRows);
}

/// Calls body(begin, end) for blocks of at most `block` rows, of `products` products each.
template <class Body>
void for_blocks(Index rows, Index block, Index products, Body&& body) {
  const auto grain =
      std::max(static_cast<std::size_t>(block),
               parallel_grain(Work::float_multiply_adds, static_cast<std::size_t>(products)));
  parallel_for(static_cast<std::size_t>(rows), grain, [&](std::size_t first, std::size_t last) {
    const auto end = static_cast<Index>(last);
    for (auto i = static_cast<Index>(first); i < end; i += block) body(i, std::min(i + block, end));
  });
}

/// The sums of FULLY_CONNECTED and CONV_2D: products with gathered patches, group by group; rows
/// that are a patch each are read in place.
class Int16Sums {
 public:
  Int16Sums(const Conv2DGeometry& geometry, const Int16Numbers& n)
      : geometry_(geometry), block_(rows_per_block(geometry.patch())), bias_(n.bias) {
    const Index filters = geometry.filters_per_group();
    for (Index g = 0; g < geometry.groups; ++g) {
      groups_.emplace_back(n.weights.data() + g * filters * geometry.patch(), filters,
                           geometry.patch());
    }
  }

  Index units() const { return geometry_.filters; }
  Index block_rows() const { return block_; }
  std::size_t bytes() const {
    return groups_.size() * groups_.front().bytes() + bias_.size() * sizeof(std::int64_t);
  }
  std::size_t thread_bytes() const {
    const std::size_t products = groups_.front().thread_bytes(block_);
    if (geometry_.is_matrix_product()) return products;
    const Index of_group = geometry_.groups == 1 ? 0 : block_ * geometry_.filters_per_group();
    const Index gathered = block_ * geometry_.patch() + padded_elements(geometry_, block_);
    return products + static_cast<std::size_t>(of_group) * sizeof(std::int64_t) +
           static_cast<std::size_t>(gathered) * sizeof(std::int16_t);
  }

  template <class Body>
  void for_blocks(Index samples, const std::int16_t* x, Body&& body) const {
    detail::for_blocks(samples * geometry_.rows(), block_, geometry_.patch() * units(),
                       [&](Index begin, Index end) {
                         body(begin, end,
                              [&](std::int64_t* sums) { write_sums(x, begin, end, sums); });
                       });
  }

 private:
  void write_sums(const std::int16_t* x, Index begin, Index end, std::int64_t* sums) const {
    const Index rows = end - begin;
    const Index depth = geometry_.patch();
    if (geometry_.is_matrix_product()) {
      return groups_.front().multiply(rows, x + begin * depth, bias_.data(), sums);
    }
    const ScratchBuffer<std::int16_t, Int16Sums> patches(static_cast<std::size_t>(rows * depth));
    const Index filters = geometry_.filters_per_group();
    for (Index g = 0; g < geometry_.groups; ++g) {
      gather_rows(geometry_, x, g, std::int16_t{0}, begin, end, depth, patches.data());
      const Int16Weights& weights = groups_[static_cast<std::size_t>(g)];
      const std::int64_t* bias = bias_.data() + g * filters;
      if (geometry_.groups == 1) return weights.multiply(rows, patches.data(), bias, sums);
      const ScratchBuffer<std::int64_t, Int16Sums> of_group(
          static_cast<std::size_t>(rows * filters));
      weights.multiply(rows, patches.data(), bias, of_group.data());
      for (Index i = 0; i < rows; ++i) {
        std::copy_n(of_group.data() + i * filters, filters, sums + i * units() + g * filters);
      }
    }
  }

  Conv2DGeometry geometry_;
  Index block_;
  std::vector<std::int64_t> bias_;
  std::vector<Int16Weights> groups_;
};

/// The sums of DEPTHWISE_CONV_2D, output by output and tap by tap.
class Int16DepthwiseSums {
 public:
  Int16DepthwiseSums(const Conv2DGeometry& geometry, Int16Numbers n)
      : geometry_(geometry), weights_(std::move(n.weights)), bias_(std::move(n.bias)) {}

  Index units() const { return geometry_.filters; }
  Index block_rows() const { return kLeastRows; }
  std::size_t bytes() const { return weights_.size() + bias_.size() * sizeof(std::int64_t); }
  std::size_t thread_bytes() const { return 0; }

  template <class Body>
  void for_blocks(Index samples, const std::int16_t* x, Body&& body) const {
    const Window& window = geometry_.window;
    detail::for_blocks(samples * geometry_.rows(), kLeastRows, window.taps() * units(),
                       [&](Index begin, Index end) {
                         body(begin, end, [&](std::int64_t* sums) {
                           for (Index i = begin; i < end; ++i, sums += units()) {
                             const Index image = i / window.outputs() * window.inputs();
                             write_sums(x + image * geometry_.channels, i % window.outputs(), sums);
                           }
                         });
                       });
  }

 private:
  /// The sums of output `at` of an image.
  void write_sums(const std::int16_t* image, Index at, std::int64_t* sums) const {
    const WindowAxis& y = geometry_.window.y;
    const WindowAxis& x = geometry_.window.x;
    const Index oy = at / x.output;
    const Index ox = at % x.output;
    std::copy_n(bias_.data(), units(), sums);
    for (Index ky = y.begin(oy); ky < y.end(oy); ++ky) {
      const Index line = (y.first(oy) + ky * y.dilation) * x.input;
      for (Index kx = x.begin(ox); kx < x.end(ox); ++kx) {
        const Index pixel = line + x.first(ox) + kx * x.dilation;
        add_products(image + pixel * geometry_.channels,
                     weights_.data() + (ky * x.kernel + kx) * units(), sums);
      }
    }
  }

  void add_products(const std::int16_t* x, const std::int8_t* w, std::int64_t* sums) const {
    const Index multiplier = geometry_.filters_per_group();
    if (multiplier == 1) return add_products_s16(units(), x, w, sums);
    for (Index unit = 0; unit < units(); ++unit) {
      sums[unit] += std::int32_t{x[unit / multiplier]} * w[unit];
    }
  }

  Conv2DGeometry geometry_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int64_t> bias_;
};

template <class Sums>
std::unique_ptr<Kernel> make_int16_kernel(const Conv2DGeometry& geometry, Int16Numbers numbers) {
  DenseEpilogue epilogue = std::move(numbers.epilogue);
  return std::make_unique<QuantizedBlockKernel<std::int16_t, std::int64_t, Sums>>(
      Sums(geometry, std::move(numbers)), std::move(epilogue));
}

bool has_zero_points(const ModelTensor& tensor) {
  return std::ranges::any_of(tensor.quantization.zero_points,
                             [](std::int32_t zero_point) { return zero_point != 0; });
}

}  // namespace

std::int64_t int16_bound(std::span<const std::int64_t> magnitudes,
                         std::span<const std::int64_t> bias) {
  constexpr std::int64_t kReach = 32768;
  // Magnitudes are those of less than 2^31 weights. What a bias may add to them is far more than
  // any sum may be.
  constexpr std::int64_t kMostBias = std::int64_t{1} << 60;
  std::int64_t largest = 0;
  for (std::size_t unit = 0; unit < magnitudes.size(); ++unit) {
    const std::int64_t start =
        bias.empty() ? 0 : std::abs(std::clamp(bias[unit], -kMostBias, kMostBias));
    largest = std::max(largest, magnitudes[unit] * kReach + start);
  }
  return largest;
}

namespace {

/// An upper bound of the magnitude of any sum of an operator whose units lie along `axis` of its
/// weights.
std::int64_t largest_sum(const Operands& operands, std::size_t axis) {
  const auto weights = values_of<std::int8_t>(operands.input(1));
  const auto units = static_cast<std::size_t>(operands.input(1).shape[axis]);
  const std::size_t of_unit = weights.size() / units;
  std::vector<std::int64_t> magnitudes(units);
  if (axis == 0) {
    for (std::size_t i = 0; i < units; ++i) {
      magnitudes[i] = magnitude_of({weights.data() + i * of_unit, of_unit}, 0);
    }
  } else {
    // Units lie last, behind the taps.
    for (std::size_t i = 0; i < weights.size(); ++i) {
      magnitudes[i % units] += std::abs(weights[i]);
    }
  }
  return int16_bound(magnitudes, values_of<std::int64_t>(operands.input(2)));
}

}  // namespace

float least_int16_scale(const Operands& operands, std::size_t axis) {
  // A little below the factor of 128 and the results of 2^31 that are refused.
  constexpr double kMostFactor = 120.0;
  constexpr double kMostResult = 2147000000.0;
  const std::vector<float>& scales = operands.input(1).quantization.scales;
  const double of_sums = double{operands.input().quantization.scale()} *
                         double{*std::max_element(scales.begin(), scales.end())};
  const auto largest = static_cast<double>(largest_sum(operands, axis));
  const double of_results = of_sums * std::max(1 / kMostFactor, largest / kMostResult);
  // The code that an activation clamps to has to fit int32 as well.
  const float clamp = real_limits(operands.op.activation()).hi;
  const double of_clamp = std::isfinite(clamp) ? double{clamp} / kMostResult : 0.0;
  return static_cast<float>(std::max(of_results, of_clamp));
}

Int16Numbers int16_numbers(const KernelSource& source, Requantizer requantizer, std::size_t axis) {
  const ModelTensor& weights = source.input(1);
  requantizer.require_fitting(largest_sum(source, axis), weights.name);
  return {
      .weights = values_of<std::int8_t>(weights),
      .bias = values_of<std::int64_t>(source.input(2)),
      .epilogue = {std::move(requantizer), stored_params(source.output()), source.op.activation()}};
}

void check_int16_operands(const OperatorView& view) {
  if (view.input(1).dtype != DType::int8 || view.output().dtype != DType::int16) view.fail_types();
  if (!view.has_input(2) || view.input(2).dtype != DType::int64) {
    view.fail(fmt::format(
        "expected a bias of int64 for int16 inputs, which runtimes rescale in rounding mode q15, "
        "found {}",
        view.has_input(2) ? to_string(view.input(2).dtype) : "none"));
  }
  if (view.input(1).stored_bits != 8) {
    view.fail(fmt::format("expected weights stored in 8 bits for int16 inputs, found {}",
                          view.input(1).stored_bits));
  }
  for (const ModelTensor* tensor : {&view.input(), &view.input(1), &view.output()}) {
    if (!has_zero_points(*tensor)) continue;
    view.fail(fmt::format("expected zero points 0 for int16, found others in '{}'", tensor->name));
  }
}

std::unique_ptr<Kernel> make_int16_dense(const KernelSource& source, Int16Numbers numbers) {
  const ModelTensor& weights = source.input(1);
  const Index units = weights.shape[0];
  const Conv2DGeometry rows{.window = {},
                            .images = source.output().size() / units,
                            .channels = weights.size() / units,
                            .filters = units};
  return make_int16_conv(rows, std::move(numbers));
}

std::unique_ptr<Kernel> make_int16_conv(const Conv2DGeometry& geometry, Int16Numbers numbers) {
  return make_int16_kernel<Int16Sums>(geometry, std::move(numbers));
}

std::unique_ptr<Kernel> make_int16_depthwise(const Conv2DGeometry& geometry, Int16Numbers numbers) {
  return make_int16_kernel<Int16DepthwiseSums>(geometry, std::move(numbers));
}

std::size_t int16_bytes(const Operands& operands, Index groups) {
  const ModelTensor& weights = operands.input(1);
  const Index units = weights.shape[0] / groups;
  return static_cast<std::size_t>(groups) *
             Int16Weights::bytes(units, weights.size() / weights.shape[0]) +
         static_cast<std::size_t>(weights.shape[0]) *
             (sizeof(std::int64_t) + sizeof(QuantizedMultiplier));
}

std::size_t int16_depthwise_bytes(const Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return static_cast<std::size_t>(weights.size()) +
         static_cast<std::size_t>(weights.shape[3]) *
             (sizeof(std::int64_t) + sizeof(QuantizedMultiplier));
}

}  // namespace octet::detail
