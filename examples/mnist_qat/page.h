#pragma once

#include <octet/octet.h>

#include <string>

#include "options.h"

namespace octet::mnist {

/// Writes the page of --report. `float_model` is null where the trained one is not there: its
/// checkpoint may be missing in a run that is resumed. `metrics` is what the run wrote as
/// metrics.json.
void write_page(const Options& options, const Model* float_model, const Model& quantized,
                const DataSplit& data, const std::string& metrics);

}  // namespace octet::mnist
