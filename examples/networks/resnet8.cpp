#include "networks.h"
#include "parts.h"

namespace octet::networks {
namespace {

constexpr Initializer kInitializer = Initializer::he_normal;

/// Two convolutions of 3 x 3, added to what they read. Where the block makes smaller images of more
/// channels, a convolution of 1 x 1 brings that to the same shape.
Value block(Model& model, Index filters, Index stride, const Value& x) {
  Value y = conv_norm(model, filters, {3, 3}, stride, kInitializer, x);
  y = conv_norm(model, filters, {3, 3}, 1, kInitializer, model.add(ReLU(), y));
  if (stride == 1) return model.add(Add(Activation::relu), {x, y});
  const Conv2D shortcut(
      filters, 1, Activation::none,
      {.strides = {stride, stride}, .padding = Padding::same, .kernel_initializer = kInitializer});
  return model.add(Add(Activation::relu), {model.add(shortcut, x), y});
}

}  // namespace

Model resnet8(const Shape& image, Index outputs, Activation end) {
  Model model("resnet8");
  Value x = conv_norm(model, 16, {3, 3}, 1, kInitializer, model.input(image_shape(image)));
  x = block(model, 16, 1, model.add(ReLU(), x));
  x = block(model, 32, 2, x);
  x = block(model, 64, 2, x);
  classify(model, outputs, end, x);
  return model;
}

}  // namespace octet::networks
