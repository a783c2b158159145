#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/layers/architecture.h>
#include <octet/layers/dense.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/checkpoint.h>
#include <octet/train/history.h>
#include <octet/train/load_model.h>
#include <octet/train/trainer.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

/// The file with the checksum that its bytes ask for: a fuzzer would never find it.
std::vector<std::uint8_t> with_checksum(Data input) {
  constexpr std::size_t kChecksum = 12;
  constexpr std::size_t kBody = 16;
  std::vector<std::uint8_t> file(input.begin(), input.end());
  if (file.size() < kBody) return file;
  const auto sum =
      static_cast<std::uint32_t>(::crc32_z(0, file.data() + kBody, file.size() - kBody));
  std::memcpy(file.data() + kChecksum, &sum, sizeof(sum));
  return file;
}

/// The trainer whose checkpoints are in the corpus: make_corpus.cpp has the same.
Trainer& trainer() {
  static Sequential model = [] {
    Sequential plain("tiny", Input({2}), Dense(2, Activation::relu), Dense(2, Activation::softmax));
    plain.build(1);
    return quantize_model(plain);
  }();
  static Trainer instance(model, Adam());
  return instance;
}

}  // namespace

void checkpoint(Data input) {
  static const MemoryFile file;
  const auto bytes = with_checksum(input);
  file.assign(bytes);
  Archive archive;
  try {
    archive = Archive::from_bytes(bytes, "fuzz");
    require(Archive::from_bytes(archive.to_bytes(), "again").to_bytes() == archive.to_bytes(),
            "an archive that was read can be written and read");
  } catch (const FormatError&) {
    return;
  }
  try {
    without_times(archive);
  } catch (const FormatError&) {
  }
  try {
    require(load_model(file.path()).built(), "a loaded model is built");
  } catch (const FormatError&) {
  }
  try {
    trainer().load_checkpoint(file.path());
  } catch (const FormatError&) {
  }
}

void architecture(Data input) {
  try {
    const std::string text = architecture_json(model_from_json(text_of(input)));
    require(architecture_json(model_from_json(text)) == text, "a description describes itself");
  } catch (const FormatError&) {
    return;
  }
}

void history(Data input) {
  try {
    const std::string text = history_json(parse_history(std::string(text_of(input))));
    require(history_json(parse_history(text)) == text, "a history reads back as it was");
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace octet::fuzz
