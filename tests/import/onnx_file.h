#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// ONNX files put together from the wire format of protobuf alone, for cases that no exporter
// writes.

namespace octet::test {

/// A protobuf message in the making.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3U);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 5U);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    varint(static_cast<std::uint64_t>(field) << 3U | 2U);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  std::vector<std::uint8_t> bytes() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

inline Message attribute(const std::string& name, std::int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2);
}
inline Message attribute(const std::string& name, float value) {
  return Message().text(1, name).real(2, value).number(20, 1);
}
inline Message attribute(const std::string& name, const char* value) {
  return Message().text(1, name).text(4, value).number(20, 3);
}
inline Message attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  Message message;
  message.text(1, name);
  for (const std::int64_t value : values) message.number(8, value);
  return message.number(20, 7);
}

inline Message node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::string& output, const std::vector<Message>& attributes = {}) {
  Message message;
  for (const std::string& input : inputs) message.text(1, input);
  message.text(2, output).text(3, "node " + output).text(4, op);
  for (const Message& given : attributes) message.message(5, given);
  return message;
}

/// A tensor of `type` without data.
inline Message tensor(const std::string& name, int type, const std::vector<std::int64_t>& dims) {
  Message message;
  for (const std::int64_t dim : dims) message.number(1, dim);
  return message.number(2, type).text(8, name);
}
/// float32 numbers 0.1, 0.2, ...
inline Message floats(const std::string& name, const std::vector<std::int64_t>& dims) {
  std::int64_t size = 1;
  for (const std::int64_t dim : dims) size *= dim;
  std::string raw;
  for (std::int64_t i = 0; i < size; ++i) {
    const float value = 0.1F * static_cast<float>(i + 1);
    raw.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return tensor(name, 1, dims).text(9, raw);
}
/// A constant of one value.
inline Message real(const std::string& name, float value) {
  const std::string raw(reinterpret_cast<const char*>(&value), sizeof(value));
  return tensor(name, 1, {}).text(9, raw);
}
inline Message integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string raw(values.size() * 8, '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return tensor(name, 7, {static_cast<std::int64_t>(values.size())}).text(9, raw);
}

inline Message external(const std::string& name, const std::vector<std::int64_t>& dims,
                        const std::vector<std::pair<std::string, std::string>>& entries) {
  Message message = tensor(name, 1, dims);
  for (const auto& [key, value] : entries) {
    message.message(13, Message().text(1, key).text(2, value));
  }
  return message.number(14, 1);
}

inline Message value_info(const std::string& name, const std::vector<std::int64_t>& dims) {
  Message shape;
  for (const std::int64_t dim : dims) {
    Message one;
    if (dim >= 0) one.number(1, dim);
    shape.message(1, one);
  }
  const Message type = Message().number(1, 1).message(2, shape);
  return Message().text(1, name).message(2, Message().message(1, type));
}

/// A file with input "x" of `input`, -1 for an open extent, and output "y". Opset 0 is a file of IR
/// version 1, which states none.
inline std::vector<std::uint8_t> onnx_file(const std::vector<std::int64_t>& input,
                                           const std::vector<Message>& nodes,
                                           const std::vector<Message>& tensors = {},
                                           std::int64_t opset = 13) {
  Message graph;
  for (const Message& each : nodes) graph.message(1, each);
  graph.text(2, "g");
  for (const Message& each : tensors) graph.message(5, each);
  graph.message(11, value_info("x", input)).message(12, value_info("y", {-1, 1}));
  Message file;
  file.number(1, opset == 0 ? 1 : 8).message(7, graph);
  if (opset != 0) file.message(8, Message().text(1, "").number(2, opset));
  return file.bytes();
}

}  // namespace octet::test
