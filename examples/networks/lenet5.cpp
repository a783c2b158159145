#include "networks.h"
#include "parts.h"

namespace octet::networks {

Sequential lenet5(const Shape& image, Index outputs, Activation end) {
  return Sequential("lenet5", Input(image_shape(image)),
                    Conv2D(6, 5, Activation::relu, {.padding = Padding::same}), MaxPool2D(),
                    Conv2D(16, 5, Activation::relu), MaxPool2D(), Flatten(),
                    Dense(120, Activation::relu), Dense(84, Activation::relu), Dense(outputs, end));
}

}  // namespace octet::networks
