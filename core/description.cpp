#include <fmt/core.h>
#include <octet/core/description_json.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace octet {

using nlohmann::json;

/// Entries of its own, or those of a JSON object that somebody else holds.
struct Description::Node {
  Node() = default;
  explicit Node(json entries) : own(std::move(entries)) {}
  Node(const json* entries, std::shared_ptr<const void> keeper)
      : other(entries), owner(std::move(keeper)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // nlohmann's destructor allocates: what is taken apart leaves nothing for it to do.
  ~Node() { detail::take_apart(own); }

  const json& entries() const { return other != nullptr ? *other : own; }

  json own = json::object();
  const json* other = nullptr;
  /// Holds what `other` points into.
  std::shared_ptr<const void> owner;
};

namespace {

/// The entry `key` of `object`, which `kind` says it is.
const json& entry_of(const json& object, std::string_view key, std::string_view kind,
                     bool (json::*is_kind)() const noexcept) {
  const auto found = object.find(key);
  if (found == object.end()) {
    throw FormatError(fmt::format("description: expected an entry \"{}\", found none", key));
  }
  if (!((*found).*is_kind)()) {
    throw FormatError(fmt::format("description: expected {} as \"{}\", found {}", kind, key,
                                  detail::lenient_json_text(*found)));
  }
  return *found;
}

/// Whether `text` can be written as JSON.
bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(json(text).dump());
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace

Description::Description() : node_(std::make_shared<Node>()) {}

Description& Description::set(std::string_view key, bool value) {
  DescriptionAccess::own(*this)[std::string(key)] = value;
  return *this;
}

Description& Description::set(std::string_view key, Index value) {
  DescriptionAccess::own(*this)[std::string(key)] = value;
  return *this;
}

Description& Description::set(std::string_view key, double value) {
  if (!std::isfinite(value)) {
    throw InvalidArgument(
        fmt::format("description: expected a finite number as \"{}\", found {}", key, value));
  }
  DescriptionAccess::own(*this)[std::string(key)] = value;
  return *this;
}

Description& Description::set(std::string_view key, std::string_view value) {
  if (!is_utf8(value)) {
    throw InvalidArgument(
        fmt::format("description: expected a text in UTF-8 as \"{}\", found other bytes", key));
  }
  DescriptionAccess::own(*this)[std::string(key)] = value;
  return *this;
}

Description& Description::set(std::string_view key, const Shape& value) {
  DescriptionAccess::own(*this)[std::string(key)] = std::vector<Index>(value.begin(), value.end());
  return *this;
}

Description& Description::set(std::string_view key, const Description& value) {
  json part = value.node_->entries();
  DescriptionAccess::own(*this)[std::string(key)] = std::move(part);
  return *this;
}

bool Description::has(std::string_view key) const { return node_->entries().contains(key); }

bool Description::flag(std::string_view key) const {
  return entry_of(node_->entries(), key, "true or false", &json::is_boolean).get<bool>();
}

Index Description::integer(std::string_view key) const {
  return detail::whole_number<Index>(
      entry_of(node_->entries(), key, "a whole number", &json::is_number_integer));
}

double Description::number(std::string_view key) const {
  return entry_of(node_->entries(), key, "a number", &json::is_number).get<double>();
}

float Description::float_number(std::string_view key) const {
  const double value = number(key);
  if (!(std::abs(value) <= double{std::numeric_limits<float>::max()})) {
    throw FormatError(
        fmt::format("description: expected a float32 number as \"{}\", found {}", key, value));
  }
  return static_cast<float>(value);
}

std::string Description::text(std::string_view key) const {
  return entry_of(node_->entries(), key, "a text", &json::is_string).get<std::string>();
}

Shape Description::shape(std::string_view key) const {
  std::vector<Index> extents;
  for (const json& extent : entry_of(node_->entries(), key, "a shape", &json::is_array)) {
    extents.push_back(detail::whole_number<Index>(extent));
  }
  return Shape(std::move(extents));
}

Description Description::part(std::string_view key) const {
  Description part;
  part.node_ = std::make_shared<Node>(
      &entry_of(node_->entries(), key, "a description", &json::is_object), node_);
  return part;
}

std::string Description::to_json() const { return node_->entries().dump(); }

json& DescriptionAccess::own(Description& description) {
  auto& node = description.node_;
  if (node.use_count() > 1 || node->other != nullptr) {
    node = std::make_shared<Description::Node>(node->entries());
  }
  return node->own;
}

const json& DescriptionAccess::json_of(const Description& description) {
  return description.node_->entries();
}

Description DescriptionAccess::of(const json& object, std::shared_ptr<const void> owner) {
  if (!object.is_object()) {
    throw FormatError(fmt::format("description: expected an object, found {}", object.dump()));
  }
  Description description;
  description.node_ = std::make_shared<Description::Node>(&object, std::move(owner));
  return description;
}

}  // namespace octet
