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

/// Adds --task, and add_loss_options().
void add_task_options(CLI::App& app, Options& options);

/// Adds the options that say what outputs are trained, or judged, with.
void add_loss_options(CLI::App& app, LossOptions& options);

/// Adds --data and the options of how it is read, in a group of their own. `help` says what it is
/// for. Gives the option --data.
CLI::Option* add_data(CLI::App& app, std::string& data, DataOptions& options,
                      const std::string& help);

}  // namespace octet::application
