#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet::test {

/// A protobuf message read by its wire format alone: fields by number, in the order they come.
class RawMessage {
 public:
  explicit RawMessage(std::span<const std::uint8_t> bytes) : rest_(bytes) {
    while (!rest_.empty()) read_field();
  }

  bool has(int field) const { return fields_.contains(field); }
  std::vector<std::int64_t> integers(int field) const {
    std::vector<std::int64_t> result;
    for (const Value& value : all(field)) result.push_back(value.integer);
    return result;
  }
  std::int64_t integer(int field) const { return one(field).integer; }
  float real(int field) const {
    const auto bits = static_cast<std::uint32_t>(one(field).integer);
    float value = 0.0F;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  std::span<const std::uint8_t> bytes(int field) const { return one(field).bytes; }
  std::string text(int field) const { return to_text(one(field)); }
  std::vector<std::string> texts(int field) const {
    std::vector<std::string> result;
    for (const Value& value : all(field)) result.push_back(to_text(value));
    return result;
  }
  RawMessage message(int field) const { return RawMessage(one(field).bytes); }
  std::vector<RawMessage> messages(int field) const {
    std::vector<RawMessage> result;
    for (const Value& value : all(field)) result.emplace_back(value.bytes);
    return result;
  }

 private:
  struct Value {
    std::int64_t integer = 0;
    std::span<const std::uint8_t> bytes;
  };

  static std::string to_text(const Value& value) {
    return {value.bytes.begin(), value.bytes.end()};
  }

  std::vector<Value> all(int field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? std::vector<Value>{} : found->second;
  }
  Value one(int field) const {
    const auto values = all(field);
    if (values.size() != 1) throw std::runtime_error("expected field " + std::to_string(field));
    return values[0];
  }

  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("a protobuf message ends too early");
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = take(1)[0];
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("a protobuf number has too many bytes");
  }

  void read_field() {
    const std::uint64_t key = varint();
    Value value;
    switch (key & 7U) {
      case 0:
        value.integer = static_cast<std::int64_t>(varint());
        break;
      case 2:
        value.bytes = take(varint());
        break;
      case 5: {
        std::uint32_t bits = 0;
        std::memcpy(&bits, take(4).data(), 4);
        value.integer = bits;
        break;
      }
      default:
        throw std::runtime_error("a protobuf wire type that ONNX does not use");
    }
    fields_[static_cast<int>(key >> 3U)].push_back(value);
  }

  std::span<const std::uint8_t> rest_;
  std::map<int, std::vector<Value>> fields_;
};

}  // namespace octet::test
