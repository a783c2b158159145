#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/train/run/sha256.h>
#include <openssl/evp.h>

#include <array>

namespace octet {

std::string sha256(std::span<const std::uint8_t> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw Error("SHA-256: OpenSSL cannot compute it");
  }
  return fmt::format("{:02x}", fmt::join(std::span(digest).first(size), ""));
}

std::string sha256(std::string_view text) {
  return sha256(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace octet
