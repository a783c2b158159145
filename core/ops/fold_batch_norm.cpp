#include <fmt/core.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/ops/batch_norm_internal.h>
#include <octet/core/ops/channel_blocks.h>
#include <octet/core/ops/fold_batch_norm.h>
#include <octet/core/ops/gradients_internal.h>
#include <octet/core/tensor_internal.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

using detail::product_sums;
using detail::TensorAccess;

namespace {

/// Whether the last axis, or the last axes together, have `channels` indices.
bool ends_in_channels(const Shape& shape, Index channels) {
  Index size = 1;
  for (Index axis = shape.rank() - 1; axis >= 0 && size <= channels; --axis) {
    size *= shape[axis];
    if (size == channels) return true;
  }
  return false;
}

/// gamma / sqrt(variance + epsilon), [c].
Tensor multipliers(const Tensor& gamma, const Tensor& inverse) {
  return detail::map(
      Work::map_floats, [](float g, float i) { return g * i; }, gamma.detach(), inverse);
}

/// Rows [rows, c] of a kernel or of its gradient, times the multipliers of their columns.
class KernelFolding {
 public:
  KernelFolding(const Tensor& kernel, const Tensor& multiplier)
      : blocks_(multiplier.size()),
        rows_(kernel.size() / multiplier.size()),
        factors_(blocks_.repeated(multiplier.data())) {}

  Index channels() const { return blocks_.channels(); }

  /// Writes the rows [begin, end) of x times the multipliers to those of y, which may be x.
  void scale(const float* x, Index begin, Index end, float* y) const {
    blocks_.for_each_piece(begin, end, [&](Index at, std::size_t rows, std::size_t columns) {
      kernels().passes.scale_columns(x + at, rows, columns, factors_.data(), y + at);
    });
  }

  /// Writes the gradient of the kernel, made of that of the folded one, g, to y, which may be g.
  /// Returns the sums over the rows of kernel * g, [c]: each block of rows is read once from
  /// memory.
  Tensor scale_and_sum(const float* kernel, const float* g, float* y) const {
    const Tensor sums = product_sums(kernel, g, rows_, blocks_,
                                     [&](Index begin, Index end) { scale(g, begin, end, y); });
    return TensorAccess::view(sums, {channels()});
  }

 private:
  detail::ChannelBlocks blocks_;
  Index rows_;
  std::vector<float> factors_;
};

/// The folded kernel as it is read: the pass that quantizes it needs no copy of it in memory.
Tensor lazy_folded(const Tensor& kernel, std::shared_ptr<const KernelFolding> folding) {
  constexpr Index kGrain = 4096;
  const Index channels = folding->channels();
  const auto unit = static_cast<std::size_t>(channels);
  const auto compute = [kernel = kernel.detach(), folding = std::move(folding), unit](
                           std::size_t begin, std::size_t end, float* out, MemoryParts) {
    folding->scale(kernel.data(), static_cast<Index>(begin / unit), static_cast<Index>(end / unit),
                   out - begin);
  };
  const auto grain = static_cast<std::size_t>(divided_up(kGrain, channels) * channels);
  return TensorAccess::lazy(kernel.shape(), {grain, compute, unit}, kernel);
}

Tensor fold_kernel(const Tensor& kernel, const Tensor& gamma, const Tensor& inverse,
                   const Tensor& multiplier) {
  const auto folding = std::make_shared<const KernelFolding>(kernel, multiplier);
  const auto backward = [kernel, gamma, inverse, folding](const Tensor& g) {
    std::vector<Tensor> gradients(2);
    gradients[0] = writable_gradient(g);
    const Tensor sums =
        folding->scale_and_sum(kernel.data(), g.data(), gradients[0].mutable_data());
    if (gamma.requires_grad()) gradients[1] = multipliers(sums, inverse);
    return gradients;
  };
  return record("fold_batch_norm", lazy_folded(kernel, folding), {kernel, gamma}, backward);
}

Tensor fold_bias(const Tensor& bias, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                 const Tensor& inverse, const Tensor& multiplier) {
  // The caller may go on to change the mean before backward() reads it.
  const Tensor centered =
      bias.defined() ? detail::map(
                           Work::map_floats, [](float b, float m) { return b - m; }, bias.detach(),
                           mean.detach())
                     : detail::map(
                           Work::map_floats, [](float m) { return 0.0F - m; }, mean.detach());
  const auto shift = [](float x, float m, float b) { return x * m + b; };
  const Tensor folded = detail::map(Work::map_floats, shift, centered, multiplier, beta.detach());
  const auto backward = [bias, gamma, centered, inverse, multiplier](const Tensor& g) {
    const auto product = [](float a, float b) { return a * b; };
    std::vector<Tensor> gradients(3);
    if (bias.defined() && bias.requires_grad()) {
      gradients[0] = detail::map(Work::map_floats, product, g, multiplier);
    }
    if (gamma.requires_grad()) {
      const auto scaled = [](float a, float b, float c) { return a * b * c; };
      gradients[1] = detail::map(Work::map_floats, scaled, g, centered, inverse);
    }
    gradients[2] = g;
    return gradients;
  };
  return record("fold_batch_norm", folded, {bias, gamma, beta}, backward);
}

}  // namespace

FoldedWeights detail::fold_batch_norm_on_demand(const Tensor& kernel, const Tensor& bias,
                                                const Tensor& gamma, const Tensor& beta,
                                                const ChannelStatistics& statistics,
                                                float epsilon) {
  constexpr std::string_view kName = "fold_batch_norm";
  const Index channels = gamma.size();
  require_channels(kName, "gamma", gamma, channels);
  require_channels(kName, "beta", beta, channels);
  require_channels(kName, "a mean", statistics.mean, channels);
  require_channels(kName, "a variance", statistics.variance, channels);
  if (bias.defined()) require_channels(kName, "a bias", bias, channels);
  require_epsilon(kName, epsilon);
  if (channels == 0 || !ends_in_channels(kernel.shape(), channels)) {
    throw InvalidArgument(
        fmt::format("{}: expected a kernel whose last axes hold the {} channels, found {}", kName,
                    channels, kernel.shape().to_string()));
  }
  const Tensor inverse = inverse_deviations(statistics.variance, epsilon);
  const Tensor multiplier = multipliers(gamma, inverse);
  return {fold_kernel(kernel, gamma, inverse, multiplier),
          fold_bias(bias, gamma, beta, statistics.mean, inverse, multiplier)};
}

Tensor detail::scaled_units_on_demand(const Tensor& kernel, const Tensor& multipliers) {
  const auto folding = std::make_shared<const KernelFolding>(kernel, multipliers);
  return record("fold_batch_norm", lazy_folded(kernel, folding), {kernel},
                [folding, rows = kernel.size() / multipliers.size()](const Tensor& g) {
                  Tensor of_kernel = writable_gradient(g);
                  folding->scale(g.data(), 0, rows, of_kernel.mutable_data());
                  return std::vector<Tensor>{of_kernel};
                });
}

FoldedWeights fold_batch_norm(const Tensor& kernel, const Tensor& bias, const Tensor& gamma,
                              const Tensor& beta, const ChannelStatistics& statistics,
                              float epsilon) {
  FoldedWeights folded =
      detail::fold_batch_norm_on_demand(kernel, bias, gamma, beta, statistics, epsilon);
  // Computed now: the owner of a leaf may write to its memory.
  static_cast<void>(folded.kernel.data());
  return folded;
}

}  // namespace octet
