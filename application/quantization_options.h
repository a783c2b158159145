#pragma once

#include "option_adder.h"
#include "options.h"

namespace octet::application {

/// Adds the options of how a network is quantized, how ranges are found, and for which runtime and
/// size.
void add_quantization(const Adder& add, Options& options);
void add_ranges(const Adder& add, Options& options);
void add_target(const Adder& add, Options& options);

}  // namespace octet::application
