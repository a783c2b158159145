#pragma once

#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <string>

namespace octet::detail {

/// Counts the bytes of an export while it is made, and refuses one that is far larger than its
/// model: a file may let many operators share constants, or all tensors a long name, but an export
/// writes them out for each.
class ExportSize {
 public:
  /// `what` begins the message: "c source".
  ExportSize(const IntegerModel& model, std::string what);

  /// Throws InvalidArgument, with the numbers, where that makes more than 64 MiB and more than 16
  /// bytes for every byte of the model's constants.
  void add(std::size_t bytes);

 private:
  std::string what_;
  std::size_t operators_;
  std::size_t constants_ = 0;
  std::size_t most_ = std::size_t{64} << 20U;
  std::size_t bytes_ = 0;
};

}  // namespace octet::detail
