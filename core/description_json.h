#pragma once

#include <octet/core/description.h>

#include <memory>
#include <nlohmann/json.hpp>

// The JSON inside a Description. Not for users' includes.

namespace octet {

struct DescriptionAccess {
  /// The description's JSON object, to read, and to change: then no other description shares it.
  static const nlohmann::json& json_of(const Description& description);
  static nlohmann::json& own(Description& description);
  /// Wraps a JSON object without copying it. The description, its parts and their copies hold
  /// `owner`, which keeps the object. Throws FormatError for JSON of another kind.
  static Description of(const nlohmann::json& object, std::shared_ptr<const void> owner);
};

}  // namespace octet
