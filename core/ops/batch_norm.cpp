#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/batch_norm.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/channel_blocks.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/ops/partial_sums.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

using detail::inverse_deviations;
using detail::Normalization;
using detail::require_channels;
using detail::require_epsilon;
using detail::row_grain;
using detail::rows_of;

namespace {

constexpr std::string_view kTraining = "batch_norm_training";

void check_operands(std::string_view operation, const Tensor& x, const Tensor& gamma,
                    const Tensor& beta, float epsilon) {
  if (x.rank() == 0) {
    throw InvalidArgument(
        fmt::format("{}: expected an input [..., channels], found a scalar", operation));
  }
  require_channels(operation, "gamma", gamma, x.dim(-1));
  require_channels(operation, "beta", beta, x.dim(-1));
  require_epsilon(operation, epsilon);
}

/// The mean over the rows of sums over them, [c].
Tensor mean_of(const Tensor& sums, Index rows) {
  const auto count = static_cast<double>(rows);
  const auto divide = [count](float sum) { return static_cast<float>(double{sum} / count); };
  return detail::map(Work::map_floats, divide, sums.reshape({sums.size()}));
}

Normalization normalization_of(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                               const Tensor& mean, const Tensor& inverse,
                               FusedActivation activation) {
  // The caller may go on to change the mean before backward() reads it.
  return {x.detach(), gamma.detach(),         beta.detach(), mean.detach().clone(),
          inverse,    real_limits(activation)};
}

bool is_clamp(const RealLimits& limits) {
  return std::isfinite(limits.lo) || std::isfinite(limits.hi);
}

/// sign(m) / sqrt(variance + epsilon m^2), [c].
Tensor inverse_deviations_of_multiples(const Tensor& variance, float epsilon,
                                       const Tensor& multipliers) {
  const auto inverse = [epsilon](float v, float m) {
    const double of_squares = double{v} + double{epsilon} * double{m} * double{m};
    return static_cast<float>(std::copysign(1.0 / std::sqrt(of_squares), double{m}));
  };
  return detail::map(Work::map_floats, inverse, variance, multipliers.detach());
}

/// The statistics of x / m from those of x.
ChannelStatistics divided(const ChannelStatistics& of_x, const Tensor& multipliers) {
  const auto mean = [](float x, float m) { return x / m; };
  const auto variance = [](float x, float m) {
    return static_cast<float>(double{x} / (double{m} * double{m}));
  };
  const Tensor m = multipliers.detach();
  return {detail::map(Work::map_floats, mean, of_x.mean, m),
          detail::map(Work::map_floats, variance, of_x.variance, m)};
}

/// The sums over all rows of g * n and of g, [2, c], as Passes::norm_sums has them. Calls
/// done(begin, end), where given, once the rows [begin, end) are read.
Tensor sums_over_rows(const float* x, const float* g, Index rows,
                      const detail::ChannelBlocks& blocks, const ColumnNorm& norm,
                      FunctionRef<void(Index begin, Index end)> done) {
  const Index channels = blocks.channels();
  const auto add = [&](Index begin, Index end, float* sums) {
    std::vector<double> totals(static_cast<std::size_t>(2 * channels));
    for (Index row = begin; row < end; row += blocks.block_rows()) {
      const Index next = std::min(end, row + blocks.block_rows());
      blocks.add_block(row, next, 2, totals.data(),
                       [&](Index at, std::size_t count, std::size_t columns, float* to) {
                         kernels().passes.norm_sums(x + at, g + at, count, columns, norm, to);
                       });
      if (done) done(row, next);
    }
    for (const double total : totals) *sums++ = static_cast<float>(total);
  };
  return sum_of_parts({2, channels}, rows, add);
}

/// Passes over all rows.
class NormPasses {
 public:
  explicit NormPasses(const Normalization& n)
      : x_(n.x.data()),
        rows_(rows_of(n.x)),
        blocks_(n.x.dim(-1)),
        mean_(blocks_.repeated(n.mean.data())),
        inverse_(blocks_.repeated(n.inverse.data())),
        gamma_(blocks_.repeated(n.gamma.data())),
        beta_(blocks_.repeated(n.beta.data())) {
    norm_ = {mean_.data(), inverse_.data(), gamma_.data(),    beta_.data(),
             n.clamp.lo,   n.clamp.hi,      is_clamp(n.clamp)};
  }

  Tensor normalized(const Shape& shape) const {
    Tensor y(shape);
    for_pieces([&, to = y.mutable_data()](Index at, std::size_t rows, std::size_t columns) {
      kernels().passes.normalize_columns(x_ + at, rows, columns, norm_, to + at);
    });
    return y;
  }

  /// The elements [begin, end), whole rows, of normalized(), written to `to`.
  void normalize(std::size_t begin, std::size_t end, float* to) const {
    const auto channels = static_cast<std::size_t>(blocks_.channels());
    float* const first = to - begin;
    blocks_.for_each_piece(static_cast<Index>(begin / channels), static_cast<Index>(end / channels),
                           [&](Index at, std::size_t rows, std::size_t columns) {
                             kernels().passes.normalize_columns(x_ + at, rows, columns, norm_,
                                                                first + at);
                           });
  }

  /// The gradients of gamma and of beta: row 0 and 1 of [2, c].
  Tensor parameter_gradients(const Tensor& g) const {
    return sums_over_rows(x_, g.data(), rows_, blocks_, norm_, {});
  }

  /// The gradient of x, gamma * inverse * (g - shift - normalized * scale): where nobody else has a
  /// handle on g, in its memory.
  Tensor input_gradient(const Tensor& g, const float* scales, const float* shifts) const {
    const std::vector<float> scale = blocks_.repeated(scales);
    const std::vector<float> shift = blocks_.repeated(shifts);
    Tensor dx = writable_gradient(g);
    for_pieces([&, from = g.data(), to = dx.mutable_data()](Index at, std::size_t rows,
                                                            std::size_t columns) {
      kernels().passes.norm_gradient(x_ + at, from + at, rows, columns, norm_, scale.data(),
                                     shift.data(), to + at);
    });
    return dx;
  }

  /// Writes the input's gradient of the elements [begin, end), whole rows, to `to`; scales and
  /// shifts are one per column.
  void input_gradient(const float* g, const float* scales, const float* shifts, std::size_t begin,
                      std::size_t end, float* to) const {
    const auto channels = static_cast<std::size_t>(blocks_.channels());
    float* const first = to - begin;
    blocks_.for_each_piece(static_cast<Index>(begin / channels), static_cast<Index>(end / channels),
                           [&](Index at, std::size_t rows, std::size_t columns) {
                             kernels().passes.norm_gradient(x_ + at, g + at, rows, columns, norm_,
                                                            scales, shifts, first + at);
                           });
  }

  const detail::ChannelBlocks& blocks() const { return blocks_; }

 private:
  template <class Body>
  void for_pieces(Body&& body) const {
    const auto rows = static_cast<std::size_t>(rows_);
    const std::size_t least = row_grain(Work::map_floats, blocks_.channels());
    parallel_for(rows, thread_share(rows, least), [&](std::size_t begin, std::size_t end) {
      blocks_.for_each_piece(static_cast<Index>(begin), static_cast<Index>(end), body);
    });
  }

  const float* x_;
  Index rows_;
  detail::ChannelBlocks blocks_;
  std::vector<float> mean_, inverse_, gamma_, beta_;
  ColumnNorm norm_{};
};

/// Whether what is made of x is computed as it is read: convolutions read a part of images [n, h,
/// w, c] at a time. Not of a leaf, to whose memory its owner may write.
bool is_lazy(const Tensor& x) {
  constexpr Index kImages = 4;
  return x.rank() == kImages && detail::TensorAccess::node(x) != nullptr;
}

/// A tensor of the shape of n.x whose rows are computed as they are read.
template <class Compute>
Tensor lazy_rows(const Normalization& n, Compute compute) {
  constexpr Index kLeastGrain = 4096;
  const Index channels = std::max<Index>(n.x.dim(-1), 1);
  const auto grain = static_cast<std::size_t>(divided_up(kLeastGrain, channels) * channels);
  const auto run = [compute = std::move(compute)](std::size_t begin, std::size_t end, float* out,
                                                  MemoryParts) { compute(begin, end, out); };
  return detail::TensorAccess::lazy(n.x.shape(), {grain, run, static_cast<std::size_t>(channels)},
                                    n.x);
}

/// NormPasses::normalized() as it is read.
Tensor lazy_normalized(const Normalization& n) {
  struct Source {
    Tensor x;
    NormPasses passes;

    explicit Source(const Normalization& n) : x(n.x), passes(n) {}
  };
  const auto source = std::make_shared<const Source>(n);
  return lazy_rows(n, [source](std::size_t begin, std::size_t end, float* out) {
    source->passes.normalize(begin, end, out);
  });
}

/// NormPasses::input_gradient() as it is read.
Tensor lazy_input_gradient(const Normalization& n, const Tensor& g, const Tensor& means) {
  struct Source {
    Tensor x, g;
    NormPasses passes;
    std::vector<float> scales, shifts;

    Source(const Normalization& n, const Tensor& gradient, const Tensor& means)
        : x(n.x),
          g(gradient),
          passes(n),
          scales(passes.blocks().repeated(means.data())),
          shifts(passes.blocks().repeated(means.data() + n.gamma.size())) {}
  };
  const auto source = std::make_shared<const Source>(n, g, means);
  return lazy_rows(n, [source, from = g.data()](std::size_t begin, std::size_t end, float* out) {
    source->passes.input_gradient(from, source->scales.data(), source->shifts.data(), begin, end,
                                  out);
  });
}

enum class Statistics { constant, of_batch };

/// y, made of what `n` normalizes, on the tape.
Tensor record_normalized(std::string_view operation, const Tensor& y, const Normalization& n,
                         const Tensor& x, const Tensor& gamma, const Tensor& beta,
                         Statistics statistics) {
  const auto backward = [n, x, gamma, beta, statistics](const Tensor& g) {
    const NormPasses passes(n);
    const bool sums_wanted = gamma.requires_grad() || beta.requires_grad();
    const bool through_sums = x.requires_grad() && statistics == Statistics::of_batch;
    const Tensor sums = sums_wanted || through_sums ? passes.parameter_gradients(g) : Tensor();
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) {
      // What x shares with all rows of its channel, a shift and a scale, changes nothing in y where
      // the statistics are its own: the means of both are taken from g.
      const Tensor means =
          through_sums ? mean_of(sums, rows_of(n.x)) : Tensor::zeros({2 * gamma.size()});
      gradients[0] = is_lazy(x)
                         ? lazy_input_gradient(n, g, means)
                         : passes.input_gradient(g, means.data(), means.data() + gamma.size());
    }
    if (gamma.requires_grad()) gradients[1] = detail::TensorAccess::view(sums, gamma.shape());
    if (beta.requires_grad()) {
      gradients[2] = detail::TensorAccess::view(sums, beta.shape(), beta.size());
    }
    return gradients;
  };
  return record(operation, y, {x, gamma, beta}, backward);
}

/// What `n` normalizes, off the tape.
Tensor values_of(const Normalization& n, const Tensor& x) {
  return is_lazy(x) ? lazy_normalized(n) : NormPasses(n).normalized(x.shape());
}

}  // namespace

void detail::require_channels(std::string_view operation, std::string_view what,
                              const Tensor& found, Index channels) {
  if (found.defined() && found.shape() == Shape{channels}) return;
  throw InvalidArgument(
      fmt::format("{}: expected {} of shape [{}], one per channel, found {}", operation, what,
                  channels, found.defined() ? found.shape().to_string() : "an undefined tensor"));
}

void detail::require_epsilon(std::string_view operation, float epsilon) {
  if (std::isfinite(epsilon) && epsilon > 0.0F) return;
  throw InvalidArgument(
      fmt::format("{}: expected a finite epsilon above 0, found {}", operation, epsilon));
}

Tensor detail::product_sums(const float* x, const float* g, Index rows, const ChannelBlocks& blocks,
                            FunctionRef<void(Index begin, Index end)> done) {
  const std::vector<float> zeros(static_cast<std::size_t>(blocks.columns()));
  const std::vector<float> ones(zeros.size(), 1.0F);
  const ColumnNorm as_it_is = {zeros.data(), ones.data(), ones.data(), zeros.data(), 0, 0, false};
  return sums_over_rows(x, g, rows, blocks, as_it_is, done);
}

Tensor detail::inverse_deviations(const Tensor& variance, float epsilon) {
  const auto inverse = [epsilon](float v) {
    return static_cast<float>(1.0 / std::sqrt(double{v} + double{epsilon}));
  };
  return detail::map(Work::map_floats, inverse, variance);
}

BatchNormResult batch_norm_training(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    float epsilon) {
  return detail::batch_norm_training(x, gamma, beta, epsilon, FusedActivation::none);
}

BatchNormResult detail::batch_norm_training(const Tensor& x, const Tensor& gamma,
                                            const Tensor& beta, float epsilon,
                                            FusedActivation activation) {
  const TrainingNorm norm(x, gamma, beta, epsilon, activation);
  return {norm.result(), norm.statistics()};
}

detail::TrainingNorm::TrainingNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                   float epsilon, FusedActivation activation,
                                   const Tensor& multipliers)
    : x_(x), gamma_(gamma), beta_(beta) {
  check_operands(kTraining, x, gamma, beta, epsilon);
  if (rows_of(x) == 0) {
    throw InvalidArgument(fmt::format("{}: expected an input with at least one row, found {}",
                                      kTraining, x.shape().to_string()));
  }
  if (multipliers.defined()) require_channels(kTraining, "multipliers", multipliers, x.dim(-1));
  statistics_ = channel_statistics(x);
  const Tensor inverse = multipliers.defined() ? inverse_deviations_of_multiples(
                                                     statistics_.variance, epsilon, multipliers)
                                               : inverse_deviations(statistics_.variance, epsilon);
  norm_ = normalization_of(x, gamma, beta, statistics_.mean, inverse, activation);
  if (multipliers.defined()) statistics_ = divided(statistics_, multipliers);
  values_ = values_of(norm_, x);
}

Tensor detail::TrainingNorm::result() const {
  return record_normalized(kTraining, values_, norm_, x_, gamma_, beta_, Statistics::of_batch);
}

Tensor detail::TrainingNorm::quantized(const Tensor& y, const RealLimits& passes) const {
  Normalization n = norm_;
  // Limits of `passes` pass the gradient, those of a clamp do not.
  n.clamp = {std::max(n.clamp.lo, std::nextafter(passes.lo, -kUnbounded)),
             std::min(n.clamp.hi, std::nextafter(passes.hi, kUnbounded))};
  return record_normalized(kTraining, y, n, x_, gamma_, beta_, Statistics::of_batch);
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const ChannelStatistics& statistics, float epsilon) {
  constexpr std::string_view kName = "batch_norm_inference";
  check_operands(kName, x, gamma, beta, epsilon);
  require_channels(kName, "a mean", statistics.mean, x.dim(-1));
  require_channels(kName, "a variance", statistics.variance, x.dim(-1));
  const Normalization n =
      normalization_of(x, gamma, beta, statistics.mean,
                       inverse_deviations(statistics.variance, epsilon), FusedActivation::none);
  return record_normalized(kName, values_of(n, x), n, x, gamma, beta, Statistics::constant);
}

}  // namespace octet
