#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace octet::test {

/// A place in the text of a shell script.
class ShellText {
 protected:
  explicit ShellText(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error(fmt::format("line {}: expected {}, found '{}'", line_, expected,
                                         at_ < text_.size() ? text_.substr(at_, 20) : "the end"));
  }

  bool ended() const { return at_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  char next() {
    if (ended()) fail("more of the script");
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }
  void skip(std::string_view what) {
    if (!starts(what)) fail(fmt::format("'{}'", what));
    for (std::size_t i = 0; i < what.size(); ++i) next();
  }

  // Spaces, continued lines and comments.
  void blanks() {
    while (!ended()) {
      if (peek() == ' ' || peek() == '\t') {
        next();
      } else if (starts("\\\n")) {
        skip("\\\n");
      } else if (peek() == '#') {
        while (!ended() && peek() != '\n') next();
      } else {
        return;
      }
    }
  }
  static bool ends_word(char c) {
    return std::string_view(" \t\n;&|<>()").find(c) != std::string_view::npos;
  }

  bool at_keyword(std::string_view name) const {
    return starts(name) && (at_ + name.size() >= text_.size() || ends_word(peek(name.size())));
  }
  bool take_keyword(std::string_view name) {
    if (!at_keyword(name)) return false;
    skip(name);
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace octet::test
