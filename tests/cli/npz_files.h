#pragma once

#include <fmt/core.h>
#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/train/data/targets.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace octet::test {

/// What zip_bytes() makes an .npz file of.
using NamedFiles = std::vector<std::pair<std::string, Bytes>>;

inline std::string shape_text(const Shape& shape) {
  std::string text = "(";
  for (const Index extent : shape) text += fmt::format("{},", extent);
  return text + ")";
}

/// The .npy file of an array in a zip.
inline std::pair<std::string, Bytes> named(const std::string& name, const Tensor& values) {
  return {name + ".npy", npy_bytes<float>("<f4", shape_text(values.shape()),
                                          {values.span().begin(), values.span().end()})};
}

inline std::pair<std::string, Bytes> named(const std::string& name, const Labels& labels) {
  return {name + ".npy",
          npy_bytes<std::int32_t>("<i4", fmt::format("({},)", labels.size()), labels)};
}

}  // namespace octet::test
