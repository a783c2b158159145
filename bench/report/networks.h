#pragma once

#include <octet/bench/report/results.h>

#include <string>

namespace octet::bench {

/// The tables of the convolutional networks as Markdown: steps beside the peers, inference, growth.
/// Empty where the results hold none of them.
std::string networks_report(const Results& results);

/// Ratios of every network as bars in SVG, readable on a light and on a dark page: how many times
/// as long the quicker peer's step takes, in float and quantized, at the largest batch that was
/// measured. Throws std::runtime_error where the results hold none.
std::string networks_plot(const Results& results);

}  // namespace octet::bench
