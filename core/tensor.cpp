#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>

namespace octet {
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

constexpr std::size_t kGrain = 1U << 14;

MinMax measure_limits(const Tensor& x) {
  if (x.bytes() == nullptr) return min_max(x.span());
  return min_max_pixels(std::span(x.bytes(), static_cast<std::size_t>(x.size())));
}

}  // namespace

/// What all views of a tensor share.
class Tensor::Storage {
 public:
  explicit Storage(Index count) : size_(static_cast<std::size_t>(count)) { allocate(); }
  Storage(Index count, PendingData pending)
      : size_(static_cast<std::size_t>(count)), pending_(std::move(pending)) {}

  std::size_t size() const { return size_; }
  const PendingData* pending() const { return pending_ ? &*pending_ : nullptr; }

  /// Threads may ask at once, as the pieces of a parallel loop do: the first computes, the others
  /// wait.
  float* data() {
    float* ready = ready_.load(std::memory_order_acquire);
    return ready != nullptr ? ready : computed();
  }

  /// Written to only where there is something to forget: threads may call data() at once.
  void forget_contents() {
    if (bytes) bytes.reset();
    if (limits) limits.reset();
  }

  std::shared_ptr<const std::uint8_t[]> bytes;
  std::optional<MinMax> limits;

 private:
  void allocate() {
    memory_ = allocate_array<float>(size_);
    ready_.store(memory_.get(), std::memory_order_release);
  }
  float* computed();

  std::size_t size_;
  std::atomic<float*> ready_ = nullptr;
  std::shared_ptr<float[]> memory_;
  /// Until there is memory.
  std::optional<PendingData> pending_;
  std::mutex mutex_;
};

float* Tensor::Storage::computed() {
  const std::lock_guard guard(mutex_);
  if (memory_ == nullptr) {
    const std::shared_ptr<float[]> memory = allocate_array<float>(size_);
    const std::size_t grain = std::max<std::size_t>(pending_->grain, 1);
    parallel_for(size_, thread_share(size_, grain, grain), [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; at += grain) {
        pending_->compute(at, std::min(end, at + grain), memory.get() + at, {});
      }
    });
    memory_ = memory;
    pending_.reset();
    ready_.store(memory_.get(), std::memory_order_release);
  }
  return memory_.get();
}

struct Tensor::Impl {
  Shape shape;
  Index size = 0;
  std::shared_ptr<Storage> storage;
  Index offset = 0;
  bool requires_grad = false;
  std::shared_ptr<Node> node;
  std::shared_ptr<const QuantParams> grid;
  std::shared_ptr<const std::int8_t[]> codes;
  Tensor grad;

  float* data() const { return storage->data() + offset; }
  bool is_whole() const { return size == static_cast<Index>(storage->size()); }
};

Tensor Tensor::on(const Shape& shape, std::shared_ptr<Storage> storage, Index offset) {
  Tensor result;
  result.impl_ = std::make_shared<Impl>();
  result.impl_->shape = shape;
  result.impl_->size = shape.size();
  result.impl_->storage = std::move(storage);
  result.impl_->offset = offset;
  return result;
}

Tensor::Tensor(const Shape& shape) {
  *this = on(shape, std::make_shared<Storage>(shape.size()), 0);
}

Tensor Tensor::lazy(const Shape& shape, PendingData pending) {
  return on(shape, std::make_shared<Storage>(shape.size(), std::move(pending)), 0);
}

Tensor Tensor::from_bytes(const Shape& shape, std::shared_ptr<const std::uint8_t[]> bytes) {
  Tensor result =
      lazy(shape,
           {kGrain, [bytes](std::size_t begin, std::size_t end, float* out, MemoryParts /*soon*/) {
              kernels().passes.bytes_to_unit(bytes.get() + begin, end - begin, out);
            }});
  result.impl_->storage->bytes = std::move(bytes);
  return result;
}

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

const Shape& Tensor::shape() const {
  if (impl_ == nullptr) throw InvalidArgument("expected a tensor, found a default-made handle");
  return impl_->shape;
}
Index Tensor::size() const { return impl_->size; }
float* Tensor::data() {
  float* data = impl_->data();
  impl_->storage->forget_contents();
  return data;
}
const float* Tensor::data() const { return impl_->data(); }
const PendingData* Tensor::pending() const {
  return impl_->is_whole() ? impl_->storage->pending() : nullptr;
}

const std::uint8_t* Tensor::bytes() const {
  const auto& bytes = impl_->storage->bytes;
  return bytes ? bytes.get() + impl_->offset : nullptr;
}

MinMax Tensor::limits() const {
  auto& known = impl_->storage->limits;
  if (known && impl_->is_whole()) return *known;
  const MinMax found = measure_limits(*this);
  if (impl_->is_whole()) known = found;
  return found;
}

void Tensor::set_limits(const MinMax& limits) {
  if (impl_->is_whole()) impl_->storage->limits = limits;
}
bool Tensor::has_limits() const { return impl_->storage->limits.has_value(); }

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

bool Tensor::is_only_handle() const {
  return impl_.use_count() == 1 && impl_->storage.use_count() == 1;
}

Tensor Tensor::view(const Shape& shape, Index offset) const {
  Tensor result = on(shape, impl_->storage, impl_->offset + offset);
  result.impl_->grid = impl_->grid;
  if (impl_->codes) {
    result.impl_->codes =
        std::shared_ptr<const std::int8_t[]>(impl_->codes, impl_->codes.get() + offset);
  }
  return result;
}

Tensor Tensor::clone() const {
  Tensor result(shape());
  std::ranges::copy(span(), result.data());
  result.impl_->grid = impl_->grid;
  return result;
}

Tensor Tensor::detach() const { return view(shape()); }

bool Tensor::requires_grad() const {
  return impl_ != nullptr && (impl_->requires_grad || impl_->node != nullptr);
}

Tensor& Tensor::set_requires_grad(bool value) {
  if (impl_->node != nullptr) {
    throw InvalidArgument(
        fmt::format("set_requires_grad: expected a leaf, found the result of {}; detach() it first",
                    impl_->node->operation));
  }
  impl_->requires_grad = value;
  return *this;
}

const Tensor& Tensor::grad() const { return impl_->grad; }
Tensor& Tensor::mutable_grad() { return impl_->grad; }
void Tensor::zero_grad() { impl_->grad = Tensor(); }

const std::shared_ptr<const QuantParams>& Tensor::grid() const { return impl_->grid; }
const std::int8_t* Tensor::codes() const { return impl_->codes.get(); }
void Tensor::set_grid(std::shared_ptr<const QuantParams> grid,
                      std::shared_ptr<const std::int8_t[]> codes) {
  impl_->grid = std::move(grid);
  impl_->codes = std::move(codes);
}

const std::shared_ptr<Node>& Tensor::node() const { return impl_->node; }
void Tensor::set_node(std::shared_ptr<Node> node) { impl_->node = std::move(node); }

namespace {

constexpr Index kShownPerAxis = 6;

void print_axis(std::string& out, const Tensor& tensor, Index axis, Index offset, Index stride) {
  if (axis == tensor.rank()) {
    out += fmt::format("{:g}", tensor.data()[offset]);
    return;
  }
  const Index extent = tensor.shape()[axis];
  const Index step = extent == 0 ? 0 : stride / extent;
  out += '[';
  for (Index i = 0; i < extent; ++i) {
    if (i > 0) {
      out += axis + 1 == tensor.rank()
                 ? ", "
                 : ",\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
    }
    if (extent > kShownPerAxis && i == kShownPerAxis / 2) {
      out += "...";
      i = extent - kShownPerAxis / 2 - 1;
      continue;
    }
    print_axis(out, tensor, axis + 1, offset + i * step, step);
  }
  out += ']';
}

}  // namespace

std::string Tensor::to_string() const {
  if (!defined()) return "Tensor()";
  std::string values;
  print_axis(values, *this, 0, 0, size());
  return fmt::format("Tensor(shape={}, {})", shape().to_string(), values);
}

}  // namespace octet
