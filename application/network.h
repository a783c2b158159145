#pragma once

#include <octet/layers/model.h>
#include <octet/train/data/dataset.h>

#include <string>

#include "options.h"

namespace octet::application {

/// The network that the options name, built for the data with weights of --seed; an MLP is called
/// `name`. Throws InvalidArgument where its training does not fit into this machine's memory, or
/// its weights into a .tflite file; command_line::UsageError as network_end().
Model make_network(const Options& options, const Dataset& data, const std::string& name);

}  // namespace octet::application
