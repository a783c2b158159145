#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace octet::bench {

/// A figure of every round of a run.
using Rounds = std::map<int, double>;

/// The middle of a figure's rounds, and the lowest and the highest.
struct Spread {
  double median;
  double least;
  double largest;
};

/// None of no rounds.
std::optional<Spread> spread(const Rounds& rounds);

/// a / b, round by round, where both have the round: what ran next to each other is compared.
Rounds ratios(const Rounds& a, const Rounds& b);

/// The smaller of both in each round; one alone where the other has not the round.
Rounds least(const Rounds& a, const Rounds& b);

/// The lines of JSON that scripts/bench.sh collects.
class Results {
 public:
  explicit Results(std::vector<nlohmann::json> lines) : lines_(std::move(lines)) {}
  /// Throws std::runtime_error that names the line where one is no JSON object.
  static Results read(const std::filesystem::path& file);

  /// The lines that hold every member of `like`, in order.
  std::vector<nlohmann::json> matching(const nlohmann::json& like) const;
  /// Field `name` of those that have it, by their "round" (0 where they say none).
  Rounds rounds(const nlohmann::json& like, const std::string& name) const;
  /// The middle of it.
  std::optional<double> median(const nlohmann::json& like, const std::string& name) const;
  /// The largest of it.
  std::optional<double> largest(const nlohmann::json& like, const std::string& name) const;

 private:
  std::vector<nlohmann::json> lines_;
};

}  // namespace octet::bench
