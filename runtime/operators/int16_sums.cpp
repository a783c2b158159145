#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/kernels/patches.h>
#include <octet/core/parallel.h>
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

/// What the kernels have in common: the epilogue.
class Int16Kernel : public Kernel {
 public:
  explicit Int16Kernel(const Int16Numbers& n)
      : units_(n.units), bias_(n.bias), requantizer_(n.requantizer), range_(n.range) {}

  std::size_t bytes() const override {
    return bias_.size() * sizeof(std::int64_t) + requantizer_.multipliers().size_bytes();
  }

 protected:
  Index units() const { return units_; }
  const std::int64_t* bias() const { return bias_.data(); }
  const Requantizer& requantizer() const { return requantizer_; }
  void requantize(const Requantizer& by, const std::int64_t* sums, Index count,
                  std::int16_t* y) const {
    const auto size = static_cast<std::size_t>(count);
    by.requantize(std::span(sums, size), std::span(y, size), range_.lo, range_.hi);
  }

 private:
  Index units_;
  std::vector<std::int64_t> bias_;
  Requantizer requantizer_;
  ActivationRange range_;
};

class Int16Dense final : public Int16Kernel {
 public:
  Int16Dense(Index rows, const Int16Numbers& n)
      : Int16Kernel(n),
        rows_(rows),
        depth_(std::ssize(n.weights) / n.units),
        block_(rows_per_block(depth_)),
        weights_(n.weights.data(), n.units, depth_) {}

  std::size_t bytes() const override { return Int16Kernel::bytes() + weights_.bytes(); }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return static_cast<std::size_t>(block_ * units()) * sizeof(std::int64_t) +
           weights_.thread_bytes(block_);
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<std::int16_t>();
    auto* y = a.to<std::int16_t>();
    for_blocks(a.samples * rows_, block_, depth_ * units(), [&](Index begin, Index end) {
      const Index count = (end - begin) * units();
      const ScratchBuffer<std::int64_t, Int16Kernel> sums(static_cast<std::size_t>(count));
      weights_.multiply(end - begin, x + begin * depth_, bias(), sums.data());
      requantize(requantizer(), sums.data(), count, y + begin * units());
    });
  }

 private:
  /// Of one sample.
  Index rows_;
  Index depth_;
  Index block_;
  Int16Weights weights_;
};

/// Gathers patches and multiplies them, group by group.
class Int16Conv final : public Int16Kernel {
 public:
  Int16Conv(const Conv2DGeometry& geometry, const Int16Numbers& n)
      : Int16Kernel(n), geometry_(geometry), block_(rows_per_block(geometry.patch())) {
    const Index filters = geometry.filters_per_group();
    for (Index g = 0; g < geometry.groups; ++g) {
      const auto first = static_cast<std::size_t>(g * filters);
      weights_.emplace_back(n.weights.data() + g * filters * geometry.patch(), filters,
                            geometry.patch());
      of_groups_.push_back(requantizer().part(first, static_cast<std::size_t>(filters)));
    }
  }

  std::size_t bytes() const override {
    std::size_t total = Int16Kernel::bytes();
    for (const Int16Weights& of_group : weights_) total += of_group.bytes();
    for (const Requantizer& of_group : of_groups_) total += of_group.multipliers().size_bytes();
    return total;
  }
  std::size_t thread_bytes(Index /*samples*/) const override {
    const Index filters = geometry_.filters_per_group();
    return static_cast<std::size_t>(block_ * filters) *
               (sizeof(std::int64_t) + sizeof(std::int16_t)) +
           weights_.front().thread_bytes(block_) +
           static_cast<std::size_t>(block_ * geometry_.patch() +
                                    padded_elements(geometry_, block_)) *
               sizeof(std::int16_t);
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<std::int16_t>();
    auto* y = a.to<std::int16_t>();
    for_blocks(a.samples * geometry_.rows(), block_, geometry_.patch() * geometry_.filters,
               [&](Index begin, Index end) {
                 for (Index g = 0; g < geometry_.groups; ++g) run_group(g, begin, end, x, y);
               });
  }

 private:
  void run_group(Index g, Index begin, Index end, const std::int16_t* x, std::int16_t* y) const {
    const Index rows = end - begin;
    const Index depth = geometry_.patch();
    const Index filters = geometry_.filters_per_group();
    const ScratchBuffer<std::int16_t, Int16Conv> patches(static_cast<std::size_t>(rows * depth));
    gather_rows(geometry_, x, g, std::int16_t{0}, begin, end, depth, patches.data());
    const ScratchBuffer<std::int64_t, Int16Kernel> sums(static_cast<std::size_t>(rows * filters));
    const auto group = static_cast<std::size_t>(g);
    weights_[group].multiply(rows, patches.data(), bias() + g * filters, sums.data());
    const Requantizer& by = of_groups_[group];
    if (geometry_.groups == 1) {
      return requantize(by, sums.data(), rows * filters, y + begin * filters);
    }
    const ScratchBuffer<std::int16_t, Int16Kernel> codes(static_cast<std::size_t>(rows * filters));
    requantize(by, sums.data(), rows * filters, codes.data());
    for (Index i = 0; i < rows; ++i) {
      std::copy_n(codes.data() + i * filters, filters,
                  y + (begin + i) * geometry_.filters + g * filters);
    }
  }

  Conv2DGeometry geometry_;
  Index block_;
  /// By group.
  std::vector<Int16Weights> weights_;
  std::vector<Requantizer> of_groups_;
};

/// Output by output, tap by tap.
class Int16Depthwise final : public Int16Kernel {
 public:
  Int16Depthwise(const Conv2DGeometry& geometry, Int16Numbers n)
      : Int16Kernel(n), geometry_(geometry), weights_(std::move(n.weights)) {}

  std::size_t bytes() const override { return Int16Kernel::bytes() + weights_.size(); }
  std::size_t thread_bytes(Index /*samples*/) const override {
    return static_cast<std::size_t>(units()) * sizeof(std::int64_t);
  }

  void run(const KernelArguments& a) const override {
    const auto* x = a.input<std::int16_t>();
    auto* y = a.to<std::int16_t>();
    const Window& window = geometry_.window;
    for_blocks(
        a.samples * geometry_.rows(), kLeastRows, window.taps() * units(),
        [&](Index begin, Index end) {
          const ScratchBuffer<std::int64_t, Int16Kernel> sums(static_cast<std::size_t>(units()));
          for (Index i = begin; i < end; ++i) {
            const Index image = i / window.outputs();
            write_sums(x + image * window.inputs() * geometry_.channels, i % window.outputs(),
                       sums.data());
            requantize(requantizer(), sums.data(), units(), y + i * units());
          }
        });
  }

 private:
  /// The sums of output `at` of an image.
  void write_sums(const std::int16_t* image, Index at, std::int64_t* sums) const {
    const WindowAxis& y = geometry_.window.y;
    const WindowAxis& x = geometry_.window.x;
    const Index oy = at / x.output;
    const Index ox = at % x.output;
    std::copy_n(bias(), units(), sums);
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
};

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

/// The sum of |w|, a piece at a time, so that compilers make vectors of int32 of it.
std::int64_t magnitude(std::span<const std::int8_t> weights) {
  constexpr std::size_t kPiece = 4096;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < weights.size(); i += kPiece) {
    std::int32_t sum = 0;
    for (const std::int8_t w : weights.subspan(i, std::min(kPiece, weights.size() - i))) {
      sum += std::abs(w);
    }
    total += sum;
  }
  return total;
}

/// Of an operator whose units lie along `axis` of its weights.
std::int64_t largest_sum(const Operands& operands, std::size_t axis) {
  const auto weights = values_of<std::int8_t>(operands.input(1));
  const auto units = static_cast<std::size_t>(operands.input(1).shape[axis]);
  const std::size_t of_unit = weights.size() / units;
  std::vector<std::int64_t> magnitudes(units);
  if (axis == 0) {
    for (std::size_t i = 0; i < units; ++i) {
      magnitudes[i] = magnitude({weights.data() + i * of_unit, of_unit});
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
  Int16Numbers n{.units = weights.shape[axis],
                 .weights = values_of<std::int8_t>(weights),
                 .bias = values_of<std::int64_t>(source.input(2)),
                 .requantizer = std::move(requantizer),
                 .range = activation_range(source.op.activation(), stored_params(source.output()),
                                           Rounding::q15),
                 .largest_sum = 0};
  n.largest_sum = largest_sum(source, axis);
  n.requantizer.require_fitting(n.largest_sum, weights.name);
  return n;
}

void check_int16_operands(const OperatorView& view) {
  if (view.input(1).dtype != DType::int8 || view.output().dtype != DType::int16) view.fail_types();
  if (!view.has_input(2) || view.input(2).dtype != DType::int64) {
    view.fail(fmt::format(
        "expected a bias of int64 for codes of int16, which runtimes rescale by contract q15, "
        "found {}",
        view.has_input(2) ? to_string(view.input(2).dtype) : "none"));
  }
  if (view.input(1).stored_bits != 8) {
    view.fail(fmt::format("expected weights stored in 8 bits for codes of int16, found {}",
                          view.input(1).stored_bits));
  }
  for (const ModelTensor* tensor : {&view.input(), &view.input(1), &view.output()}) {
    if (!has_zero_points(*tensor)) continue;
    view.fail(fmt::format("expected zero points 0 for codes of int16, found others in '{}'",
                          tensor->name));
  }
}

std::unique_ptr<Kernel> make_int16_dense(const KernelSource& source, const Int16Numbers& numbers) {
  return std::make_unique<Int16Dense>(source.output().size() / numbers.units, numbers);
}

std::unique_ptr<Kernel> make_int16_conv(const Conv2DGeometry& geometry,
                                        const Int16Numbers& numbers) {
  return std::make_unique<Int16Conv>(geometry, numbers);
}

std::unique_ptr<Kernel> make_int16_depthwise(const Conv2DGeometry& geometry, Int16Numbers numbers) {
  return std::make_unique<Int16Depthwise>(geometry, std::move(numbers));
}

std::size_t int16_bytes(const Operands& operands, Index groups) {
  const ModelTensor& weights = operands.input(1);
  const Index units = weights.shape[0] / groups;
  // A group has multipliers of its own, beside those of all units.
  return static_cast<std::size_t>(groups) *
             (Int16Weights::bytes(units, weights.size() / weights.shape[0]) +
              sizeof(QuantizedMultiplier)) +
         static_cast<std::size_t>(weights.shape[0]) *
             (sizeof(std::int64_t) + 2 * sizeof(QuantizedMultiplier));
}

std::size_t int16_depthwise_bytes(const Operands& operands) {
  const ModelTensor& weights = operands.input(1);
  return static_cast<std::size_t>(weights.size()) +
         static_cast<std::size_t>(weights.shape[3]) *
             (sizeof(std::int64_t) + sizeof(QuantizedMultiplier));
}

}  // namespace octet::detail
