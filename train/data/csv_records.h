#pragma once

#include <octet/train/data/text_blocks.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// One field of a record. `text` is what the file holds, without the quotes around it.
struct CsvField {
  std::string_view text{};
  bool quoted = false;
  /// The line of the file on which it begins, from 1.
  std::size_t line = 0;

  /// The text without the spaces and tabs around it.
  std::string_view trimmed() const;
  /// What the field says: quotes that stand twice inside quotes made one; else trimmed().
  std::string value() const;
};

/// The records of a CSV file (RFC 4180), one after the other: fields between separators; one in
/// quotes may hold separators, lines' ends and quotes, which then stand twice. Lines end in CR LF
/// or LF, the last one perhaps in nothing. Empty lines are skipped, and so is a byte-order mark.
class CsvRecords : TextBlocks {
 public:
  /// Throws IoError where the file cannot be read.
  CsvRecords(const std::filesystem::path& path, char separator);
  /// Separates by commas, or where the first line has none outside of quotes by what comes first of
  /// semicolons and tabs. Throws IoError where the file cannot be read.
  explicit CsvRecords(const std::filesystem::path& path);

  /// Moves to the next record; false after the last. Throws FormatError for quotes that are out of
  /// place or left open and for records that are too long.
  bool next();
  /// The fields of the record; valid until next().
  std::span<const CsvField> fields() const { return fields_; }

  /// Throws FormatError: `what`, at a line and a column counted from 0.
  [[noreturn]] void fail(std::size_t line, const std::string& what) const;
  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& what) const;

 private:
  bool parse();
  bool parse_quoted(std::size_t& at, CsvField& field);
  bool parse_plain(std::size_t& at, CsvField& field);
  void refill();

  char separator_;
  /// The line on which begin_ lies.
  std::size_t line_ = 1;
  /// The line that parse() has come to.
  std::size_t at_line_ = 1;
  std::vector<CsvField> fields_;
};

}  // namespace octet
