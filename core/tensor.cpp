#include <fmt/core.h>
#include <octet/core/autograd_internal.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/core/tensor_storage.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

namespace octet {

using detail::floats_of;
using detail::LazyData;
using detail::Node;
using detail::StoredIntegers;
using detail::TensorAccess;

namespace {

Index offset_of(const Shape& shape, std::initializer_list<Index> index) {
  if (static_cast<Index>(index.size()) != shape.rank()) {
    throw InvalidArgument(fmt::format("at: expected {} indices for shape {}, found {}",
                                      shape.rank(), shape.to_string(), index.size()));
  }
  Index offset = 0;
  Index axis = 0;
  for (const Index i : index) {
    if (i < 0 || i >= shape[axis]) {
      throw InvalidArgument(
          fmt::format("at: index {} of axis {} is outside shape {}", i, axis, shape.to_string()));
    }
    offset = offset * shape[axis++] + i;
  }
  return offset;
}

/// Finds the limits of elements that are computed part by part, without memory for all of them.
MinMax limits_of_parts(const LazyData& data, std::size_t size) {
  std::optional<MinMax> limits;
  std::mutex mutex;
  detail::for_each_lazy_part(data, size, [&](std::size_t /*at*/, std::span<const float> values) {
    const MinMax found = min_max(values);
    const std::lock_guard guard(mutex);
    if (!limits) limits = found;
    limits->include(found);
  });
  return limits.value_or(MinMax{});
}

MinMax measure_limits(const Tensor& x) {
  if (const LazyData* lazy = TensorAccess::pending(x); lazy != nullptr && lazy->unit > 0) {
    // A copy: others may ask for all elements meanwhile.
    return limits_of_parts(LazyData(*lazy), static_cast<std::size_t>(x.size()));
  }
  const StoredIntegers stored = TensorAccess::integers(x);
  const auto* pixels = stored.as<std::uint8_t>();
  if (pixels == nullptr) return min_max(x.span());
  return min_max_pixels({pixels, static_cast<std::size_t>(x.size())});
}

}  // namespace

void detail::for_each_lazy_part(
    const LazyData& data, std::size_t size,
    FunctionRef<void(std::size_t at, std::span<const float> values)> body) {
  parallel_for(size, thread_share(size, parallel_grain(Work::read_floats), data.grain),
               [&](std::size_t begin, std::size_t end) {
                 const ScratchBuffer<float, LazyData> part(std::min(data.grain, end - begin));
                 for (std::size_t at = begin; at < end; at += data.grain) {
                   const std::size_t next = std::min(end, at + data.grain);
                   data.compute(at, next, part.data(), {});
                   body(at, {part.data(), next - at});
                 }
               });
}

void Tensor::Storage::forget() {
  // Other threads that are about to write wait until the readers are computed.
  const std::lock_guard writer(writer_mutex_);
  std::vector<std::weak_ptr<Storage>> readers;
  {
    const std::lock_guard guard(mutex_);
    readers.swap(readers_);
  }
  // Not under mutex_: they read this tensor.
  for (const auto& reader : readers) {
    if (const auto lazy = reader.lock()) lazy->data(Shape{static_cast<Index>(lazy->size())});
  }
  const std::lock_guard guard(mutex_);
  integers_ = {};
  quantization_.reset();
  limits_.reset();
  version_.fetch_add(1, std::memory_order_relaxed);
  remembers_.store(false, std::memory_order_release);
}

float* Tensor::Storage::computed(const Shape& shape) {
  const std::lock_guard guard(mutex_);
  if (memory_ == nullptr) {
    // A view that asks is smaller than what all views share.
    const auto size = static_cast<Index>(size_);
    const std::shared_ptr<float[]> memory = floats_of(shape.size() == size ? shape : Shape{size});
    const std::size_t grain = std::max<std::size_t>(lazy_->grain, 1);
    parallel_for(size_, thread_share(size_, grain, grain), [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; at += grain) {
        lazy_->compute(at, std::min(end, at + grain), memory.get() + at, {});
      }
    });
    memory_ = memory;
    lazy_.reset();
    ready_.store(memory_.get(), std::memory_order_release);
  }
  return memory_.get();
}

/// A view is quantized per channel if its channels are those of the whole tensor.
bool Tensor::Impl::has_quantization() const {
  const QuantParams* params = storage->quantization().get();
  if (params == nullptr || !params->per_channel()) return params != nullptr;
  const auto axis = static_cast<std::size_t>(params->quantized_dimension);
  const auto dims = shape.dims();
  const auto whole = storage->quantized_shape().dims();
  if (dims.size() != whole.size() || axis >= dims.size()) return false;
  Index period = 1;
  for (const Index extent : whole.subspan(axis)) period *= extent;
  return std::ranges::equal(dims.subspan(axis), whole.subspan(axis)) && offset % period == 0;
}

const StoredIntegers& Tensor::Impl::integers() const {
  static const StoredIntegers none;
  return storage->quantization() == nullptr || has_quantization() ? storage->integers() : none;
}

Tensor Tensor::on(const Shape& shape, std::shared_ptr<Storage> storage, Index offset) {
  Tensor result;
  result.impl_ = std::make_shared<Impl>();
  result.impl_->shape = shape;
  result.impl_->size = shape.size();
  result.impl_->storage = std::move(storage);
  result.impl_->offset = offset;
  return result;
}

Tensor::Tensor(const Shape& shape) { *this = on(shape, std::make_shared<Storage>(shape), 0); }

Tensor Tensor::full(const Shape& shape, float value) {
  Tensor result(shape);
  std::ranges::fill(result.mutable_span(), value);
  return result;
}

Tensor Tensor::arange(Index count) {
  Tensor result(Shape{count});
  for (Index i = 0; i < count; ++i) result.mutable_data()[i] = static_cast<float>(i);
  return result;
}

Tensor Tensor::from(const Shape& shape, std::span<const float> values) {
  if (static_cast<Index>(values.size()) != shape.size()) {
    throw InvalidArgument(fmt::format("Tensor::from: expected {} values for shape {}, found {}",
                                      shape.size(), shape.to_string(), values.size()));
  }
  Tensor result(shape);
  std::ranges::copy(values, result.mutable_data());
  return result;
}

Tensor Tensor::from(const Shape& shape, std::initializer_list<float> values) {
  return from(shape, std::span<const float>(values.begin(), values.size()));
}

Tensor Tensor::from_memory(const Shape& shape, std::shared_ptr<float[]> memory) {
  if (memory == nullptr) {
    throw InvalidArgument(
        fmt::format("Tensor::from_memory: expected {} floats for shape {}, found a null pointer",
                    shape.size(), shape.to_string()));
  }
  return on(shape, std::make_shared<Storage>(shape, std::move(memory)), 0);
}

Tensor Tensor::uniform(const Shape& shape, const Random& random, float lo, float hi) {
  Tensor result(shape);
  random.fill_uniform(result.mutable_span(), lo, hi);
  return result;
}

Tensor Tensor::normal(const Shape& shape, const Random& random, float mean, float stddev) {
  Tensor result(shape);
  random.fill_normal(result.mutable_span(), mean, stddev);
  return result;
}

namespace {

[[noreturn]] void throw_undefined(std::string_view member) {
  throw InvalidArgument(
      fmt::format("Tensor::{}: expected a tensor, found a default-made handle, which has neither "
                  "shape nor data; "
                  "was it assigned before use?",
                  member));
}

}  // namespace

Tensor::Impl& Tensor::impl(const char* member) const {
  if (impl_ == nullptr) throw_undefined(member);
  return *impl_;
}

const Shape& Tensor::shape() const { return impl("shape").shape; }
Index Tensor::size() const { return impl("size").size; }
DType Tensor::dtype() const { return impl("dtype").integers().dtype; }
std::shared_ptr<const QuantParams> Tensor::quantization() const {
  const Impl& impl = this->impl("quantization");
  return impl.has_quantization() ? impl.storage->quantization() : nullptr;
}
const float* Tensor::data() const { return impl("data").data(); }
float* Tensor::mutable_data() {
  const Impl& impl = this->impl("mutable_data");
  float* data = impl.data();
  impl.storage->forget_contents();
  return data;
}
float& Tensor::mutable_at(std::initializer_list<Index> index) {
  return mutable_data()[offset_of(shape(), index)];
}

float Tensor::at(std::initializer_list<Index> index) const {
  return data()[offset_of(shape(), index)];
}

float Tensor::item() const {
  if (size() != 1) {
    throw InvalidArgument(
        fmt::format("item: expected one element, found shape {}", shape().to_string()));
  }
  return data()[0];
}

Tensor Tensor::clone() const {
  Tensor result(shape());
  std::ranges::copy(span(), result.mutable_data());
  if (const auto& params = quantization()) TensorAccess::set_quantization(result, params);
  return result;
}

Tensor Tensor::detach() const { return TensorAccess::view(*this, shape()); }

bool Tensor::requires_grad() const {
  return impl_ != nullptr && (impl_->requires_grad || impl_->node != nullptr);
}

Tensor& Tensor::set_requires_grad(bool value) {
  Impl& impl = this->impl("set_requires_grad");
  if (impl.node != nullptr) {
    throw InvalidArgument(
        fmt::format("set_requires_grad: expected a leaf, found the result of {}; detach() it first",
                    impl.node->operation));
  }
  impl.requires_grad = value;
  return *this;
}

const Tensor& Tensor::grad() const { return impl("grad").grad; }
void Tensor::zero_grad() { impl("zero_grad").grad = Tensor(); }

namespace detail {

Tensor TensorAccess::lazy(const Shape& shape, LazyData data) {
  return Tensor::on(shape, std::make_shared<Tensor::Storage>(shape, std::move(data)), 0);
}

Tensor TensorAccess::lazy(const Shape& shape, LazyData data, const Tensor& source) {
  Tensor result = lazy(shape, std::move(data));
  source.impl_->storage->add_reader(result.impl_->storage);
  return result;
}

std::uint64_t TensorAccess::version(const Tensor& x) { return x.impl_->storage->version(); }

Tensor TensorAccess::from_bytes(const Shape& shape, std::shared_ptr<const std::uint8_t[]> bytes) {
  Tensor result = lazy(
      shape, {parallel_grain(Work::write_floats),
              [bytes](std::size_t begin, std::size_t end, float* out, MemoryParts /*prefetch*/) {
                kernels().passes.bytes_to_unit(bytes.get() + begin, end - begin, out);
              }});
  result.impl_->storage->remember_integers(std::move(bytes));
  return result;
}

Tensor TensorAccess::view(const Tensor& x, const Shape& shape, Index offset) {
  return Tensor::on(shape, x.impl_->storage, x.impl_->offset + offset);
}

const LazyData* TensorAccess::pending(const Tensor& x) {
  return x.impl_->is_whole() ? x.impl_->storage->pending() : nullptr;
}

StoredIntegers TensorAccess::integers(const Tensor& x) {
  const StoredIntegers& whole = x.impl_->integers();
  if (!whole.exist()) return {};
  const std::size_t begin = static_cast<std::size_t>(x.impl_->offset) * size_of(whole.dtype);
  return {whole.dtype, std::shared_ptr<const void>(whole.values, whole.bytes() + begin)};
}

MinMax TensorAccess::limits(const Tensor& x) {
  if (!x.impl_->is_whole()) return measure_limits(x);
  if (const std::optional<MinMax> known = x.impl_->storage->limits()) return *known;
  // Two threads may both measure; they find the same.
  const MinMax found = measure_limits(x);
  x.impl_->storage->remember_limits(found);
  return found;
}

void TensorAccess::set_limits(Tensor& x, const MinMax& limits) {
  if (x.impl_->is_whole()) x.impl_->storage->remember_limits(limits);
}

bool TensorAccess::has_limits(const Tensor& x) {
  return x.impl_->is_whole() && x.impl_->storage->limits().has_value();
}

void TensorAccess::set_quantization(Tensor& x, std::shared_ptr<const QuantParams> params,
                                    StoredIntegers integers) {
  if (!x.impl_->is_whole()) {
    throw InvalidArgument(fmt::format(
        "set_quantization: expected a tensor of its own, found {} of {} elements; a part "
        "of a tensor cannot have quantization parameters that the rest does not have",
        x.size(), x.impl_->storage->size()));
  }
  x.impl_->storage->remember_quantization(std::move(params), x.shape());
  x.impl_->storage->remember_integers(std::move(integers));
}

const Tensor& TensorAccess::logits(const Tensor& x) { return x.impl_->logits; }

void TensorAccess::set_logits(Tensor& x, const Tensor& logits) { x.impl_->logits = logits; }

const std::shared_ptr<Node>& TensorAccess::node(const Tensor& x) { return x.impl_->node; }

void TensorAccess::set_node(Tensor& x, std::shared_ptr<Node> node) {
  x.impl_->node = std::move(node);
}

Tensor& TensorAccess::mutable_grad(Tensor& x) { return x.impl_->grad; }

bool TensorAccess::is_only_handle(const Tensor& x) {
  const auto& storage = x.impl_->storage;
  return x.impl_.use_count() == 1 && storage.use_count() == 1 && storage->is_only_owner();
}

}  // namespace detail

}  // namespace octet
