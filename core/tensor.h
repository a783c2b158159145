#pragma once

#include <octet/core/dtype.h>
#include <octet/core/random.h>
#include <octet/core/shape.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace octet {

struct QuantParams;

namespace detail {
struct TensorAccess;
}

/// Integer class labels, one per row.
using Labels = std::vector<std::int32_t>;

/// A cheap handle on contiguous, row-major data of any rank, 64-byte aligned unless it is the
/// caller's own (from_memory). Elements are real values, stored in float32 or as quantized integers
/// (dtype(), quantization()). Copies of a handle share data and gradient; clone() copies the data.
/// A default-made handle is undefined: it has neither shape nor data, and what asks for them throws
/// InvalidArgument. Where memory runs out, OutOfMemory names the shape.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised data of `shape`.
  explicit Tensor(const Shape& shape);

  static Tensor zeros(const Shape& shape) { return full(shape, 0.0F); }
  static Tensor ones(const Shape& shape) { return full(shape, 1.0F); }
  static Tensor full(const Shape& shape, float value);
  static Tensor scalar(float value) { return full({}, value); }
  /// 0, 1, ..., count-1.
  static Tensor arange(Index count);
  /// A copy of `values`, which must be shape.size() many (InvalidArgument otherwise).
  static Tensor from(const Shape& shape, std::span<const float> values);
  static Tensor from(const Shape& shape, std::initializer_list<float> values);
  /// A tensor on memory of the caller's, which holds shape.size() floats in row-major order, of any
  /// alignment: nothing is copied, and the memory lives as long as a tensor uses it. Whoever writes
  /// to it past the tensor must do so before any op has read it. Throws InvalidArgument for null.
  static Tensor from_memory(const Shape& shape, std::shared_ptr<float[]> memory);
  /// Uniform in [lo, hi), or normal, from a counter-based generator.
  static Tensor uniform(const Shape& shape, const Random& random, float lo = 0, float hi = 1);
  static Tensor normal(const Shape& shape, const Random& random, float mean = 0, float stddev = 1);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const;
  Index rank() const { return shape().rank(); }
  Index dim(Index axis) const { return shape().dim(axis); }
  /// The number of elements.
  Index size() const;

  /// What an element is stored as. Ops on integers give int8 tensors, datasets of pixels give uint8
  /// ones; all others are float32.
  DType dtype() const;
  /// Returns scale and zero point of every element where an op has quantized them, of dtype() int8
  /// or of real values that lie on whole multiples of the scale; else null.
  std::shared_ptr<const QuantParams> quantization() const;

  /// Returns the elements as real values, which are computed on the first call where the tensor
  /// holds integers. Thread-safe.
  const float* data() const;
  std::span<const float> span() const { return {data(), static_cast<std::size_t>(size())}; }
  /// The element at a full index, e.g. t.at({2, 3}). Throws InvalidArgument out of bounds.
  float at(std::initializer_list<Index> index) const;

  /// Returns the elements for writing: from here on the data, with all its handles and views, is of
  /// float32 and has no quantization. Call it anew for each round of writes instead of keeping its
  /// pointer: a write through an old pointer may go unnoticed. Thread-safe.
  float* mutable_data();
  std::span<float> mutable_span() { return {mutable_data(), static_cast<std::size_t>(size())}; }
  /// The element at a full index, to assign to: t.mutable_at({2, 3}) = 1. Throws InvalidArgument
  /// out of bounds.
  float& mutable_at(std::initializer_list<Index> index);
  /// The value of a tensor of one element. Throws InvalidArgument for more.
  float item() const;

  /// Returns a view of the data in another shape, one extent of which may be -1. Differentiable.
  Tensor reshape(const Shape& shape) const;
  /// Rows [begin, end) of the first axis, sharing the data. Differentiable.
  Tensor slice(Index begin, Index end) const;
  /// A copy of the data, outside the tape.
  Tensor clone() const;
  /// Returns a tensor that shares the data and is outside the tape.
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

  /// Values in nested brackets, long axes shortened to their ends.
  std::string to_string() const;

 private:
  friend struct detail::TensorAccess;
  struct Impl;
  class Storage;
  std::shared_ptr<Impl> impl_;

  /// Throws InvalidArgument that names the member function where the handle is default-made.
  Impl& impl(const char* member) const;
  static Tensor on(const Shape& shape, std::shared_ptr<Storage> storage, Index offset);
};

/// Writes to_string().
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace octet
