#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// "; did you mean NAME?" with the one of `names` that takes the fewest letters to be added,
/// removed, replaced or swapped with the next, where those are few for the length of `word`, and
/// fewer than it has; else nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace octet
