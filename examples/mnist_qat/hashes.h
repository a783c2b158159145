#pragma once

#include <octet/train/history.h>

#include <filesystem>
#include <string>

#include "options.h"

namespace octet::mnist {

/// SHA-256, in hexadecimal digits, of what a run ends with. The same options, data and seed give
/// the same hashes.
struct Hashes {
  /// Of the exported file's bytes, as sha256sum prints it.
  std::string model;
  /// Of the last checkpoint with its times set to 0; "" where there is none.
  std::string checkpoint;
  /// Of history.csv without its columns of times.
  std::string history;
};

Hashes hashes_of(const Options& options, const History& history);

/// Of a checkpoint that run() wrote, as in Hashes. Throws IoError or FormatError.
std::string checkpoint_hash(const std::filesystem::path& path);

}  // namespace octet::mnist
