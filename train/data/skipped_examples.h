#pragma once

#include <octet/core/function_ref.h>

#include <cstddef>
#include <string>
#include <vector>

namespace octet {

/// How many of the examples that were left out are named; the others are counted.
inline constexpr std::size_t kMostSkippedNamed = 5;

/// The examples that are left out because they cannot be read.
class SkippedExamples {
 public:
  /// At most so many are left out: DataOptions::skip_bad.
  explicit SkippedExamples(std::size_t most) : most_(most) {}

  /// Calls read(). False where it threw a FormatError or IoError: the example is left out. Throws
  /// that error where none may be left out, and FormatError, with its text, for one too many.
  bool take(FunctionRef<void()> read);

  /// What is wrong with each that was left out, file and line first.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  void leave_out(const std::string& text);

  std::size_t most_;
  std::vector<std::string> texts_;
};

/// Throws FormatError where none of the examples of `of` could be read.
void require_read(const std::string& of, std::size_t examples);

}  // namespace octet
