#pragma once

namespace octet::detail {

/// Seconds on a clock that is never set back, from a moment that does not change while a program
/// runs.
double clock_seconds();

}  // namespace octet::detail
