#pragma once

#include <octet/tests/deploy/onnx_model.h>

#include <algorithm>
#include <cmath>

// What ONNX's operators on bits compute, of the shapes that packed weights have.

namespace octet::test::onnx {

/// A vector along the last axis, of which `x` has one element.
inline OnnxTensor shifted_right(const OnnxNode& node, const OnnxTensor& x, const OnnxTensor& by) {
  if (node.texts.at("direction") != "RIGHT" || x.shape.back() != 1 || by.shape.size() != 1 ||
      x.type != OnnxElement::uint8 || by.type != OnnxElement::uint8) {
    throw std::runtime_error("BitShift: operands do not fit");
  }
  OnnxTensor y{x.type, x.shape, {}};
  y.shape.back() = by.shape[0];
  for (const double value : x.values) {
    for (const double bits : by.values)
      y.values.push_back(std::floor(std::ldexp(value, -int(bits))));
  }
  return y;
}

/// With one number.
inline OnnxTensor common_bits(OnnxTensor x, const OnnxTensor& with) {
  if (x.type != OnnxElement::uint8 || with.type != x.type) {
    throw std::runtime_error("BitwiseAnd: types differ");
  }
  for (double& value : x.values)
    value = static_cast<int>(value) & static_cast<int>(with.values.at(0));
  return x;
}

/// The elements [begin, end) of a vector.
inline OnnxTensor slice(const OnnxTensor& x, const std::vector<double>& begin,
                        const std::vector<double>& end) {
  if (x.shape.size() != 1) throw std::runtime_error("Slice: no vector");
  OnnxTensor y{x.type, {}, {}};
  for (auto i = static_cast<std::size_t>(begin.at(0)); i < static_cast<std::size_t>(end.at(0));
       ++i) {
    y.values.push_back(x.values.at(i));
  }
  y.shape = {std::ssize(y.values)};
  return y;
}

/// In steps along some axes.
inline OnnxTensor slice(OnnxTensor x, const std::vector<double>& begin,
                        const std::vector<double>& end, const std::vector<double>& axes,
                        const std::vector<double>& steps) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t extent = x.shape.at(axis);
    std::size_t inner = 1;
    for (std::size_t k = axis + 1; k < x.shape.size(); ++k) {
      inner *= static_cast<std::size_t>(x.shape[k]);
    }
    OnnxTensor y{x.type, x.shape, {}};
    const double taken = std::ceil((end[i] - begin[i]) / steps[i]);
    y.shape[axis] = static_cast<std::int64_t>(std::max(0.0, taken));
    for (std::size_t from = 0; from < x.values.size(); ++from) {
      const double past =
          static_cast<double>(from / inner % static_cast<std::size_t>(extent)) - begin[i];
      const bool is_taken = past >= 0 && past < end[i] - begin[i] && std::fmod(past, steps[i]) == 0;
      if (is_taken) y.values.push_back(x.values[from]);
    }
    x = std::move(y);
  }
  return x;
}

/// Along axis 0, which is dropped.
inline OnnxTensor sum_of_planes(const OnnxNode& node, const OnnxTensor& x) {
  if (node.attributes.at("keepdims") != 0) throw std::runtime_error("ReduceSum: keeps axis 0");
  OnnxTensor y{x.type, {x.shape.begin() + 1, x.shape.end()}, {}};
  y.values.resize(x.values.size() / static_cast<std::size_t>(x.shape.at(0)));
  for (std::size_t i = 0; i < x.values.size(); ++i) y.values[i % y.values.size()] += x.values[i];
  return y;
}

}  // namespace octet::test::onnx
