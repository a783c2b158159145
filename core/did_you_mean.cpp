#include <fmt/core.h>
#include <octet/core/did_you_mean.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace octet {
namespace {

/// How many letters to add, remove, replace or swap with the next turn one word into the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  // Rows of the table of prefixes of `a` (rows) and `b`: the last two and the one in work.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kMostOfWord = 40;
  if (word.size() > kMostOfWord) return "";
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& name : names) {
    const std::size_t edits = edits_between(word, name);
    // Another word altogether, if every letter is another.
    if (edits >= least || edits >= word.size()) continue;
    least = edits;
    nearest = name;
  }
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace octet
