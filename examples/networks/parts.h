#pragma once

#include <octet/octet.h>

#include <array>

// Parts that several networks have in common.

namespace octet::networks {

/// [height, width] as [height, width, 1]; other shapes as they are.
inline Shape image_shape(const Shape& image) {
  return image.rank() == 2 ? Shape{image[0], image[1], 1} : image;
}

/// Conv2D with padding same, and BatchNorm behind it. The bias has no effect in front of a
/// BatchNorm; it is there because the reference networks have it.
inline Value conv_norm(Model& model, Index filters, std::array<Index, 2> kernel, Index stride,
                       Initializer initializer, const Value& x) {
  const Value y = model.add(Conv2D(filters, kernel, Activation::none,
                                   {.strides = {stride, stride},
                                    .padding = Padding::same,
                                    .kernel_initializer = initializer}),
                            x);
  return model.add(BatchNorm(), y);
}
inline Value conv_norm_relu(Model& model, Index filters, std::array<Index, 2> kernel, Index stride,
                            const Value& x) {
  return model.add(ReLU(),
                   conv_norm(model, filters, kernel, stride, Initializer::glorot_uniform, x));
}

/// DepthwiseConv2D of 3 x 3 and Conv2D of 1 x 1, each with BatchNorm and ReLU behind it.
inline Value separable_norm_relu(Model& model, Index filters, Index stride, const Value& x) {
  const Value y = model.add(
      DepthwiseConv2D(3, Activation::none, {.strides = {stride, stride}, .padding = Padding::same}),
      x);
  return conv_norm_relu(model, filters, {1, 1}, 1, model.add(ReLU(), model.add(BatchNorm(), y)));
}

/// The mean of every channel, and a Dense layer of them: the model's output.
inline void classify(Model& model, Index outputs, Activation end, const Value& x) {
  const Value means = model.add(GlobalAveragePool2D(), x);
  model.output(model.add(Dense(outputs, end), means));
}

}  // namespace octet::networks
