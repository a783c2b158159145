#pragma once

#include <octet/core/buffer.h>
#include <octet/core/function_ref.h>
#include <octet/core/kernels/min_max.h>
#include <octet/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

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

/// Computes all `size` elements, a grain at a time and on all threads, without memory for all of
/// them: body(at, values) is called with the elements from `at` on.
void for_each_lazy_part(const LazyData& data, std::size_t size,
                        FunctionRef<void(std::size_t at, std::span<const float> values)> body);

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::uint8;
}
template <>
constexpr DType dtype_of<std::int8_t>() {
  return DType::int8;
}
template <>
constexpr DType dtype_of<std::int16_t>() {
  return DType::int16;
}

/// The integers that a tensor stores in the place of floats, row-major; none where it stores
/// floats.
struct StoredIntegers {
  DType dtype = DType::float32;
  std::shared_ptr<const void> values;

  StoredIntegers() = default;
  StoredIntegers(DType type, std::shared_ptr<const void> elements)
      : dtype(type), values(std::move(elements)) {}
  /// Takes std::uint8_t, std::int8_t or std::int16_t.
  template <class T>
  StoredIntegers(std::shared_ptr<T[]> elements)
      : dtype(dtype_of<std::remove_const_t<T>>()), values(std::move(elements)) {}

  /// Whether there are any.
  bool exist() const { return values != nullptr; }
  const std::byte* bytes() const { return static_cast<const std::byte*>(values.get()); }
  /// Null where the elements are not of type T.
  template <class T>
  const T* as() const {
    return dtype == dtype_of<T>() ? static_cast<const T*>(values.get()) : nullptr;
  }
};

/// The part of Tensor that Octet's own ops, layers and optimizers use and users do not. Integers,
/// quantization and limits describe the data: all handles and views share them, and a call of
/// mutable_data() of any of them drops them. A pointer from an earlier call must not be written
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

  /// Returns pixels, of dtype() uint8: x = byte / 255, converted to floats on demand.
  static Tensor from_bytes(const Shape& shape, std::shared_ptr<const std::uint8_t[]> bytes);
  /// Returns the integers that x stores: uint8 for pixels, int8 or int16 for quantized values.
  static StoredIntegers integers(const Tensor& x);

  /// Returns a tensor of `shape` that shares the data of x from element `offset`, off the tape.
  static Tensor view(const Tensor& x, const Shape& shape, Index offset = 0);

  /// Returns the minimum and maximum of the elements; measures them on the first call after a
  /// write. Thread-safe.
  static MinMax limits(const Tensor& x);
  /// Stores what limits() will return, for ops that know it; ignored for a part of a tensor.
  static void set_limits(Tensor& x, const MinMax& limits);
  /// Returns whether limits() need not measure: they have been measured or set since the last
  /// write. False for a part of a tensor.
  static bool has_limits(const Tensor& x);

  /// Stores the quantization parameters of all elements, which lie on whole multiples of the scale,
  /// and the integers that they are stored as, if any. Throws InvalidArgument for a part of a
  /// tensor.
  static void set_quantization(Tensor& x, std::shared_ptr<const QuantParams> params,
                               StoredIntegers integers = {});

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
