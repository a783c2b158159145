#include <octet/core/error.h>
#include <octet/train/data/wav_folder.h>

namespace octet {

bool reads_sounds() { return false; }

Sound read_wav(const std::filesystem::path& path, std::size_t most) {
  return read_wav(path, [most](int /*rate*/) { return most; });
}

Sound read_wav(const std::filesystem::path& /*path*/,
               FunctionRef<std::size_t(int rate)> /*most_at*/) {
  throw InvalidArgument(
      "this build of Octet reads no WAV files: configure it with -DOCTET_SOUNDS=ON, which needs "
      "libsndfile1-dev");
}

}  // namespace octet
