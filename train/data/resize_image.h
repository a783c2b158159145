#pragma once

#include <octet/core/shape.h>

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// The size of an image, and how many values a pixel has.
struct PixelSize {
  Index height = 0;
  Index width = 0;
  Index channels = 0;
};

/// Resizes an image [height, width, channels] to height x width, its sides stretched each for
/// itself: a pixel of the result is the mean of those that it covers, weighted by the areas that it
/// covers of them, computed in integers and rounded to the nearest, halves up. At the same size
/// nothing changes; enlarged by a whole factor each pixel is repeated.
std::vector<std::uint8_t> resize_image(std::span<const std::uint8_t> pixels, const PixelSize& size,
                                       Index height, Index width);

/// Grey of red, green and blue: (77 R + 150 G + 29 B + 128) / 256, rounded down; the weights of
/// ITU-R BT.601. Equal values stay as they are.
std::vector<std::uint8_t> grey_of(std::span<const std::uint8_t> pixels);

}  // namespace octet
