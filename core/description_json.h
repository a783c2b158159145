#pragma once

#include <octet/core/description.h>

#include <nlohmann/json.hpp>

// The JSON inside a Description. Not for users' includes.

namespace octet {

struct DescriptionAccess {
  /// The description's JSON object, to read, and to change: then no other description shares it.
  static const nlohmann::json& json_of(const Description& description);
  static nlohmann::json& own(Description& description);
  /// Wraps a JSON object without copying it; the object must outlive the description. Throws
  /// FormatError for JSON of another kind.
  static Description of(const nlohmann::json& object);
};

}  // namespace octet
