#pragma once

#include <octet/core/function_ref.h>
#include <octet/core/ops/batch_norm.h>
#include <octet/core/ops/channel_blocks.h>
#include <octet/core/ops/fold_batch_norm.h>
#include <octet/core/ops/map.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>

#include <string_view>

namespace octet::detail {

// What the ops of batch normalization share: all channels lie along the last axis of x.

/// batch_norm_training() whose y is clamped as `activation` says, in the same pass; the gradient is
/// 0 where it was. The same bits as the clamp as an op of its own.
BatchNormResult batch_norm_training(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    float epsilon, FusedActivation activation);

/// Holds what the passes of batch normalization read: y = (x - mean) inverse gamma + beta, per
/// channel, clamped. The gradient passes between the limits of the clamp.
struct Normalization {
  Tensor x, gamma, beta, mean, inverse;
  RealLimits clamp;
};

/// batch_norm_training() in two steps, for a y that is quantized by what it is measured to be: the
/// gradient passes the quantization and the clamp where it is read, without a pass of their own.
///
/// With `multipliers` m [c], constants other than 0, x is m times what is normalized: y and the
/// statistics are those of x / m, without a pass that divides, since
///
///     (x / m - mean(x) / m) / sqrt(variance(x) / m^2 + epsilon)
///         = sign(m) (x - mean(x)) / sqrt(variance(x) + epsilon m^2)
class TrainingNorm {
 public:
  /// Throws as batch_norm_training().
  TrainingNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float epsilon,
               FusedActivation activation, const Tensor& multipliers = {});

  const ChannelStatistics& statistics() const { return statistics_; }
  /// y, off the tape; computed where it is read if x is the result of an op on images.
  const Tensor& values() const { return values_; }
  /// y on the tape.
  Tensor result() const;
  /// `y`, what values() were quantized to, on the tape: the gradient passes where values() lie
  /// within `passes`, and were not clamped.
  Tensor quantized(const Tensor& y, const RealLimits& passes) const;

 private:
  Tensor x_, gamma_, beta_;
  ChannelStatistics statistics_;
  Normalization norm_;
  Tensor values_;
};

/// Throws InvalidArgument unless `found`, called `what`, is [channels].
void require_channels(std::string_view operation, std::string_view what, const Tensor& found,
                      Index channels);
/// Throws InvalidArgument unless epsilon is a finite number above 0.
void require_epsilon(std::string_view operation, float epsilon);

/// 1 / sqrt(variance + epsilon), [c]: computed in double, rounded once.
Tensor inverse_deviations(const Tensor& variance, float epsilon);

/// fold_batch_norm() whose kernel is computed where it is read: until it has been, who writes to
/// `kernel` has to call its data() for it, as optimizers do.
FoldedWeights fold_batch_norm_on_demand(const Tensor& kernel, const Tensor& bias,
                                        const Tensor& gamma, const Tensor& beta,
                                        const ChannelStatistics& statistics, float epsilon);

/// A kernel times `multipliers`, constants, of the units along its last axes; computed where it is
/// read, as fold_batch_norm_on_demand() does.
Tensor scaled_units_on_demand(const Tensor& kernel, const Tensor& multipliers);

inline Index rows_of(const Tensor& x) { return x.shape().without_dim(-1).size(); }

/// The sums over all rows of g * x and of g, [2, c], of x [rows, c] and g of the same size. Calls
/// done(begin, end), where given, once the rows [begin, end) are read, from any thread.
Tensor product_sums(const float* x, const float* g, Index rows, const ChannelBlocks& blocks,
                    FunctionRef<void(Index begin, Index end)> done = {});

}  // namespace octet::detail
