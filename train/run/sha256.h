#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace octet {

/// The SHA-256 digest (FIPS 180-4) as 64 hexadecimal digits, as sha256sum prints it.
std::string sha256(std::span<const std::uint8_t> bytes);
std::string sha256(std::string_view text);

}  // namespace octet
