#pragma once

#include <octet/tests/runtime/model_changes.h>

#include <ostream>
#include <string>
#include <vector>

namespace octet::test {

struct OperatorFault {
  Change make;
  /// A part of the message.
  std::string message;
};

/// A sound model of one operator, and its faults.
struct FaultyOperator {
  std::string name;
  IntegerModel model;
  std::vector<OperatorFault> faults;
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
inline void PrintTo(const FaultyOperator& row, std::ostream* out) { *out << row.name; }

}  // namespace octet::test
