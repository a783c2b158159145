#pragma once

#include <fmt/core.h>
#include <octet/core/error.h>

#include <cstddef>
#include <utility>

namespace octet::detail {

template <class... Args>
[[noreturn]] void fail_tflite(fmt::format_string<Args...> text, Args&&... args) {
  throw FormatError(".tflite: " + fmt::format(text, std::forward<Args>(args)...));
}

/// Thrown where parts add up to much more than the file, which ends reading altogether.
class BudgetSpent : public FormatError {
 public:
  using FormatError::FormatError;
};

/// Parts of a FlatBuffer may share bytes, so that a small file can name a huge model. Everything
/// that is copied is counted, and may not add up to much more than the file.
class Budget {
 public:
  explicit Budget(std::size_t file_bytes) : left_(16 * file_bytes + (std::size_t{1} << 16U)) {}

  /// For an allocation of so many bytes.
  void take(std::size_t bytes) {
    // What an allocation takes besides.
    constexpr std::size_t kEach = 32;
    if (bytes == 0) return;
    if (bytes > left_ || kEach > left_ - bytes) {
      throw BudgetSpent(".tflite: its parts share bytes and add up to much more than the file");
    }
    left_ -= bytes + kEach;
  }

 private:
  std::size_t left_;
};

}  // namespace octet::detail
