#pragma once

#include <octet/tests/train/data/idx_files.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace octet::test {

/// An .npy file of version `major`.0 with the header `text`, then `values`.
inline Bytes npy_file(const std::string& text, const Bytes& values, std::uint8_t major = 1) {
  Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(text.size() >> (8 * i)));
  }
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

/// The header that numpy.save() writes, padded so that the values begin at a multiple of 64.
inline std::string npy_header(const std::string& descr, const std::string& shape) {
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  return text + '\n';
}

template <class T>
Bytes as_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
Bytes npy_bytes(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  return npy_file(npy_header(descr, shape), as_bytes(values));
}

}  // namespace octet::test
