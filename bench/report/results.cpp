#include <fmt/core.h>
#include <octet/bench/report/results.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace octet::bench {

using nlohmann::json;

std::optional<Spread> spread(const Rounds& rounds) {
  if (rounds.empty()) return std::nullopt;
  std::vector<double> values;
  for (const auto& [round, value] : rounds) values.push_back(value);
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
  return Spread{median, values.front(), values.back()};
}

Rounds ratios(const Rounds& a, const Rounds& b) {
  Rounds result;
  for (const auto& [round, value] : a) {
    if (const auto other = b.find(round); other != b.end()) result[round] = value / other->second;
  }
  return result;
}

Rounds least(const Rounds& a, const Rounds& b) {
  Rounds result = a;
  for (const auto& [round, value] : b) {
    const auto [place, is_new] = result.emplace(round, value);
    if (!is_new) place->second = std::min(place->second, value);
  }
  return result;
}

Results Results::read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(json::parse(line, nullptr, false));
    if (lines.back().is_object()) continue;
    throw std::runtime_error(
        fmt::format("{}: line {} is no JSON object", file.string(), lines.size()));
  }
  return Results(std::move(lines));
}

std::vector<json> Results::matching(const json& like) const {
  const auto matches = [&like](const json& line) {
    return std::ranges::all_of(like.items(), [&line](const auto& item) {
      const auto found = line.find(item.key());
      return found != line.end() && *found == item.value();
    });
  };
  std::vector<json> result;
  std::ranges::copy_if(lines_, std::back_inserter(result), matches);
  return result;
}

Rounds Results::rounds(const json& like, const std::string& name) const {
  Rounds result;
  for (const json& line : matching(like)) {
    if (line.contains(name)) result[line.value("round", 0)] = line.at(name).get<double>();
  }
  return result;
}

std::optional<double> Results::median(const json& like, const std::string& name) const {
  const auto found = spread(rounds(like, name));
  return found ? std::optional(found->median) : std::nullopt;
}

std::optional<double> Results::largest(const json& like, const std::string& name) const {
  std::optional<double> result;
  for (const json& line : matching(like)) {
    if (line.contains(name)) result = std::max(result.value_or(0.0), line.at(name).get<double>());
  }
  return result;
}

}  // namespace octet::bench
