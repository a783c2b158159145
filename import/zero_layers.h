#pragma once

#include <octet/layers/reshape.h>
#include <octet/layers/sequence_shapes.h>
#include <octet/layers/zero_padding2d.h>

#include <memory>
#include <vector>

namespace octet::detail {

/// The layers that put zeros in front of and behind `axis` of examples of that shape: what is in
/// front of the axis, the axis and what is behind it are an image that is padded.
inline std::vector<std::unique_ptr<Layer>> zero_layers(const Shape& examples, Index axis,
                                                       Index front, Index behind) {
  std::vector<std::unique_ptr<Layer>> layers;
  if (examples.rank() == 2 && axis == 0) {
    layers.push_back(std::make_unique<ZeroPadding1D>(front, behind));
    return layers;
  }
  if (examples.rank() == 3 && axis == 0) {
    layers.push_back(std::make_unique<ZeroPadding2D>(Padding2D{.top = front, .bottom = behind}));
    return layers;
  }
  Index before = 1;
  for (Index i = 0; i < axis; ++i) before *= examples[i];
  const Index after = examples.size() / before / examples[axis];
  const Shape image({before, examples[axis], after});
  if (examples != image) layers.push_back(std::make_unique<Reshape>(image));
  layers.push_back(std::make_unique<ZeroPadding2D>(Padding2D{.left = front, .right = behind}));
  if (examples != image) {
    layers.push_back(
        std::make_unique<Reshape>(examples.with_dim(axis, examples[axis] + front + behind)));
  }
  return layers;
}

}  // namespace octet::detail
