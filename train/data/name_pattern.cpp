#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/name_pattern.h>
#include <octet/train/data/number_text.h>

#include <algorithm>
#include <utility>

namespace octet {
void NamePattern::refuse(const std::string& why) const {
  throw InvalidArgument(
      fmt::format("--class-from: expected a pattern such as {{class}}_{{group}}_{{test=0-4}}.wav, "
                  "found '{}': {}",
                  printable(text_), why));
}

void NamePattern::add_placeholder(std::string_view name) {
  if (!pieces_.empty() && pieces_.back().kind != Kind::literal) {
    refuse("nothing tells where one placeholder ends and the next begins");
  }
  Piece piece;
  if (name == "*") {
    piece.kind = Kind::anything;
  } else if (name == "class" && !has_class_) {
    piece.kind = Kind::class_name;
    has_class_ = true;
  } else if (name == "group") {
    piece.kind = Kind::group;
  } else if (name.starts_with("test=") && !has_test_) {
    const std::string_view range = name.substr(5);
    const std::size_t dash = range.find('-');
    const auto first = to_whole_number(range.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : to_whole_number(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last)
      refuse("expected numbers such as {test=0-4}");
    piece.kind = Kind::test;
    piece.first = *first;
    piece.last = *last;
    has_test_ = true;
  } else {
    refuse(fmt::format("{{{}}} is none of {{class}}, {{group}} and {{test=A-B}}, or stands twice",
                       printable(name)));
  }
  pieces_.push_back(std::move(piece));
}

NamePattern::NamePattern(const std::string& text) : text_(text) {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::size_t literal = std::min(rest.find_first_of("{*"), rest.size());
    if (literal > 0) pieces_.push_back({.text = std::string(rest.substr(0, literal))});
    rest.remove_prefix(literal);
    if (rest.empty()) break;
    const std::size_t end = rest[0] == '*' ? 0 : rest.find('}');
    if (end == std::string_view::npos) refuse("a { is never closed");
    add_placeholder(end == 0 ? rest.substr(0, 1) : rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
}

NameParts NamePattern::match(std::string_view name, const std::string& file) const {
  NameParts parts;
  const auto fail = [&](const std::string& why) {
    throw FormatError(fmt::format("{}: expected a name as --class-from has it, {}: {}", file,
                                  printable(text_), why));
  };
  std::string_view rest = name;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    if (piece.kind == Kind::literal) {
      // A placeholder in front has ended where this begins.
      if (!rest.starts_with(piece.text)) fail(fmt::format("'{}' is missing", piece.text));
      rest.remove_prefix(piece.text.size());
      continue;
    }
    std::size_t end = rest.size();
    if (i + 1 < pieces_.size()) {
      const std::string& next = pieces_[i + 1].text;
      end = i + 2 == pieces_.size() && rest.ends_with(next) ? rest.size() - next.size()
                                                            : rest.find(next, 1);
    }
    if (end == std::string_view::npos || end == 0) fail("a part of it is missing");
    const std::string_view text = rest.substr(0, end);
    if (piece.kind == Kind::class_name) parts.class_name = text;
    if (piece.kind == Kind::group) {
      parts.group += (parts.group.empty() ? "" : "/") + std::string(text);
    }
    if (piece.kind == Kind::test) {
      const auto number = to_whole_number(text);
      if (!number) fail(fmt::format("'{}' is no number", printable(text)));
      parts.is_test = *number >= piece.first && *number <= piece.last;
    }
    rest.remove_prefix(end);
  }
  if (!rest.empty()) fail(fmt::format("'{}' is too much", printable(rest)));
  return parts;
}

}  // namespace octet
