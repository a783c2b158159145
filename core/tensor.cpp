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
  parallel_for(size, thread_share(size, parallel_grain(Work::read_floats), data.grain),
               [&](std::size_t begin, std::size_t end) {
                 const ScratchBuffer<float, LazyData> part(std::min(data.grain, end - begin));
                 for (std::size_t at = begin; at < end; at += data.grain) {
                   const std::size_t next = std::min(end, at + data.grain);
                   data.compute(at, next, part.data(), {});
                   const MinMax found = min_max(std::span(part.data(), next - at));
                   const std::lock_guard guard(mutex);
                   if (!limits) limits = found;
                   limits->include(found);
                 }
               });
  return limits.value_or(MinMax{});
}

MinMax measure_limits(const Tensor& x) {
  if (const LazyData* lazy = TensorAccess::pending(x); lazy != nullptr && lazy->unit > 0) {
    // A copy: others may ask for all elements meanwhile.
    return limits_of_parts(LazyData(*lazy), static_cast<std::size_t>(x.size()));
  }
  const std::uint8_t* bytes = TensorAccess::bytes(x);
  if (bytes == nullptr) return min_max(x.span());
  return min_max_pixels({bytes, static_cast<std::size_t>(x.size())});
}

}  // namespace

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
  bytes_.reset();
  limits_.reset();
  grid_.reset();
  codes_.reset();
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

/// A view keeps a per-channel grid if its channels are those of the whole tensor.
bool Tensor::Impl::is_on_grid() const {
  const QuantParams* grid = storage->grid().get();
  if (grid == nullptr || !grid->per_channel()) return grid != nullptr;
  const auto axis = static_cast<std::size_t>(grid->quantized_dimension);
  const auto dims = shape.dims();
  const auto whole = storage->grid_shape().dims();
  if (dims.size() != whole.size() || axis >= dims.size()) return false;
  Index period = 1;
  for (const Index extent : whole.subspan(axis)) period *= extent;
  return std::ranges::equal(dims.subspan(axis), whole.subspan(axis)) && offset % period == 0;
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
  std::ranges::fill(result.span(), value);
  return result;
}

Tensor Tensor::arange(Index count) {
  Tensor result(Shape{count});
  for (Index i = 0; i < count; ++i) result.data()[i] = static_cast<float>(i);
  return result;
}

Tensor Tensor::from(const Shape& shape, std::span<const float> values) {
  if (static_cast<Index>(values.size()) != shape.size()) {
    throw InvalidArgument(fmt::format("Tensor::from: expected {} values for shape {}, found {}",
                                      shape.size(), shape.to_string(), values.size()));
  }
  Tensor result(shape);
  std::ranges::copy(values, result.data());
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
  random.fill_uniform(result.span(), lo, hi);
  return result;
}

Tensor Tensor::normal(const Shape& shape, const Random& random, float mean, float stddev) {
  Tensor result(shape);
  random.fill_normal(result.span(), mean, stddev);
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
float* Tensor::data() {
  const Impl& impl = this->impl("data");
  float* data = impl.data();
  impl.storage->forget_contents();
  return data;
}
const float* Tensor::data() const { return impl("data").data(); }
float& Tensor::at(std::initializer_list<Index> index) { return data()[offset_of(shape(), index)]; }

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
  std::ranges::copy(span(), result.data());
  if (const auto& grid = TensorAccess::grid(*this)) TensorAccess::set_grid(result, grid);
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
  result.impl_->storage->remember_bytes(std::move(bytes));
  return result;
}

Tensor TensorAccess::view(const Tensor& x, const Shape& shape, Index offset) {
  return Tensor::on(shape, x.impl_->storage, x.impl_->offset + offset);
}

const LazyData* TensorAccess::pending(const Tensor& x) {
  return x.impl_->is_whole() ? x.impl_->storage->pending() : nullptr;
}

const std::uint8_t* TensorAccess::bytes(const Tensor& x) {
  const std::uint8_t* bytes = x.impl_->storage->bytes();
  return bytes != nullptr ? bytes + x.impl_->offset : nullptr;
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

bool TensorAccess::has_limits(const Tensor& x) { return x.impl_->storage->limits().has_value(); }

const std::shared_ptr<const QuantParams>& TensorAccess::grid(const Tensor& x) {
  static const std::shared_ptr<const QuantParams> none;
  return x.impl_->is_on_grid() ? x.impl_->storage->grid() : none;
}

std::shared_ptr<const std::int8_t[]> TensorAccess::codes(const Tensor& x) {
  const auto& codes = x.impl_->storage->codes();
  if (codes == nullptr || !x.impl_->is_on_grid()) return {};
  return {codes, codes.get() + x.impl_->offset};
}

void TensorAccess::set_grid(Tensor& x, std::shared_ptr<const QuantParams> grid,
                            std::shared_ptr<const std::int8_t[]> codes) {
  if (!x.impl_->is_whole()) {
    throw InvalidArgument(
        fmt::format("set_grid: expected a tensor of its own, found {} of {} elements; a part of a "
                    "tensor cannot have quantization parameters that the rest does not have",
                    x.size(), x.impl_->storage->size()));
  }
  x.impl_->storage->remember_grid(std::move(grid), x.shape(), std::move(codes));
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
