#pragma once

#include <octet/train/data/text_blocks.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace octet {

/// The lines of a text file, plain or gzipped, one after the other. They end in CR LF or LF, the
/// last one perhaps in nothing.
class TextLines : TextBlocks {
 public:
  /// Throws IoError where the file cannot be read.
  explicit TextLines(const std::filesystem::path& path) : TextBlocks(path) {}

  /// Moves to the next line; false after the last. Throws FormatError for a line of more than 64
  /// MiB and a gzipped file of more than 1 GiB.
  bool next();
  /// The line without its end; valid until next().
  std::string_view line() const { return line_; }
  /// Counted from 1.
  std::size_t number() const { return number_; }
  const std::string& file() const { return file_; }

  /// Throws FormatError: `what`, in this line.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  void refill();

  std::string_view line_;
  std::size_t number_ = 0;
};

}  // namespace octet
