#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace octet::bench {

/// A table in Markdown.
class Markdown {
 public:
  explicit Markdown(const std::vector<std::string>& header) {
    add(header);
    add(std::vector<std::string>(header.size(), "---"));
  }
  void add(const std::vector<std::string>& cells) {
    text_ += fmt::format("| {} |\n", fmt::join(cells, " | "));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A figure, or a dash where it was not measured.
inline std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

inline std::string percent(std::optional<double> share, int digits) {
  return share ? fmt::format("{:.{}f} %", 100.0 * *share, digits) : "-";
}

}  // namespace octet::bench
