#include <octet/core/json_text.h>
#include <octet/core/utf8.h>

#include <string>
#include <vector>

namespace octet::detail {
namespace {

using nlohmann::json;

constexpr std::size_t kMostLevels = 32;

/// Puts what nlohmann's parser reads into `root`, which is its caller's: complete or not, it is for
/// take_apart().
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(json& root) : root_(root) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    throw nlohmann::detail::exception(error);
  }

 private:
  json& place(json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return (*open_.back())[key_] = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }

  bool put(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (open_.size() == kMostLevels) {
      throw FormatError(fmt::format("JSON nested deeper than {} levels", kMostLevels));
    }
    open_.push_back(&place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  json& root_;
  std::vector<json*> open_;
  std::string key_;
};

/// "a number", as errors call a kind of value.
std::string with_article(std::string_view kind) {
  if (kind == "null") return "null";
  if (kind == "array") return "a list";
  if (kind == "string") return "a text";
  if (kind == "boolean") return "true or false";
  return fmt::format("{} {}", kind == "object" ? "an" : "a", kind);
}

/// "line 1, column 3: expected JSON, found end of input", of the place and of what nlohmann's
/// parser says: "syntax error while parsing array - unexpected end of input; expected ']'", for
/// one.
std::string syntax_fault_text(std::string_view where, std::string_view what) {
  constexpr std::string_view kUnexpected = "unexpected ";
  constexpr std::string_view kExpected = "; expected ";
  if (const std::size_t end = what.find(" - "); end != what.npos) what.remove_prefix(end + 3);
  std::string_view wanted = "JSON";
  if (const std::size_t at = what.rfind(kExpected); at != what.npos) {
    wanted = what.substr(at + kExpected.size());
    what = what.substr(0, at);
  }
  if (what.starts_with(kUnexpected)) what.remove_prefix(kUnexpected.size());
  return fmt::format("{}: expected {}, found {}", where, wanted, what);
}

}  // namespace

std::string fault_text(const json::exception& fault) {
  // "[json.exception.type_error.302] type must be number, but is string", for one.
  std::string_view text = fault.what();
  if (const std::size_t end = text.find("] "); text.starts_with('[') && end != text.npos) {
    text.remove_prefix(end + 2);
  }
  // Octet asks objects alone, by keys.
  constexpr std::string_view kNoObject = "cannot use at() with ";
  if (text.starts_with(kNoObject)) {
    return fmt::format("expected an object, found {}", with_article(text.substr(kNoObject.size())));
  }
  std::string_view wanted;
  std::string_view found;
  const auto reads = [&](std::string_view begin, std::string_view between) {
    const std::size_t at = text.find(between);
    if (!text.starts_with(begin) || at == text.npos) return false;
    wanted = text.substr(begin.size(), at - begin.size());
    found = text.substr(at + between.size());
    return true;
  };
  if (reads("parse error at ", ": ")) return syntax_fault_text(wanted, found);
  if (reads("type must be ", ", but is ")) {
    return fmt::format("expected {}, found {}", with_article(wanted), with_article(found));
  }
  if (reads("key '", "' not found")) {
    return fmt::format("expected an entry \"{}\", found none", wanted);
  }
  return std::string(text);
}

std::string lenient_json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void take_apart(json& value) noexcept {
  if (auto* items = value.get_ptr<json::array_t*>()) {
    for (json& item : *items) take_apart(item);
    items->clear();
  } else if (auto* members = value.get_ptr<json::object_t*>()) {
    for (auto& [key, item] : *members) take_apart(item);
    members->clear();
  }
}

ParsedJson::ParsedJson(std::string_view text) {
  Builder builder(value_);
  try {
    json::sax_parse(text, &builder);
  } catch (...) {
    take_apart(value_);
    throw;
  }
}

ParsedJson::~ParsedJson() { take_apart(value_); }

std::string json_text(const nlohmann::json& value, std::string_view what) {
  try {
    return value.dump();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(fmt::format("{} have to be UTF-8: {}", what, detail::fault_text(error)));
  }
}

std::string as_utf8(const std::string& text) {
  return json::parse(detail::lenient_json_text(text)).get<std::string>();
}

}  // namespace octet::detail
