#pragma once

#include <octet/core/kernels/passes.h>
#include <octet/core/quant/activation_range.h>
#include <octet/core/tensor.h>
#include <octet/core/tensor_internal.h>
#include <octet/core/transpose.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>

namespace octet {

// Parts of backward passes that several layers share, which compute outside the tape, and an op.

/// The limit of a GradientWindow on a side where every value lies inside.
inline constexpr float kUnbounded = std::numeric_limits<float>::infinity();

/// g where x is inside the window, else 0; written to `to` where that is given, a new tensor or
/// what writable_gradient() gives, which may be g itself.
Tensor inside_window(const Tensor& x, const Tensor& g, const GradientWindow& window,
                     const Tensor& to = {});

/// Whether the limits of x are known, and all of it is inside the window: inside_window() is g.
bool is_known_inside(const Tensor& x, const GradientWindow& window);

/// The clamped sum of tensors of one shape, in one pass. No gradient passes where it is NaN.
Tensor add(const Tensor& a, const Tensor& b, FusedActivation activation);

/// Puts c on the tape as the result of batch_matmul(a, b, ...); c may have been computed in another
/// way.
Tensor record_batch_matmul(const Tensor& c, const Tensor& a, const Tensor& b, Transpose transpose_a,
                           Transpose transpose_b);

/// Rows of a tensor [..., row], which passes read a part at a time: of one that is computed on
/// demand, that part is computed where it is read, and stays in the cache.
class TensorRows {
 public:
  TensorRows(const Tensor& x, Index row);

  /// Whether rows are computed when they are read.
  bool computes() const { return lazy_.has_value(); }
  /// The floats that read() needs for so many rows.
  std::size_t scratch(Index rows) const;
  /// Where row `begin` lies: in x, or in `memory`, to which the rows [begin, end) are then written.
  const float* read(Index begin, Index end, float* memory) const;

 private:
  Tensor x_;
  Index row_;
  /// Unless x is in memory, at `data_`. A copy: others may ask for all of it meanwhile.
  std::optional<detail::LazyData> lazy_;
  const float* data_ = nullptr;
};

/// Whether TensorRows would compute the rows of x.
bool computes_rows(const Tensor& x, Index row);

/// Adds the columns of x [rows, totals.size()] to `totals`.
void add_columns(const float* x, Index rows, std::span<double> totals);

/// Gradients from that of a result; one that was not asked for is undefined.
struct ConvGradients {
  Tensor x;
  Tensor kernel;
  Tensor bias;
};
struct WantedGradients {
  bool x;
  bool kernel;
  bool bias;
};

/// The gradient that reaches the sums of a clamped layer, and what its bias gets of it.
struct SumsGradient {
  Tensor sums;
  Tensor bias;
};

/// What a backward function may write another gradient of the shape of g to, element by element as
/// it reads g: g itself where nobody else has a handle on it, whose memory is in the cache.
Tensor writable_gradient(const Tensor& g);

/// Which elements of x are inside a window, a byte for each: a quarter of the memory of x.
using Mask = std::shared_ptr<const std::int8_t[]>;
/// g [..., row] where `inside` is 1, else 0, as it is read.
Tensor lazy_masked(const Mask& inside, const Tensor& g);

/// For y [m, n] and its gradient g: `sums` is g where y lies inside the window, else 0; `bias` [n]
/// is the sum of its rows. `sums` is written to `to`, a new tensor or a view of what
/// writable_gradient() gives.
SumsGradient window_gradient(const Tensor& y, const Tensor& g, const GradientWindow& window,
                             const Tensor& to);

/// `bias` alone, where all of g [m, n] passes.
Tensor column_sums(const Tensor& g);

/// x^T g, the gradient of a kernel: x [m, k], g [m, n]. Lazy, so that an optimizer can use each
/// block of rows while it is in the cache. `finish(begin, end, rows)`, where given, changes the
/// rows [begin, end) afterwards.
Tensor kernel_gradient(const Tensor& x, const Tensor& g,
                       std::function<void(Index begin, Index end, float* rows)> finish = {});

}  // namespace octet
