#include <fmt/core.h>
#include <octet/compress/bit_search.h>

#include <algorithm>
#include <tuple>

namespace octet {
namespace {

/// A field that may hold anything: names of layers are the user's.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{:.9g}", *value) : "";
}

std::string scores(const std::optional<ModelScore>& score) {
  return score ? fmt::format("{:.9g},{}", score->loss, number(score->accuracy)) : ",";
}

struct Row {
  const BitAssignment* assignment = nullptr;
  bool on_curve = false;
};

/// The curve, and what was measured beside it, by bytes.
std::vector<Row> rows_of(const BitSearch& search) {
  std::vector<Row> rows;
  rows.reserve(search.curve.size() + search.measured.size());
  for (const BitAssignment& one : search.curve) rows.push_back({&one, true});
  for (const BitAssignment& one : search.measured) {
    const auto same = [&one](const BitAssignment& other) { return other.bits == one.bits; };
    if (std::ranges::none_of(search.curve, same)) rows.push_back({&one, false});
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return std::tie(a.assignment->bytes, a.assignment->bits) <
           std::tie(b.assignment->bytes, b.assignment->bits);
  });
  return rows;
}

}  // namespace

std::string bit_curve_csv(const BitSearch& search) {
  std::string text =
      "bytes,predicted_loss,predicted_accuracy,measured_loss,measured_accuracy,on_curve,chosen";
  for (const SearchedLayer& layer : search.layers)
    text += fmt::format(",{}", csv_field(layer.name));
  text += "\n";
  for (const Row& row : rows_of(search)) {
    const BitAssignment& one = *row.assignment;
    text += fmt::format("{},{},{},{},{}", one.bytes, scores(one.predicted), scores(one.measured),
                        row.on_curve ? 1 : 0, one.bits == search.chosen.bits ? 1 : 0);
    for (const int bits : one.bits) text += fmt::format(",{}", bits);
    text += "\n";
  }
  return text;
}

}  // namespace octet
