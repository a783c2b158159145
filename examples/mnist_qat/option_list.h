#pragma once

#include <CLI/CLI.hpp>

#include "options.h"

namespace octet::mnist {

/// Adds the options of mnist_qat, in groups, which fill `options` when they are parsed.
void add_options(CLI::App& app, Options& options);

}  // namespace octet::mnist
