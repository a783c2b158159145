#pragma once

#include <octet/bench/report/results.h>

#include <string>

namespace octet::bench {

/// All tables as Markdown. With `with_goals`, every ratio has its goal beside it.
std::string report(const Results& results, bool with_goals);

/// The table of ratios alone.
std::string ratio_table(const Results& results, bool with_goals);

}  // namespace octet::bench
