#pragma once

#include <octet/deploy/outline_internal.h>

#include <string_view>

#include "commands.h"

namespace octet::tools {

/// Prints what a file holds that Octet did not take, or takes as a float model to be imported: with
/// `refusal` why not, and each operator that Octet does not take with its reason.
void show_outline(const InspectOptions& options, const detail::FileOutline& outline,
                  std::string_view refusal);

}  // namespace octet::tools
