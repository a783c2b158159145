#include "networks.h"
#include "parts.h"

namespace octet::networks {

Model dscnn(const Shape& image, Index outputs, Activation end) {
  constexpr Index kFilters = 64;
  constexpr int kBlocks = 4;
  Model model("dscnn");
  Value x = model.input(image_shape(image));
  x = conv_norm_relu(model, kFilters, {10, 4}, 2, x);
  for (int i = 0; i < kBlocks; ++i) x = separable_norm_relu(model, kFilters, 1, x);
  classify(model, outputs, end, x);
  return model;
}

}  // namespace octet::networks
