#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/printable.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/npy_header.h>

#include <charconv>
#include <utility>
#include <vector>

namespace octet {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), rest_(text), file_(file) {}

  NpyHeader header() {
    NpyHeader result;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    const auto once = [&](bool& seen, std::string_view key) {
      if (std::exchange(seen, true)) fail(fmt::format("the key '{}' once", key));
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        once(has_descr, key);
        result.descr = descr();
      } else if (key == "fortran_order") {
        once(has_order, key);
        result.fortran_order = boolean();
      } else if (key == "shape") {
        once(has_shape, key);
        result.shape = shape();
      } else {
        fail(fmt::format("no key but descr, fortran_order and shape (found '{}')", printable(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty()) fail("nothing but spaces after the dictionary");
    if (!has_descr || !has_order || !has_shape) fail("the keys descr, fortran_order and shape");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw FormatError(fmt::format("{}: expected {} in the .npy header, at character {} of '{}'",
                                  file_, expected, text_.size() - rest_.size(),
                                  printable(text_, 200)));
  }

  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size()));
  }

  bool accept(char wanted) {
    skip_spaces();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(fmt::format("'{}'", wanted));
  }

  bool accept(std::string_view word) {
    skip_spaces();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  /// A text in single or double quotes, without escapes.
  std::string_view quoted() {
    skip_spaces();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const auto end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("a text in quotes");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string descr() {
    skip_spaces();
    if (rest_.starts_with('[')) {
      fail("one type for all values (a structured array has several; save its fields one by one)");
    }
    return std::string(quoted());
  }

  bool boolean() {
    if (accept(std::string_view("True"))) return true;
    if (accept(std::string_view("False"))) return false;
    fail("True or False");
  }

  Index extent() {
    skip_spaces();
    Index value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) fail("an extent in [0, 2^63)");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// A Python tuple: (), (3,) or (3, 4).
  Shape shape() {
    std::vector<Index> dims;
    bool comma = true;
    expect('(');
    while (!accept(')')) {
      if (!comma) fail("',' or ')'");
      if (dims.size() == kMaxFileRank) fail(fmt::format("at most {} axes", kMaxFileRank));
      dims.push_back(extent());
      comma = accept(',');
    }
    if (dims.size() == 1 && !comma) fail("a tuple such as (3,)");
    return Shape(std::move(dims));
  }

  std::string_view text_;
  std::string_view rest_;
  const std::string& file_;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file) {
  return Parser(text, file).header();
}

}  // namespace octet
