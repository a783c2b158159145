#pragma once

#include <octet/train/history.h>

#include <optional>
#include <string>

// What the progress bar and the log say of an epoch, a line each, without its end.

namespace octet::detail {

/// "  accuracy 98.76 %", or nothing.
std::string accuracy_cell(const std::optional<double>& share);

/// A line about a quantized model after its calibration. `scored_on` is what the set is called that
/// the record has scores of: "test".
std::string calibrated_line(const EpochRecord& start, const std::string& scored_on);

/// A line about an epoch, one of `epochs`; 0 where that number is not known.
std::string epoch_line(const EpochRecord& record, int epochs, const std::string& scored_on);

}  // namespace octet::detail
