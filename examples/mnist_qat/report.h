#pragma once

#include <string>

#include "options.h"
#include "run.h"

namespace octet::mnist {

/// The table at the end of a run, and the exported model's input and output.
std::string final_report(const Options& options, const Results& results);

/// metrics.json; `indent` as nlohmann::json::dump takes it: -1 for one line.
std::string metrics_json(const Options& options, const Results& results, int indent);

/// The training time of an epoch in the last phase: the median over its epochs after the first
/// (the first where there is no other); 0 without epochs.
double seconds_per_epoch(const History& history);

}  // namespace octet::mnist
