#pragma once

#include <octet/tests/train/data/idx_files.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace octet::test {

/// `bytes` without a wrapper, as a zip holds them.
inline Bytes deflated(const Bytes& bytes) {
  const Bytes member = gzipped(bytes);
  // A gzip header of 10 bytes, and 8 of checksum and length.
  return {member.begin() + 10, member.end() - 8};
}

/// A zip of files: local headers, their bytes, then the directory. What it says of each may be made
/// wrong by a test that knows where it lies.
inline Bytes zip_bytes(const std::vector<std::pair<std::string, Bytes>>& files, bool deflate) {
  Bytes zip;
  Bytes directory;
  const auto put = [](Bytes& to, std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  const auto size = [](const auto& of) { return static_cast<std::uint32_t>(of.size()); };
  for (const auto& [name, contents] : files) {
    const Bytes packed = deflate ? deflated(contents) : contents;
    const auto crc = static_cast<std::uint32_t>(crc32(0, contents.data(), size(contents)));
    // Version, flags, method, time and date, checksum, both sizes, lengths of name and extra field.
    Bytes common;
    put(common, 20, 2);
    put(common, 0, 2);
    put(common, deflate ? 8 : 0, 2);
    put(common, 0x00210000, 4);
    put(common, crc, 4);
    put(common, size(packed), 4);
    put(common, size(contents), 4);
    put(common, size(name), 2);
    put(common, 0, 2);
    put(directory, 0x02014B50, 4);
    put(directory, 20, 2);
    directory.insert(directory.end(), common.begin(), common.end());
    // No comment, the first disk, no attributes, and where the file begins.
    for (const int bytes : {2, 2, 2, 4}) put(directory, 0, bytes);
    put(directory, size(zip), 4);
    directory.insert(directory.end(), name.begin(), name.end());
    put(zip, 0x04034B50, 4);
    zip.insert(zip.end(), common.begin(), common.end());
    zip.insert(zip.end(), name.begin(), name.end());
    zip.insert(zip.end(), packed.begin(), packed.end());
  }
  const std::uint32_t begin = size(zip);
  zip.insert(zip.end(), directory.begin(), directory.end());
  put(zip, 0x06054B50, 4);
  put(zip, 0, 4);
  for (int i = 0; i < 2; ++i) put(zip, size(files), 2);
  put(zip, size(directory), 4);
  put(zip, begin, 4);
  put(zip, 0, 2);
  return zip;
}

}  // namespace octet::test
