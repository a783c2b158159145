#pragma once

#include <octet/core/buffer.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/random.h>
#include <octet/core/shape.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace octet {

struct Node;
struct QuantParams;

/// Integer class labels, one a row.
using Labels = std::vector<std::int32_t>;

/// Elements that are computed when they are asked for. compute(begin, end, out, soon) writes the
/// elements [begin, end) to `out`, begin a multiple of `grain`, end too or the last: the same bits
/// from any thread. `soon` is what the caller reads next, or empty: it may be fetched into a cache
/// meanwhile.
struct PendingData {
  std::size_t grain;
  std::function<void(std::size_t begin, std::size_t end, float* out, MemoryParts soon)> compute;
};

/// A cheap handle on contiguous, row-major, 64-byte aligned float32 data of any rank. Copies of a
/// handle share data and gradient; clone() copies the data. A default-made handle is undefined:
/// only defined() and assignment may be used on it.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised data of `shape`.
  explicit Tensor(const Shape& shape);

  static Tensor zeros(const Shape& shape) { return full(shape, 0.0F); }
  static Tensor ones(const Shape& shape) { return full(shape, 1.0F); }
  static Tensor full(const Shape& shape, float value);
  static Tensor scalar(float value) { return full({}, value); }
  /// Data of `shape` that `pending` makes when data() is first called. What `pending` reads must
  /// stay as it is until then.
  static Tensor lazy(const Shape& shape, PendingData pending);
  /// Pixels: x = byte / 255, made floats when somebody asks for those.
  static Tensor from_bytes(const Shape& shape, std::shared_ptr<const std::uint8_t[]> bytes);
  /// 0, 1, ..., count-1.
  static Tensor arange(Index count);
  /// A copy of `values`, which must be shape.size() many (InvalidArgument otherwise).
  static Tensor from(const Shape& shape, std::span<const float> values);
  static Tensor from(const Shape& shape, std::initializer_list<float> values);
  /// Uniform in [lo, hi), or normal, from a counter-based generator.
  static Tensor uniform(const Shape& shape, const Random& random, float lo = 0, float hi = 1);
  static Tensor normal(const Shape& shape, const Random& random, float mean = 0, float stddev = 1);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  Index rank() const { return shape().rank(); }
  Index dim(Index axis) const { return shape().dim(axis); }
  /// The number of elements.
  Index size() const;

  float* data();
  const float* data() const;
  std::span<float> span() { return {data(), static_cast<std::size_t>(size())}; }
  std::span<const float> span() const { return {data(), static_cast<std::size_t>(size())}; }

  /// The bytes of a tensor made from_bytes(), unless data() has been asked for to write into.
  const std::uint8_t* bytes() const;
  /// The range of the elements, remembered until data() is asked for to write into; a pointer got
  /// before must not be written through after.
  MinMax limits() const;
  /// For ops that know the range of what they wrote: what limits() is to give; and whether somebody
  /// has asked for it since the last write.
  void set_limits(const MinMax& limits);
  bool has_limits() const;
  /// How the data of a lazy tensor will be made; null where there is data.
  const PendingData* pending() const;

  /// The element at a full index, e.g. t.at({2, 3}). Throws InvalidArgument out of bounds.
  float& at(std::initializer_list<Index> index);
  float at(std::initializer_list<Index> index) const;
  /// The value of a tensor of one element. Throws InvalidArgument for more.
  float item() const;

  /// The same data in another shape, one extent of which may be -1. Differentiable.
  Tensor reshape(const Shape& shape) const;
  /// Rows [begin, end) of the first axis, sharing the data. Differentiable.
  Tensor slice(Index begin, Index end) const;
  /// A copy of the data, outside the tape.
  Tensor clone() const;
  /// The same data, outside the tape.
  Tensor detach() const;

  /// Whether gradients flow to this tensor: a leaf that asks for them, or the result of an op on
  /// one.
  bool requires_grad() const;
  /// Asks for (or stops asking for) gradients of a leaf. Throws InvalidArgument on an op's result.
  Tensor& set_requires_grad(bool value);
  /// The gradient that backward() has accumulated in this leaf; undefined before the first.
  const Tensor& grad() const;
  void zero_grad();

  /// Runs the tape backwards from this tensor with upstream gradient `seed` (1 for a scalar) and
  /// adds to the gradient of every leaf. Frees the graph: a second call throws InvalidArgument.
  void backward(const Tensor& seed = {});

  /// The grid that every element lies on, where an op has put it there: q = x / scale + zero_point
  /// is a whole number. Null otherwise.
  const std::shared_ptr<const QuantParams>& grid() const;
  /// The elements as codes of a grid of int8, where the op kept them; else null.
  const std::int8_t* codes() const;
  /// For ops that have put this tensor on `grid`, or changed the data since (both are then stale).
  void set_grid(std::shared_ptr<const QuantParams> grid,
                std::shared_ptr<const std::int8_t[]> codes = nullptr);

  /// Values in nested brackets, long axes shortened to their ends.
  std::string to_string() const;

  /// For ops: the node of the tape that made this tensor; null for a leaf.
  const std::shared_ptr<Node>& node() const;
  void set_node(std::shared_ptr<Node> node);
  /// For ops: the gradient's own handle, to accumulate into.
  Tensor& mutable_grad();
  /// For ops: whether no other handle, and no view, shares this tensor or its data.
  bool is_only_handle() const;
  /// For ops: a tensor of `shape` on this one's data from element `offset`, outside the tape.
  Tensor view(const Shape& shape, Index offset = 0) const;

 private:
  struct Impl;
  class Storage;
  std::shared_ptr<Impl> impl_;

  static Tensor on(const Shape& shape, std::shared_ptr<Storage> storage, Index offset);
};

}  // namespace octet
