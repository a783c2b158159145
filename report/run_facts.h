#pragma once

#include <octet/report/report.h>

#include <filesystem>
#include <string>
#include <vector>

namespace octet {

/// Takes from a run's metrics.json (RunReport::metrics) what a report says of how it went and how
/// to repeat it: history, ranges, angles of gradients, command, the numbers and words that decided
/// the result, data and hashes, scores beside the accuracy, and what integers have over a guess.
/// Times, threads and accuracies are left out: equal runs give equal pages. Entries of other kinds
/// are passed over. Throws FormatError for text that is no such object.
void add_run_facts(const std::string& metrics_json, Report& report);

/// A .tflite file, and the C source of that name beside it where there is one, as commands take
/// them.
std::vector<std::string> files_beside(const std::filesystem::path& tflite);

/// The records as JSON arrays of objects, for metrics.json: "ranges", "oscillations" and
/// "gradient_angles".
std::string ranges_json(const std::vector<RangeRecord>& ranges);
std::string oscillations_json(const std::vector<OscillationRecord>& oscillations);
std::string gradient_angles_json(const std::vector<GradientAngle>& angles);

}  // namespace octet
