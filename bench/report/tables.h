#pragma once

#include <octet/bench/report/results.h>

#include <string>

namespace octet::bench {

/// All tables as Markdown. With `with_goals`, every ratio has its goal beside it.
std::string report(const Results& results, bool with_goals);

/// The table of ratios alone.
std::string ratio_table(const Results& results, bool with_goals);

/// Images a second over batch sizes, ours and the peers', a panel for each number of threads, as
/// SVG that can be read on a light and on a dark page. Throws std::runtime_error where the results
/// hold no training.
std::string plot(const Results& results);

}  // namespace octet::bench
