#pragma once

#include <octet/core/log.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet::test {

/// Keeps what is logged at a level or above it, while it lives.
class Logged {
 public:
  explicit Logged(LogLevel least = LogLevel::warn) {
    lines().clear();
    kept_level = least;
    set_log_sink([](LogLevel level, std::string_view message) {
      if (level >= kept_level) lines().emplace_back(message);
    });
  }
  ~Logged() { set_log_sink(nullptr); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;

  static std::vector<std::string>& lines() {
    static std::vector<std::string> kept;
    return kept;
  }

 private:
  static inline LogLevel kept_level = LogLevel::warn;
};

}  // namespace octet::test
