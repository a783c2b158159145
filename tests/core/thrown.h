#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

// What bodies throw, and in which words.

namespace octet::test {

inline void expect_mentions(const std::string& message, std::string_view part) {
  EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

/// Runs `body`, which must throw an E, and returns its message.
template <class E, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another exception: " << error.what();
    return "";
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// Runs `body`, which must throw an E whose message has every part.
template <class E, class Body>
void expect_throws(Body&& body, const std::vector<std::string>& parts) {
  const std::string message = message_of<E>(body);
  for (const std::string& part : parts) expect_mentions(message, part);
}

}  // namespace octet::test
