#include <octet/core/clock.h>

#include <chrono>

namespace octet::detail {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace octet::detail
