#pragma once

#include <octet/core/random.h>
#include <octet/core/tensor.h>
#include <octet/tests/import/onnx_file.h>

#include <cstdint>
#include <string>
#include <vector>

// Small files of one attribute each, for survey_models.

namespace octet::test::variants {

using Bytes = std::vector<std::uint8_t>;
using Integers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

struct Variant {
  std::string name;
  Bytes file;
  /// Words of the refusal of a file that cannot be imported; empty for one that is.
  std::string refused{};
  /// As the lines of options.tsv: --to and a value's name.
  Strings options{};
};
using Variants = std::vector<Variant>;

inline const Integers kImages = {-1, 3, 9, 7};
inline const Integers kSequences = {-1, 4, 11};
inline const Integers kVectors = {-1, 6};

/// Constants in [-0.5, 0.5] but for those near 0, by which nothing is divided.
inline std::vector<float> drawn(std::size_t count, std::uint64_t seed) {
  const Tensor values =
      Tensor::uniform({static_cast<Index>(count)}, Random(seed + 900), -0.5F, 0.5F);
  std::vector<float> result;
  for (const float v : values.span()) result.push_back(v < 0 ? v - 0.05F : v + 0.05F);
  return result;
}
inline Message floats_in(const std::string& name, const Integers& dims,
                         const std::vector<float>& values) {
  std::string raw(values.size() * sizeof(float), '\0');
  if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  return tensor(name, 1, dims).text(9, raw);
}
/// A constant of these extents, drawn.
inline Message weights(const std::string& name, const Integers& dims) {
  std::size_t count = 1;
  auto seed = static_cast<std::uint64_t>(name[0]);
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  for (const std::int64_t dim : dims) seed = seed * 31 + static_cast<std::uint64_t>(dim);
  return floats_in(name, dims, drawn(count, seed));
}
/// Values of one number, as scales are.
inline Message positive(const std::string& name, const Integers& dims) {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  std::vector<float> values = drawn(count, 7);
  for (float& v : values) v = v < 0 ? 0.6F - v : 0.6F + v;
  return floats_in(name, dims, values);
}

inline Message of_floats(const std::string& name, const std::vector<float>& values) {
  Message message;
  message.text(1, name);
  for (const float value : values) message.real(7, value);
  return message.number(20, 6);
}
inline Message of_texts(const std::string& name, const Strings& values) {
  Message message;
  message.text(1, name);
  for (const std::string& value : values) message.text(9, value);
  return message.number(20, 8);
}
inline Message of_tensor(const std::string& name, const Message& value) {
  return Message().text(1, name).message(5, value).number(20, 4);
}
inline Message number(const std::string& name, int value) {
  return attribute(name, std::int64_t{value});
}
inline Message list(const std::string& name, const Integers& values) {
  return attribute(name, values);
}

/// A node of several results.
inline Message op(const std::string& code, const Strings& inputs, const Strings& outputs,
                  const std::vector<Message>& attributes = {}) {
  Message message;
  for (const std::string& input : inputs) message.text(1, input);
  for (const std::string& output : outputs) message.text(2, output);
  message.text(3, "node " + outputs[0]).text(4, code);
  for (const Message& given : attributes) message.message(5, given);
  return message;
}

/// A value of float32, of whose extents `known` are stated.
inline Message value(const std::string& name, const Integers& known) {
  return known.empty()
             ? Message().text(1, name).message(2, Message().message(1, Message().number(1, 1)))
             : value_info(name, known);
}

/// The parts of an ONNX file; its inputs are "x", and "z" where `second` is given.
struct Source {
  Integers x;
  std::vector<Message> nodes;
  std::vector<Message> tensors{};
  int opset = 17;
  Strings outputs = {"y"};
  Integers second{};
};

inline Bytes file_of(const Source& source) {
  Message graph;
  for (const Message& each : source.nodes) graph.message(1, each);
  graph.text(2, "g");
  for (const Message& each : source.tensors) graph.message(5, each);
  graph.message(11, value("x", source.x));
  if (!source.second.empty()) graph.message(11, value("z", source.second));
  for (const std::string& output : source.outputs) graph.message(12, value(output, {}));
  return Message()
      .number(1, 8)
      .message(7, graph)
      .message(8, Message().text(1, "").number(2, source.opset))
      .bytes();
}

// The tables, by family.
Variants convolutions();
Variants pools();
Variants functions();
Variants arithmetic();
Variants products();
Variants shapes();
Variants resizes();
Variants recurrences();
Variants tflite_files();

}  // namespace octet::test::variants
