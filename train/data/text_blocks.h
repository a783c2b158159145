#pragma once

#include <octet/train/data/byte_source.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace octet {

/// A text file, plain or gzipped, that a class which takes it apart reads block by block.
class TextBlocks {
 protected:
  /// Throws IoError where the file cannot be read.
  explicit TextBlocks(const std::filesystem::path& path) : file_(path.string()), source_(path) {}

  /// Drops what lies in front of begin_ and reads on, at least as much as is left: what has to be
  /// looked at anew with each block then takes time in proportion to its length. A byte-order mark
  /// is skipped. Throws FormatError for a gzipped file of more than 1 GiB, and for UTF-16.
  void read_on();

  std::string file_;
  /// What has been read and not yet taken begins at begin_.
  std::string buffer_;
  std::size_t begin_ = 0;
  /// Whether the buffer holds the end of the file.
  bool ended_ = false;

 private:
  void skip_mark();

  ByteSource source_;
  std::uint64_t inflated_ = 0;
};

}  // namespace octet
