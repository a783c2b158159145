#pragma once

#include <stdexcept>
#include <string>

namespace octet {

/// Base of every exception that Octet throws. The message names the operation, what was expected,
/// what was found and, where there is one, the likely mistake.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something that the operation does not take: a shape, a range, an option.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file holds something other than its format promises.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused to read or write a file.
class IoError : public Error {
 public:
  using Error::Error;
};

/// Memory ran out. The message names the number of bytes, and the shape where there is one.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A number that should be finite is not: a loss, a range, a gradient.
class NumericError : public Error {
 public:
  using Error::Error;
};

}  // namespace octet
