#include "hashes.h"

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/train/checkpoint.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "run.h"

namespace octet::mnist {
namespace {

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

}  // namespace

std::string checkpoint_hash(const std::filesystem::path& path) {
  const Archive checkpoint = Archive::read(path);
  return sha256(without_times(checkpoint, {kFloatHistoryNote}).to_bytes());
}

Hashes hashes_of(const Options& options, const History& history) {
  Hashes hashes;
  hashes.model = sha256(read_file(int8_path(options)));
  if (std::filesystem::exists(checkpoint_path(options))) {
    hashes.checkpoint = checkpoint_hash(checkpoint_path(options));
  }
  hashes.history = sha256(history_csv(history, false));
  return hashes;
}

}  // namespace octet::mnist
