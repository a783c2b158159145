#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "options.h"

namespace octet::application {

/// Adds the option that names classes, for pages.
void add_class_names(CLI::App& app, std::vector<std::string>& names);

/// Adds the options of training in float and quantized, in groups, which fill `options` when they
/// are parsed.
void add_training_options(CLI::App& app, Options& options);

/// Adds the options of `octet quantize`: those of add_training_options() but for the network and
/// training in float. Sets the defaults that differ.
void add_quantization_options(CLI::App& app, Options& options);

/// Adds the options that say what outputs are trained, or judged, with.
void add_loss_options(CLI::App& app, LossOptions& options);

/// Adds the options of a command whose --data may be named arrays, for a model of a file.
void add_array_options(CLI::App& app, Options& options);

}  // namespace octet::application
