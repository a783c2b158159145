#include <fmt/format.h>
#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/tensor.h>

#include <algorithm>
#include <cstring>

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

}  // namespace

struct Tensor::Impl {
  Shape shape;
  Index size = 0;
  std::shared_ptr<float[]> storage;
  float* data = nullptr;
  bool requires_grad = false;
  std::shared_ptr<Node> node;
  std::shared_ptr<const QuantParams> grid;
  std::shared_ptr<const std::int8_t[]> codes;
  Tensor grad;
};

Tensor::Tensor(const Shape& shape) : impl_(std::make_shared<Impl>()) {
  impl_->shape = shape;
  impl_->size = shape.size();
  impl_->storage = allocate_floats(static_cast<std::size_t>(impl_->size));
  impl_->data = impl_->storage.get();
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
float* Tensor::data() { return impl_->data; }
const float* Tensor::data() const { return impl_->data; }

float& Tensor::at(std::initializer_list<Index> index) {
  return impl_->data[offset_of(shape(), index)];
}

float Tensor::at(std::initializer_list<Index> index) const {
  return impl_->data[offset_of(shape(), index)];
}

float Tensor::item() const {
  if (size() != 1) {
    throw InvalidArgument(
        fmt::format("item: expected one element, found shape {}", shape().to_string()));
  }
  return impl_->data[0];
}

bool Tensor::is_only_handle() const {
  return impl_.use_count() == 1 && impl_->storage.use_count() == 1;
}

Tensor Tensor::view(const Shape& shape, Index offset) const {
  Tensor result;
  result.impl_ = std::make_shared<Impl>();
  result.impl_->shape = shape;
  result.impl_->size = shape.size();
  result.impl_->storage = impl_->storage;
  result.impl_->data = impl_->data + offset;
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
