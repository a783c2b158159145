#pragma once

#include "training.h"

namespace octet::application {

/// Trains as the options of `parse` say, on all ranks that mpirun has started, until it is done or
/// a signal stops it; or prints the help asked for, or what is wrong with the command line. `parse`
/// may throw. Returns the exit code: 0; 128 and the signal; 2 for a wrong command line; 1 for what
/// failed.
int run(const Application& application, int argc, char** argv,
        const std::function<ParsedOptions()>& parse);

}  // namespace octet::application
