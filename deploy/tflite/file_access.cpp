#include <octet/deploy/tflite/file_access.h>

#include <vector>

namespace octet::detail {
namespace {

constexpr std::size_t kAlignment = 16;

/// Calls read(file) where the bytes lie as the numbers in them have to.
void with_aligned(std::span<const std::uint8_t> bytes,
                  FunctionRef<void(const tflite::Model&)> read) {
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      !tflite::ModelBufferHasIdentifier(bytes.data())) {
    fail_tflite("no TFL3 identifier: this is no .tflite file");
  }
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!tflite::VerifyModelBuffer(verifier)) {
    fail_tflite("the FlatBuffer is damaged or cut short");
  }
  read(*tflite::GetModel(bytes.data()));
}

}  // namespace

void with_tflite(std::span<const std::uint8_t> bytes,
                 FunctionRef<void(const tflite::Model&)> read) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0) {
    return with_aligned(bytes, read);
  }
  // FlatBuffers read numbers in place, aligned as in the file.
  with_aligned(std::vector<std::uint8_t>(bytes.begin(), bytes.end()), read);
}

}  // namespace octet::detail
