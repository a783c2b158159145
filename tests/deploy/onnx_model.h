#pragma once

#include <octet/tests/deploy/raw_protobuf.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// An ONNX file as its standard describes it, and what its operators compute: written for the tests
// and not shared with Octet.

namespace octet::test {

enum class OnnxElement : std::int64_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  int32 = 6,
  int64 = 7,
  int4 = 22
};

/// A tensor of any type; doubles hold the values of all that are used.
struct OnnxTensor {
  OnnxElement type = OnnxElement::float32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
  std::map<std::string, std::int64_t> attributes;
  std::map<std::string, float> reals;
  std::map<std::string, std::vector<std::int64_t>> lists;
  std::map<std::string, std::string> texts;
};

/// An input or output; a dimension is its number or its name.
struct OnnxEnd {
  std::string name;
  OnnxElement type = OnnxElement::float32;
  std::vector<std::string> dims;
};

template <class T>
std::vector<double> to_doubles(std::span<const std::uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

/// Two in a byte, the first in its low half; one more in the last where their number is odd.
inline std::vector<double> int4_values(std::span<const std::uint8_t> bytes,
                                       const std::vector<std::int64_t>& shape) {
  std::vector<double> values;
  for (const std::uint8_t byte : bytes) {
    for (const int half : {byte % 16, byte / 16}) values.push_back(half < 8 ? half : half - 16);
  }
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  if (size % 2 != 0 && !values.empty() && values.back() == 0.0) values.pop_back();
  return values;
}

class OnnxFile {
 public:
  explicit OnnxFile(std::span<const std::uint8_t> bytes) {
    const RawMessage model(bytes);
    ir_version = model.integer(1);
    producer = model.text(2);
    opset = model.messages(8).at(0).integer(2);
    for (const RawMessage& entry : model.messages(14)) metadata[entry.text(1)] = entry.text(2);
    const RawMessage graph = model.message(7);
    name = graph.text(2);
    for (const RawMessage& node : graph.messages(1)) nodes.push_back(read_node(node));
    for (const RawMessage& tensor : graph.messages(5)) {
      if (!constants.emplace(tensor.text(8), read_tensor(tensor)).second) {
        throw std::runtime_error("two constants are named " + tensor.text(8));
      }
    }
    for (const RawMessage& end : graph.messages(11)) inputs.push_back(read_end(end));
    for (const RawMessage& end : graph.messages(12)) outputs.push_back(read_end(end));
  }

  const OnnxNode& producer_of(const std::string& value) const {
    for (const OnnxNode& node : nodes) {
      if (node.output == value) return node;
    }
    throw std::runtime_error("nothing computes " + value);
  }

  std::vector<std::string> ops() const {
    std::vector<std::string> result;
    for (const OnnxNode& node : nodes) result.push_back(node.op);
    return result;
  }

  std::int64_t ir_version = 0;
  std::int64_t opset = 0;
  std::string producer;
  std::string name;
  std::map<std::string, std::string> metadata;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> constants;
  std::vector<OnnxEnd> inputs;
  std::vector<OnnxEnd> outputs;

 private:
  static OnnxNode read_node(const RawMessage& message) {
    OnnxNode node{message.text(4), message.texts(1), message.text(2), {}, {}, {}, {}};
    for (const RawMessage& attribute : message.messages(5)) {
      const std::int64_t type = attribute.integer(20);
      if (type == 1) {
        node.reals[attribute.text(1)] = attribute.real(2);
      } else if (type == 2) {
        node.attributes[attribute.text(1)] = attribute.integer(3);
      } else if (type == 3) {
        node.texts[attribute.text(1)] = attribute.text(4);
      } else if (type == 7) {
        node.lists[attribute.text(1)] = attribute.integers(8);
      } else {
        throw std::runtime_error("an attribute of a type that no writer of ours writes");
      }
    }
    return node;
  }

  static OnnxTensor read_tensor(const RawMessage& message) {
    OnnxTensor tensor{static_cast<OnnxElement>(message.integer(2)), message.integers(1), {}};
    const auto raw = message.bytes(9);
    switch (tensor.type) {
      case OnnxElement::float32:
        tensor.values = to_doubles<float>(raw);
        break;
      case OnnxElement::uint8:
        tensor.values = to_doubles<std::uint8_t>(raw);
        break;
      case OnnxElement::int8:
        tensor.values = to_doubles<std::int8_t>(raw);
        break;
      case OnnxElement::int32:
        tensor.values = to_doubles<std::int32_t>(raw);
        break;
      case OnnxElement::int64:
        tensor.values = to_doubles<std::int64_t>(raw);
        break;
      case OnnxElement::int4:
        tensor.values = int4_values(raw, tensor.shape);
        break;
    }
    const std::int64_t size = std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                              std::int64_t{1}, std::multiplies<>());
    if (size != std::ssize(tensor.values)) throw std::runtime_error("a constant of another size");
    return tensor;
  }

  static OnnxEnd read_end(const RawMessage& message) {
    const RawMessage type = message.message(2).message(1);
    OnnxEnd end{message.text(1), static_cast<OnnxElement>(type.integer(1)), {}};
    for (const RawMessage& dimension : type.message(2).messages(1)) {
      end.dims.push_back(dimension.has(1) ? std::to_string(dimension.integer(1))
                                          : dimension.text(2));
    }
    return end;
  }
};

}  // namespace octet::test
