#pragma once

#include <octet/train/history.h>

#include <optional>
#include <string>

// What the progress bar and the log say of an epoch, a line each, without its end.

namespace octet::detail {

/// "  accuracy 98.76 %", or nothing.
std::string accuracy_cell(const std::optional<double>& share);

/// Of a quantized model after its calibration.
std::string calibrated_line(const EpochRecord& start);

/// Of so many `epochs`; 0 where that is not known.
std::string epoch_line(const EpochRecord& record, int epochs);

}  // namespace octet::detail
