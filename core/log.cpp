#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <utility>

namespace octet {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 6> kLevels = {
    {{"trace", LogLevel::trace},
     {"debug", LogLevel::debug},
     {"info", LogLevel::info},
     {"warn", LogLevel::warn},
     {"error", LogLevel::error},
     {"off", LogLevel::off}}};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  throw InvalidArgument(
      fmt::format("a LogLevel outside the enumeration: {}", static_cast<int>(level)));
}

std::atomic<LogLevel> current_level{LogLevel::info};
std::atomic<LogSink> current_sink{nullptr};
/// The innermost of this thread; null where there is none.
thread_local CollectWarnings* collectors = nullptr;

// Our own logger, outside spdlog's registry: a user's spdlog set-up stays untouched.
spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("octet", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_level(spdlog::level::trace);
    made.set_pattern("[octet] [%l] %v");
    return made;
  }();
  return instance;
}

}  // namespace

void set_log_level(LogLevel level) {
  static_cast<void>(to_spdlog(level));  // Throws outside the enumeration.
  current_level.store(level);
}

LogLevel log_level() { return current_level.load(); }

LogLevel parse_log_level(std::string_view name) {
  for (const auto& [known, level] : kLevels) {
    if (known == name) return level;
  }
  throw InvalidArgument(fmt::format(
      "log level: expected trace, debug, info, warn, error or off, found \"{}\"", name));
}

void set_log_sink(LogSink sink) { current_sink.store(sink); }

CollectWarnings::CollectWarnings(std::vector<std::string>& into)
    : into_(into), outer_(std::exchange(collectors, this)) {}

CollectWarnings::~CollectWarnings() { collectors = outer_; }

void log_message(LogLevel level, std::string_view message) {
  if (level == LogLevel::warn) {
    for (auto* each = collectors; each != nullptr; each = each->outer_) {
      each->into_.emplace_back(message);
    }
  }
  if (level < log_level() || level == LogLevel::off) return;
  if (const LogSink sink = current_sink.load()) {
    sink(level, message);
    return;
  }
  logger().log(to_spdlog(level), printable_lines(message));
}

}  // namespace octet
