#pragma once

#include <octet/report/report.h>

#include <string>

// The parts of the page that say where it hurts.

namespace octet::detail {

/// The layers: tables, sensitivities, histograms.
std::string layers_html(const Report& report);
/// Which classes are taken for which, and the examples that changed class.
std::string classes_html(const Report& report);

}  // namespace octet::detail
