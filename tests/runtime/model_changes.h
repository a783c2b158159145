#pragma once

#include <octet/tests/runtime/moving_models.h>

#include <cstring>
#include <functional>

// Changes that make a sound model of one operator a wrong one.

namespace octet::test {

using Change = std::function<void(IntegerModel&)>;

inline Change shape(std::size_t tensor, const Extents& extents) {
  return [=](IntegerModel& m) {
    m.tensors[tensor].shape = extents;
    m.tensors[tensor].shape_signature.clear();
  };
}
/// A constant of other extents, and of as many bytes as they need.
inline Change constant(std::size_t tensor, const Extents& extents, std::size_t bytes) {
  return [=](IntegerModel& m) {
    m.tensors[tensor].shape = extents;
    m.tensors[tensor].data.resize(bytes);
  };
}
inline Change signature(std::size_t tensor, const Extents& extents) {
  return [=](IntegerModel& m) { m.tensors[tensor].shape_signature = extents; };
}
inline Change dtype(std::size_t tensor, DType type) {
  return [=](IntegerModel& m) { m.tensors[tensor].dtype = type; };
}
/// uint8 with a scale.
inline Change uint8(std::size_t tensor) {
  return [=](IntegerModel& m) {
    m.tensors[tensor].dtype = DType::uint8;
    m.tensors[tensor].quantization = quant(0.04F, 7, DType::uint8);
  };
}
inline Change scale(std::size_t tensor, float value) {
  return [=](IntegerModel& m) { m.tensors[tensor].quantization.scales = {value}; };
}
inline Change zero_point(std::size_t tensor, std::int32_t value, std::size_t channel = 0) {
  return [=](IntegerModel& m) { m.tensors[tensor].quantization.zero_points.at(channel) = value; };
}
/// Number `i` of an int32 constant.
inline Change number(std::size_t tensor, std::size_t i, std::int32_t value) {
  return [=](IntegerModel& m) {
    std::memcpy(m.tensors[tensor].data.data() + 4 * i, &value, sizeof value);
  };
}
/// Operand `i` is another tensor.
inline Change operand(std::size_t i, std::int32_t tensor) {
  return [=](IntegerModel& m) { m.operators[0].inputs.at(i) = tensor; };
}
template <class Attributes, class Value>
inline Change attribute(Value Attributes::*member, Value value) {
  return [=](IntegerModel& m) { m.operators[0].as<Attributes>().*member = value; };
}
inline Change both(const Change& first, const Change& second) {
  return [=](IntegerModel& m) {
    first(m);
    second(m);
  };
}

}  // namespace octet::test
