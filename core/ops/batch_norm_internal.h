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
///
/// With `multipliers` m [c], constants other than 0, x is m times what is normalized: y and the
/// statistics are those of x / m, without a pass that divides, since
///
///     (x / m - mean(x) / m) / sqrt(variance(x) / m^2 + epsilon)
///         = sign(m) (x - mean(x)) / sqrt(variance(x) + epsilon m^2)
BatchNormResult batch_norm_training(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                    float epsilon, FusedActivation activation,
                                    const Tensor& multipliers = {});

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

inline Index rows_of(const Tensor& x) { return x.shape().without_dim(-1).size(); }

/// The sums over all rows of g * x and of g, [2, c], of x [rows, c] and g of the same size. Calls
/// done(begin, end), where given, once the rows [begin, end) are read, from any thread.
Tensor product_sums(const float* x, const float* g, Index rows, const ChannelBlocks& blocks,
                    FunctionRef<void(Index begin, Index end)> done = {});

}  // namespace octet::detail
