#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/csv_records.h>

#include <algorithm>

namespace octet {
namespace {

/// A quote that is never closed must not read the whole file into memory.
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 24;
constexpr std::size_t kMostColumns = std::size_t{1} << 20;

}  // namespace

std::string_view CsvField::trimmed() const {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string CsvField::value() const {
  if (!quoted) return std::string(trimmed());
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    // The second of two quotes.
    if (text[i] == '"') ++i;
  }
  return result;
}

CsvRecords::CsvRecords(const std::filesystem::path& path, char separator)
    : TextBlocks(path), separator_(separator) {
  refill();
}

CsvRecords::CsvRecords(const std::filesystem::path& path) : CsvRecords(path, ',') {
  constexpr std::string_view kOthers = ";\t";
  bool quoted = false;
  for (std::size_t i = begin_; i < buffer_.size() && (quoted || buffer_[i] != '\n'); ++i) {
    if (buffer_[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (buffer_[i] == ',') {
      separator_ = ',';
      return;
    }
    if (separator_ == ',' && kOthers.find(buffer_[i]) != std::string_view::npos) {
      separator_ = buffer_[i];
    }
  }
}

void CsvRecords::fail(std::size_t line, const std::string& what) const {
  throw FormatError(fmt::format("{}, line {}: {}", file_, line, what));
}

void CsvRecords::fail(std::size_t line, std::size_t column, const std::string& what) const {
  throw FormatError(fmt::format("{}, line {}, column {}: {}", file_, line, column, what));
}

void CsvRecords::refill() {
  if (buffer_.size() - begin_ > kMostRecordBytes) {
    fail(line_, fmt::format("expected a record of at most {} bytes; is a quote left open?",
                            kMostRecordBytes));
  }
  read_on();
}

/// From the character behind the opening quote to the one behind the closing quote.
bool CsvRecords::parse_quoted(std::size_t& at, CsvField& field) {
  const std::size_t first = at;
  for (;; at += 2) {
    const std::size_t quote = buffer_.find('"', at);
    if (quote == std::string::npos) {
      if (ended_) fail(field.line, fields_.size(), "this quote is never closed");
      return false;
    }
    const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = buffer_.begin() + static_cast<std::ptrdiff_t>(quote);
    at_line_ += static_cast<std::size_t>(std::count(from, to, '\n'));
    at = quote;
    if (at + 1 == buffer_.size() && !ended_) return false;
    if (at + 1 == buffer_.size() || buffer_[at + 1] != '"') break;
  }
  field.quoted = true;
  field.text = std::string_view(buffer_).substr(first, at - first);
  ++at;
  const bool line_ends =
      at == buffer_.size() || buffer_[at] == '\n' || buffer_.compare(at, 2, "\r\n") == 0;
  if (!line_ends && buffer_[at] == '\r' && at + 1 == buffer_.size() && !ended_) return false;
  if (!line_ends && buffer_[at] != separator_) {
    fail(at_line_, fields_.size(),
         "expected a separator or the line's end behind a quote; a quote inside a field stands "
         "twice (RFC 4180)");
  }
  if (at < buffer_.size() && buffer_[at] == '\r') ++at;
  return true;
}

bool CsvRecords::parse_plain(std::size_t& at, CsvField& field) {
  const std::size_t first = at;
  const auto is_end = [&](char c) { return c == separator_ || c == '\n' || c == '"'; };
  const auto end =
      std::find_if(buffer_.begin() + static_cast<std::ptrdiff_t>(first), buffer_.end(), is_end);
  at = static_cast<std::size_t>(end - buffer_.begin());
  if (end == buffer_.end() && !ended_) return false;
  if (end != buffer_.end() && *end == '"') {
    fail(field.line, fields_.size(),
         "found a quote inside a field; a field with quotes stands in quotes, and each of its own "
         "twice (RFC 4180)");
  }
  field.text = std::string_view(buffer_).substr(first, at - first);
  const bool line_ends = end == buffer_.end() || *end == '\n';
  if (line_ends && field.text.ends_with('\r')) field.text.remove_suffix(1);
  return true;
}

/// Parses the record at begin_ and moves behind it; false where it may go on behind the buffer.
bool CsvRecords::parse() {
  fields_.clear();
  at_line_ = line_;
  for (std::size_t at = begin_;; ++at) {
    CsvField field{.line = at_line_};
    const bool quoted = at < buffer_.size() && buffer_[at] == '"';
    if (quoted) ++at;
    if (!(quoted ? parse_quoted(at, field) : parse_plain(at, field))) return false;
    fields_.push_back(field);
    if (fields_.size() > kMostColumns) {
      fail(at_line_, fmt::format("expected at most {} columns", kMostColumns));
    }
    if (at < buffer_.size() && buffer_[at] == separator_) continue;
    line_ = at_line_ + (at < buffer_.size() ? 1 : 0);
    begin_ = std::min(at + 1, buffer_.size());
    return true;
  }
}

bool CsvRecords::next() {
  while (begin_ < buffer_.size() || !ended_) {
    if (!parse()) {
      refill();
      continue;
    }
    const bool empty = fields_.size() == 1 && !fields_[0].quoted && fields_[0].text.empty();
    if (!empty) return true;
  }
  return false;
}

}  // namespace octet
