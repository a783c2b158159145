#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// What the name of a file says of its example.
struct NameParts {
  std::string class_name;
  std::string group;
  bool is_test = false;
};

/// DataOptions::class_from: see list_class_files().
class NamePattern {
 public:
  /// Throws InvalidArgument for what is no pattern.
  explicit NamePattern(const std::string& text);

  bool has_class() const { return has_class_; }
  bool has_test() const { return has_test_; }
  /// Throws FormatError, which names `file`, for a name that does not match.
  NameParts match(std::string_view name, const std::string& file) const;

 private:
  enum class Kind { literal, anything, class_name, group, test };
  struct Piece {
    Kind kind = Kind::literal;
    /// What a literal is.
    std::string text{};
    /// The numbers of a test part.
    std::int64_t first = 0;
    std::int64_t last = 0;
  };

  void add_placeholder(std::string_view name);
  [[noreturn]] void refuse(const std::string& why) const;

  std::string text_;
  std::vector<Piece> pieces_;
  bool has_class_ = false;
  bool has_test_ = false;
};

}  // namespace octet
