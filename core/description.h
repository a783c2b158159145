#pragma once

#include <octet/core/shape.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace octet {

/// Named values by which a layer, a quantizer or another part of a model describes itself in a
/// file, and from which it is made again. An entry is a truth value, a number, a text, a shape or
/// another description; a description is a JSON object in the file.
///
///     Description d;
///     d.set("rate", 0.1).set("name", "dropout");
///     d.number("rate");  // 0.1
///
/// Getters throw FormatError, naming the entry, where it is missing or of another kind. Copies are
/// cheap and share their entries until one is changed.
class Description {
 public:
  Description();

  Description& set(std::string_view key, bool value);
  Description& set(std::string_view key, Index value);
  Description& set(std::string_view key, int value) { return set(key, static_cast<Index>(value)); }
  /// Throws InvalidArgument for NaN and infinity, which JSON does not know.
  Description& set(std::string_view key, double value);
  /// Throws InvalidArgument for a text that is not UTF-8.
  Description& set(std::string_view key, std::string_view value);
  Description& set(std::string_view key, const char* value) {
    return set(key, std::string_view(value));
  }
  Description& set(std::string_view key, const Shape& value);
  Description& set(std::string_view key, const Description& value);

  bool has(std::string_view key) const;
  bool flag(std::string_view key) const;
  Index integer(std::string_view key) const;
  double number(std::string_view key) const;
  /// A number as a float32. Throws FormatError where it is beyond those.
  float float_number(std::string_view key) const;
  std::string text(std::string_view key) const;
  Shape shape(std::string_view key) const;
  Description part(std::string_view key) const;

  /// One line of JSON, keys in alphabetical order.
  std::string to_json() const;

 private:
  friend struct DescriptionAccess;
  struct Node;
  std::shared_ptr<Node> node_;
};

}  // namespace octet
