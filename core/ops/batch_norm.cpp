#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/ops/batch_norm.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/tensor_internal.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

using detail::inverse_deviations;
using detail::map_channels;
using detail::require_channels;
using detail::require_epsilon;
using detail::rows_of;
using detail::sum_rows;

namespace {

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

/// The mean over the rows of what sum_rows() summed, [c].
Tensor mean_of(const Tensor& sums, Index rows) {
  const auto count = static_cast<double>(rows);
  const auto divide = [count](float sum) { return static_cast<float>(double{sum} / count); };
  return detail::map(Work::map_floats, divide, sums.reshape({sums.size()}));
}

/// What the backward pass reads again.
struct Normalization {
  Tensor x, gamma, mean, inverse;
};

Normalization normalization_of(const Tensor& x, const Tensor& gamma,
                               const ChannelStatistics& statistics, float epsilon) {
  // The caller may go on to change the statistics before backward() reads them.
  return {x.detach(), gamma.detach(), statistics.mean.detach().clone(),
          inverse_deviations(statistics.variance, epsilon)};
}

/// Its elements.
struct NormalizationView {
  const float *x, *gamma, *mean, *inverse;

  explicit NormalizationView(const Normalization& n)
      : x(n.x.data()), gamma(n.gamma.data()), mean(n.mean.data()), inverse(n.inverse.data()) {}
  float normalized(std::size_t i, std::size_t c) const { return (x[i] - mean[c]) * inverse[c]; }
  float scale(std::size_t c) const { return gamma[c] * inverse[c]; }
};

Tensor normalize(const Normalization& n, const Tensor& beta) {
  const NormalizationView v(n);
  return map_channels(n.x.shape(), [v, shift = beta.data()](std::size_t i, std::size_t c) {
    return v.normalized(i, c) * v.gamma[c] + shift[c];
  });
}

/// The gradients of gamma and of beta: row 0 and 1 of [2, c].
Tensor parameter_gradients(const Normalization& n, const Tensor& g) {
  return sum_rows<2>(n.x,
                     [v = NormalizationView(n), upstream = g.data()](std::size_t i, std::size_t c) {
                       const auto gradient = double{upstream[i]};
                       return std::array{gradient * double{v.normalized(i, c)}, gradient};
                     });
}

/// The gradient of x where its statistics are constants.
Tensor scaled_gradient(const Normalization& n, const Tensor& g) {
  return map_channels(
      g.shape(), [v = NormalizationView(n), upstream = g.data()](std::size_t i, std::size_t c) {
        return v.scale(c) * upstream[i];
      });
}

/// The gradient of x through its statistics too: what x shares with all rows of its channel, a
/// shift and a scale, changes nothing in y, so that the means of both are taken from g.
Tensor centered_gradient(const Normalization& n, const Tensor& g, const Tensor& sums) {
  const Tensor means = mean_of(sums, rows_of(n.x));
  const float* scales = means.data();
  const float* shifts = scales + n.x.dim(-1);
  return map_channels(g.shape(), [v = NormalizationView(n), upstream = g.data(), scales, shifts](
                                     std::size_t i, std::size_t c) {
    return v.scale(c) * (upstream[i] - shifts[c] - v.normalized(i, c) * scales[c]);
  });
}

enum class Statistics { constant, of_batch };

Tensor record_normalized(std::string_view operation, const Normalization& n, const Tensor& x,
                         const Tensor& gamma, const Tensor& beta, Statistics statistics) {
  const auto backward = [n, x, gamma, beta, statistics](const Tensor& g) {
    const bool sums_wanted = gamma.requires_grad() || beta.requires_grad();
    const bool through_sums = x.requires_grad() && statistics == Statistics::of_batch;
    const Tensor sums = sums_wanted || through_sums ? parameter_gradients(n, g) : Tensor();
    std::vector<Tensor> gradients(3);
    if (x.requires_grad()) {
      gradients[0] = through_sums ? centered_gradient(n, g, sums) : scaled_gradient(n, g);
    }
    if (gamma.requires_grad()) gradients[1] = detail::TensorAccess::view(sums, gamma.shape());
    if (beta.requires_grad()) {
      gradients[2] = detail::TensorAccess::view(sums, beta.shape(), beta.size());
    }
    return gradients;
  };
  return record(operation, normalize(n, beta), {x, gamma, beta}, backward);
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

Tensor detail::inverse_deviations(const Tensor& variance, float epsilon) {
  const auto inverse = [epsilon](float v) {
    return static_cast<float>(1.0 / std::sqrt(double{v} + double{epsilon}));
  };
  return detail::map(Work::map_floats, inverse, variance);
}

ChannelStatistics channel_statistics(const Tensor& x) {
  if (x.rank() == 0 || rows_of(x) == 0) {
    throw InvalidArgument(
        fmt::format("channel_statistics: expected an input [..., channels] with at least one row, "
                    "found {}",
                    x.shape().to_string()));
  }
  const Index rows = rows_of(x);
  const float* from = x.data();
  ChannelStatistics result;
  result.mean = mean_of(
      sum_rows<1>(x, [from](std::size_t i,
                            std::size_t /*channel*/) { return std::array{double{from[i]}}; }),
      rows);
  const float* mean = result.mean.data();
  result.variance = mean_of(sum_rows<1>(x,
                                        [from, mean](std::size_t i, std::size_t c) {
                                          const double deviation =
                                              double{from[i]} - double{mean[c]};
                                          return std::array{deviation * deviation};
                                        }),
                            rows);
  return result;
}

BatchNormResult batch_norm_training(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    float epsilon) {
  constexpr std::string_view kName = "batch_norm_training";
  check_operands(kName, x, gamma, beta, epsilon);
  if (rows_of(x) == 0) {
    throw InvalidArgument(fmt::format("{}: expected an input with at least one row, found {}",
                                      kName, x.shape().to_string()));
  }
  ChannelStatistics statistics = channel_statistics(x);
  const Normalization n = normalization_of(x, gamma, statistics, epsilon);
  return {record_normalized(kName, n, x, gamma, beta, Statistics::of_batch), std::move(statistics)};
}

Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const ChannelStatistics& statistics, float epsilon) {
  constexpr std::string_view kName = "batch_norm_inference";
  check_operands(kName, x, gamma, beta, epsilon);
  require_channels(kName, "a mean", statistics.mean, x.dim(-1));
  require_channels(kName, "a variance", statistics.variance, x.dim(-1));
  const Normalization n = normalization_of(x, gamma, statistics, epsilon);
  return record_normalized(kName, n, x, gamma, beta, Statistics::constant);
}

}  // namespace octet
