#pragma once

#include <octet/layers/reshape.h>
#include <octet/layers/zero_padding2d.h>

#include <memory>
#include <vector>

namespace octet::detail {

/// The layers that put channels of zeros in front of and behind those of images [height, width,
/// channels]: each pixel's channels are a row of an image that is padded.
inline std::vector<std::unique_ptr<Layer>> zero_channel_layers(const Shape& image, Index front,
                                                               Index behind) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Reshape>(Shape{image[0] * image[1], image[2], 1}));
  layers.push_back(std::make_unique<ZeroPadding2D>(Padding2D{.left = front, .right = behind}));
  layers.push_back(std::make_unique<Reshape>(Shape{image[0], image[1], image[2] + front + behind}));
  return layers;
}

}  // namespace octet::detail
