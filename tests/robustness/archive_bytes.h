#pragma once

#include <octet/tests/train/data/idx_files.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <string_view>

namespace octet::test {

/// An archive of this header and `data` zero bytes, its checksum right.
inline Bytes archive_bytes(const std::string& header, std::size_t data = 0) {
  constexpr std::string_view kMagic = "OCTETARC";
  Bytes file(kMagic.begin(), kMagic.end());
  file.insert(file.end(), {1, 0, 0, 0, 0, 0, 0, 0});
  const std::uint64_t size = header.size();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&size);
  file.insert(file.end(), bytes, bytes + sizeof(size));
  file.insert(file.end(), header.begin(), header.end());
  file.resize(file.size() + data);
  const auto sum = static_cast<std::uint32_t>(crc32_z(0, file.data() + 16, file.size() - 16));
  std::memcpy(file.data() + 12, &sum, sizeof(sum));
  return file;
}

}  // namespace octet::test
