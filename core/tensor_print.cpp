#include <fmt/core.h>
#include <octet/core/tensor.h>

#include <ostream>
#include <string>

namespace octet {
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

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.to_string();
}

}  // namespace octet
