#pragma once

namespace octet::detail {

/// Ignores SIGXFSZ in this process from now on, as StopSignals does while it lives: writing a file
/// past the limit (ulimit -f) then fails with an IoError that names the file.
void ignore_file_size_signal();

}  // namespace octet::detail
