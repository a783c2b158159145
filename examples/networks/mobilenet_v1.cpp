#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "networks.h"
#include "parts.h"

namespace octet::networks {
namespace {

/// A block of the network: filters at width 1, and the stride of its depthwise convolution.
struct Block {
  int filters;
  Index stride;
};

constexpr std::array kBlocks = {Block{64, 1},  Block{128, 2}, Block{128, 1}, Block{256, 2},
                                Block{256, 1}, Block{512, 2}, Block{512, 1}, Block{512, 1},
                                Block{512, 1}, Block{512, 1}, Block{512, 1}, Block{1024, 2},
                                Block{1024, 1}};

}  // namespace

Model mobilenet_v1(const Shape& image, Index outputs, Activation end, double width) {
  if (!(width > 0.0 && width <= 4.0)) {
    throw InvalidArgument(
        fmt::format("mobilenet_v1: expected a width above 0 and up to 4, found {}", width));
  }
  const auto filters = [width](int at_width_1) {
    return std::max(Index{1}, static_cast<Index>(at_width_1 * width));
  };
  Model model("mobilenet_v1");
  Value x = model.input(image_shape(image));
  x = conv_norm_relu(model, filters(32), {3, 3}, 2, x);
  for (const Block& block : kBlocks) {
    x = separable_norm_relu(model, filters(block.filters), block.stride, x);
  }
  classify(model, outputs, end, x);
  return model;
}

}  // namespace octet::networks
