#include <fmt/core.h>
#include <octet/core/plot.h>
#include <octet/report/html_text.h>

namespace octet::detail {
namespace {

std::string class_of(const Cell& cell) { return cell.number ? " class=\"number\"" : ""; }

std::string cell_html(const Cell& cell, bool is_heading) {
  const std::string value =
      cell.number ? fmt::format(" data-value=\"{:.10g}\"", *cell.number) : std::string();
  const std::string& more = cell.attributes;
  const std::string shape = more.empty() ? class_of(cell) : " " + more;
  return is_heading ? fmt::format("<th scope=\"row\">{}</th>", escaped_markup(cell.text))
                    : fmt::format("<td{}{}>{}</td>", shape, value, escaped_markup(cell.text));
}

}  // namespace

Cell number_cell(std::string text, double number) {
  return {.text = std::move(text), .number = number};
}

std::string count_text(unsigned long long count) {
  std::string digits = fmt::format("{}", count);
  for (std::size_t place = digits.size(); place > 3; place -= 3) {
    digits.insert(place - 3, "\xE2\x80\xAF");
  }
  return digits;
}

Table::Table(std::string caption, std::vector<std::string> columns, bool sortable)
    : caption_(std::move(caption)), columns_(std::move(columns)), sortable_(sortable) {}

std::string Table::html() const {
  std::string text = "<div class=\"scroll\" tabindex=\"0\"><table>\n" +
                     element("caption", caption_) + "<thead><tr>";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string name = escaped_markup(columns_[i]);
    const bool is_number = !rows_.empty() && i < rows_[0].size() && rows_[0][i].number;
    text += fmt::format("<th scope=\"col\"{}>{}</th>", is_number ? " class=\"number\"" : "",
                        sortable_ ? "<button type=\"button\">" + name + "</button>" : name);
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<Cell>& row : rows_) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) text += cell_html(row[i], i == 0);
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table></div>\n";
}

std::string element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return fmt::format("<{0}{1}{2}>{3}</{0}>\n", tag, attributes.empty() ? "" : " ", attributes,
                     escaped_markup(text));
}

}  // namespace octet::detail
