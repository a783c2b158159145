#pragma once

#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace octet {
struct QuantParams;
}

namespace octet::detail {

struct Node;

/// Called with a leaf whose gradient is complete.
using LeafReady = FunctionRef<void(const Tensor& leaf)>;

/// Elements that are computed on demand. compute(begin, end, out, prefetch) writes the elements
/// [begin, end) to `out`, begin a multiple of `grain`, end too or the size: the same bits from any
/// thread. `prefetch` is the memory that the caller reads next, or empty: a hint.
struct LazyData {
  std::size_t grain;
  std::function<void(std::size_t begin, std::size_t end, float* out, MemoryParts prefetch)> compute;
  /// Not 0 where compute() also takes multiples of this, a divisor of `grain`: those who read other
  /// parts than whole grains ask for it.
  std::size_t unit = 0;
};

/// The part of Tensor that Octet's own ops, layers and optimizers use and users do not. Bytes,
/// limits, grid and codes describe the data: all handles and views share them, and a call of the
/// non-const data() of any of them drops them. A pointer from an earlier call must not be written
/// through after they are set.
struct TensorAccess {
  /// Returns a tensor whose elements `data` computes when data() is first called. What `data` reads
  /// must not change until then.
  static Tensor lazy(const Shape& shape, LazyData data);
  /// Returns a lazy tensor whose `data` reads `source`, which may change: the elements are computed
  /// before it does.
  static Tensor lazy(const Shape& shape, LazyData data, const Tensor& source);
  /// Returns how the elements will be computed; null once they are.
  static const LazyData* pending(const Tensor& x);

  /// Returns pixels, x = byte / 255, converted to floats on demand.
  static Tensor from_bytes(const Shape& shape, std::shared_ptr<const std::uint8_t[]> bytes);
  /// Returns the bytes of a tensor made by from_bytes(), else null.
  static const std::uint8_t* bytes(const Tensor& x);

  /// Returns a tensor of `shape` that shares the data of x from element `offset`, off the tape.
  static Tensor view(const Tensor& x, const Shape& shape, Index offset = 0);

  /// Returns the minimum and maximum of the elements; measures them on the first call after a
  /// write. Thread-safe.
  static MinMax limits(const Tensor& x);
  /// Stores what limits() will return, for ops that know it; ignored for a part of a tensor.
  static void set_limits(Tensor& x, const MinMax& limits);
  /// Returns whether the limits of the whole storage have been measured or set since the last
  /// write.
  static bool has_limits(const Tensor& x);

  /// Returns the grid that every element lies on, q = x / scale + zero_point a whole number, if an
  /// op has set it; else null, also for a view that moves the channels of a per-channel grid.
  static const std::shared_ptr<const QuantParams>& grid(const Tensor& x);
  /// Returns the int8 codes of the elements on grid(), if the op kept them; else null.
  static std::shared_ptr<const std::int8_t[]> codes(const Tensor& x);
  /// Stores the grid of all elements. Throws InvalidArgument for a part of a tensor.
  static void set_grid(Tensor& x, std::shared_ptr<const QuantParams> grid,
                       std::shared_ptr<const std::int8_t[]> codes = nullptr);

  /// Returns what the sigmoid read whose result x is, if set_logits() has told; else undefined.
  static const Tensor& logits(const Tensor& x);
  static void set_logits(Tensor& x, const Tensor& logits);

  /// Returns a number that a later write to the data, through any handle or view, changes.
  static std::uint64_t version(const Tensor& x);

  /// Returns the node of the tape that made x; null for a leaf.
  static const std::shared_ptr<Node>& node(const Tensor& x);
  static void set_node(Tensor& x, std::shared_ptr<Node> node);
  /// Returns the handle of the gradient, to accumulate into.
  static Tensor& mutable_grad(Tensor& x);
  /// Does what from.backward(seed) does, and calls `ready` with each leaf as soon as nothing will
  /// be added to its gradient any more: those next to the loss first.
  static void backward(const Tensor& from, const Tensor& seed, LeafReady ready);
  /// Returns whether no other handle, and no view, shares x or its data.
  static bool is_only_handle(const Tensor& x);
};

}  // namespace octet::detail
