#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet {

enum class LogLevel { trace, debug, info, warn, error, off };

/// Messages below this level are dropped. The default is info.
void set_log_level(LogLevel level);
LogLevel log_level();

/// The level named "trace", "debug", "info", "warn", "error" or "off".
/// Throws InvalidArgument for another name.
LogLevel parse_log_level(std::string_view name);

/// Where messages go instead of stderr; nullptr restores stderr. The sink must be thread-safe.
using LogSink = void (*)(LogLevel level, std::string_view message);
void set_log_sink(LogSink sink);

void log_message(LogLevel level, std::string_view message);

/// While it lives, each warning that its thread logs is also put behind `into`, whatever the log
/// level: a call returns what it has warned of.
class CollectWarnings {
 public:
  explicit CollectWarnings(std::vector<std::string>& into);
  ~CollectWarnings();
  CollectWarnings(const CollectWarnings&) = delete;
  CollectWarnings& operator=(const CollectWarnings&) = delete;

 private:
  std::vector<std::string>& into_;
  CollectWarnings* outer_;
  friend void log_message(LogLevel level, std::string_view message);
};

inline void log_debug(std::string_view message) { log_message(LogLevel::debug, message); }
inline void log_info(std::string_view message) { log_message(LogLevel::info, message); }
inline void log_warn(std::string_view message) { log_message(LogLevel::warn, message); }

}  // namespace octet
