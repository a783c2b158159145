#include <octet/core/error.h>
#include <octet/layers/initializer.h>

#include <cmath>

namespace octet {

Tensor initialize(Initializer initializer, const Shape& shape, Index fan_in, Index fan_out,
                  const Random& random) {
  const auto in = static_cast<float>(fan_in);
  const auto out = static_cast<float>(fan_out);
  const auto symmetric = [&](float limit) { return Tensor::uniform(shape, random, -limit, limit); };
  switch (initializer) {
    case Initializer::glorot_uniform:
      return symmetric(std::sqrt(6.0F / (in + out)));
    case Initializer::he_uniform:
      return symmetric(std::sqrt(6.0F / in));
    case Initializer::he_normal:
      return Tensor::normal(shape, random, 0, std::sqrt(2.0F / in));
    case Initializer::zeros:
      return Tensor::zeros(shape);
  }
  throw InvalidArgument("initialize: a value outside the enumeration");
}

}  // namespace octet
