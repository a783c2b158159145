#pragma once

#include <octet/octet.h>
#include <octet/report/verdict.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "training.h"

namespace octet::application {

/// A file in --out, which rank 0 reads for all.
std::vector<std::uint8_t> file_of_run(const Options& options, const std::string& name,
                                      ProcessGroup& group);

/// Writes the page of --report, on rank 0; all ranks measure. Returns the verdict, on rank 0.
/// `float_model` is null where the trained one is not there: its checkpoint may be missing in a run
/// that is resumed. `metrics` is what the run wrote as metrics.json.
std::optional<Verdict> write_page(const Application& application, const Options& options,
                                  const Model* float_model, const Model& quantized,
                                  const DataSplit& data, const std::string& metrics,
                                  ProcessGroup& group);

}  // namespace octet::application
