#pragma once

#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/quant/quant_params.h>
#include <octet/core/tensor_internal.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

// What a Tensor is inside. For tensor.cpp alone.

namespace octet {
namespace detail {

/// Uninitialised memory for a tensor's elements.
inline std::shared_ptr<float[]> floats_of(const Shape& shape) {
  const auto count = static_cast<std::size_t>(shape.size());
  try {
    return allocate_array<float>(count);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(fmt::format("Tensor of shape {}: {}", shape.to_string(), error.what()));
  }
}

}  // namespace detail

/// What all views of a tensor share.
class Tensor::Storage {
 public:
  explicit Storage(const Shape& shape) : size_(static_cast<std::size_t>(shape.size())) {
    memory_ = detail::floats_of(shape);
    ready_.store(memory_.get(), std::memory_order_release);
  }
  Storage(const Shape& shape, std::shared_ptr<float[]> memory)
      : size_(static_cast<std::size_t>(shape.size())),
        ready_(memory.get()),
        memory_(std::move(memory)) {}
  Storage(const Shape& shape, detail::LazyData lazy)
      : size_(static_cast<std::size_t>(shape.size())), lazy_(std::move(lazy)) {}

  std::size_t size() const { return size_; }
  /// Whether nobody holds the memory beside it, as a program does that made it.
  bool is_only_owner() const { return memory_.use_count() <= 1; }
  const detail::LazyData* pending() const { return lazy_ ? &*lazy_ : nullptr; }

  /// Threads may ask at once, as the pieces of a parallel loop do: the first computes, the others
  /// wait. `shape` is for errors.
  float* data(const Shape& shape) {
    float* ready = ready_.load(std::memory_order_acquire);
    return ready != nullptr ? ready : computed(shape);
  }

  /// Returns the integers that the elements are stored as; none where they are floats.
  const detail::StoredIntegers& integers() const { return integers_; }
  /// The quantization of all elements, its channels on an axis of quantized_shape().
  const std::shared_ptr<const QuantParams>& quantization() const { return quantization_; }
  const Shape& quantized_shape() const { return quantized_shape_; }
  void remember_integers(detail::StoredIntegers integers) {
    const std::lock_guard guard(mutex_);
    integers_ = std::move(integers);
    remembers_.store(true, std::memory_order_release);
  }
  void remember_quantization(std::shared_ptr<const QuantParams> params, const Shape& shape) {
    const std::lock_guard guard(mutex_);
    quantization_ = std::move(params);
    quantized_shape_ = shape;
    remembers_.store(true, std::memory_order_release);
  }

  /// Limits are measured while a tensor is read, which several threads may do at the same time.
  std::optional<MinMax> limits() const {
    if (!remembers_.load(std::memory_order_acquire)) return {};
    const std::lock_guard guard(mutex_);
    return limits_;
  }
  void remember_limits(const MinMax& limits) {
    const std::lock_guard guard(mutex_);
    limits_ = limits;
    remembers_.store(true, std::memory_order_release);
  }

  /// Counts writes, but only the first after version() was asked for: others cost nothing.
  std::uint64_t version() {
    if (!remembers_.load(std::memory_order_relaxed)) {
      remembers_.store(true, std::memory_order_release);
    }
    return version_.load(std::memory_order_relaxed);
  }

  /// Computes `lazy`, which reads this data, before the data changes.
  void add_reader(const std::shared_ptr<Storage>& lazy) {
    const std::lock_guard guard(mutex_);
    std::erase_if(readers_, [](const auto& reader) { return reader.expired(); });
    readers_.push_back(lazy);
    remembers_.store(true, std::memory_order_release);
  }

  /// To be called before a write. Loads one flag if there is nothing to drop: loops call
  /// mutable_data() for every element.
  void forget_contents() {
    if (remembers_.load(std::memory_order_acquire)) forget();
  }

 private:
  void forget();
  float* computed(const Shape& shape);

  std::size_t size_;
  std::atomic<float*> ready_ = nullptr;
  std::shared_ptr<float[]> memory_;
  /// Set until the elements are computed.
  std::optional<detail::LazyData> lazy_;
  detail::StoredIntegers integers_;
  std::shared_ptr<const QuantParams> quantization_;
  Shape quantized_shape_;
  std::optional<MinMax> limits_;
  /// Lazy tensors that are computed from this data.
  std::vector<std::weak_ptr<Storage>> readers_;
  std::atomic<std::uint64_t> version_ = 0;
  /// Whether integers, a quantization, limits or readers are stored, or the version was asked for.
  std::atomic<bool> remembers_ = false;
  mutable std::mutex mutex_;
  std::mutex writer_mutex_;
};

/// What all handles of a tensor share.
struct Tensor::Impl {
  Shape shape;
  Index size = 0;
  std::shared_ptr<Storage> storage;
  Index offset = 0;
  bool requires_grad = false;
  std::shared_ptr<detail::Node> node;
  Tensor grad;
  Tensor logits;

  float* data() const { return storage->data(shape) + offset; }
  bool is_whole() const { return size == static_cast<Index>(storage->size()); }
  /// Whether quantization and integers of the storage are also those of this part of it.
  bool has_quantization() const;
  const detail::StoredIntegers& integers() const;
};

}  // namespace octet
