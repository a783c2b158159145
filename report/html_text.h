#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Tables and texts of a page.

namespace octet::detail {

/// One cell: text, and the number that it is sorted by where the text is not that.
struct Cell {
  std::string text;
  std::optional<double> number{};
  /// Further attributes of the cell, not escaped.
  std::string attributes{};
};

Cell number_cell(std::string text, double number);
/// "1 234 567", with thin spaces that do not break.
std::string count_text(unsigned long long count);

/// A table with a caption; the first cell of a row is its heading.
class Table {
 public:
  Table(std::string caption, std::vector<std::string> columns, bool sortable = false);
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  std::string html() const;

 private:
  std::string caption_;
  std::vector<std::string> columns_;
  bool sortable_;
  std::vector<std::vector<Cell>> rows_;
};

/// "<tag>text</tag>\n", the text escaped.
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");

}  // namespace octet::detail
