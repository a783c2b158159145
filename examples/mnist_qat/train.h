#pragma once

#include <octet/octet.h>

#include <cstdio>

#include "options.h"

namespace octet::mnist {

/// Writes text that nobody may be there to read: what fails is kept by ferror(). Nothing on a null
/// screen.
void show(std::FILE* screen, const std::string& text);

/// Trains, quantizes, trains on and exports, with output on `screen`; the metrics as one line of
/// JSON on stdout with --json. False where a signal stopped it: it can then be resumed. All ranks
/// of the group call it; rank 0 alone prints and writes files.
/// Throws octet::Error.
bool train(const Options& options, std::FILE* screen, const StopSignals& signals,
           ProcessGroup& group);

}  // namespace octet::mnist
