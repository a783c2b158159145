// Small files of every kind, cut at every byte and with every bit flipped, each through its fuzz
// target: a clean error, or a result where the bit was data. A case that takes too long ends the
// program.

#include <gtest/gtest.h>
#include <octet/core/file.h>
#include <octet/tests/fuzz/targets.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace octet::test::damage_test {
namespace {

constexpr unsigned kSecondsPerCase = 10;

extern "C" void too_slow(int /*signal*/) {
  constexpr std::string_view text = "a case took longer than its time limit\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(1);
}

/// A file of the corpus, and the fuzz target that reads files of its kind.
class CorpusFile {
 public:
  explicit CorpusFile(std::string_view name)
      : bytes(read_file(std::filesystem::path(OCTET_FUZZ_CORPUS) / name)) {
    for (const fuzz::Target& target : fuzz::kTargets) {
      if (name.substr(0, name.find('/')) == target.name) run_ = target.run;
    }
    if (run_ == nullptr) throw std::invalid_argument("no fuzz target for " + std::string(name));
    std::signal(SIGALRM, too_slow);
  }
  ~CorpusFile() { std::signal(SIGALRM, SIG_DFL); }
  CorpusFile(const CorpusFile&) = delete;
  CorpusFile& operator=(const CorpusFile&) = delete;

  /// Gives the target the first `size` bytes.
  void run(std::size_t size) const {
    ::alarm(kSecondsPerCase);
    // In memory of its own, so that a sanitizer sees reading past the end.
    run_(std::vector<std::uint8_t>(bytes.data(), bytes.data() + size));
    ::alarm(0);
  }

  std::vector<std::uint8_t> bytes;

 private:
  void (*run_)(fuzz::Data) = nullptr;
};

constexpr std::array kFiles = {
    "tflite/seed_int8", "tflite/seed_reshape", "tflite/seed_conv_2d", "tflite/seed_float",
    "idx/seed_images", "idx/seed_images_gz", "dataset/seed_gz", "dataset/seed_plain",
    "npy/seed_floats", "npy/seed_floats_gz", "cifar10/seed_gz", "csv/seed_labels",
    "csv/seed_quoted", "csv_data/seed_windows", "ts/seed_two", "image/seed_png", "image/seed_bmp",
    "wav/seed_two", "checkpoint/seed_quantized", "safetensors/seed_whole", "npz/seed_stored",
    "npz/seed_deflated", "onnx/seed_small", "onnx/seed_heads",
    // Of tests/interop/variants.
    "onnx/seed_pad_axes", "onnx/seed_sum_axes_input", "onnx/seed_gather_in_any_order",
    "onnx/seed_softmax_flattens", "onnx/seed_resize_axes_of_sizes", "onnx/seed_clip_inputs",
    "onnx/seed_gelu_of_erf", "onnx/seed_slice_steps_2", "onnx/seed_split_uneven", "onnx/seed_tile",
    "onnx/seed_matmul_left_constant", "onnx/seed_layer_norm_in_parts"};

std::string test_name(std::string file) {
  std::replace(file.begin(), file.end(), '/', '_');
  return file;
}

class Damage : public testing::TestWithParam<const char*> {};

TEST_P(Damage, CutAtEveryByte) {
  const CorpusFile file(GetParam());
  for (std::size_t size = 0; size <= file.bytes.size(); ++size) file.run(size);
}

INSTANTIATE_TEST_SUITE_P(Files, Damage, testing::ValuesIn(kFiles),
                         [](const auto& param) { return test_name(param.param); });

// A test for each of the eight bits of a byte: they can run side by side.
class DamagedBits : public testing::TestWithParam<std::tuple<const char*, unsigned>> {};

TEST_P(DamagedBits, FlippedInEveryByte) {
  const auto& [name, bit] = GetParam();
  CorpusFile file(name);
  const auto mask = static_cast<std::uint8_t>(1U << bit);
  // A checkpoint takes a thousand times as long as others: two bits of each of its bytes.
  const std::size_t step = std::string_view(name).starts_with("checkpoint/") ? 4 : 1;
  for (std::size_t i = bit % step; i < file.bytes.size(); i += step) {
    std::uint8_t& byte = file.bytes[i];
    byte = static_cast<std::uint8_t>(byte ^ mask);
    file.run(file.bytes.size());
    byte = static_cast<std::uint8_t>(byte ^ mask);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, DamagedBits,
                         testing::Combine(testing::ValuesIn(kFiles), testing::Range(0U, 8U)),
                         [](const auto& param) {
                           return test_name(std::get<0>(param.param)) + "_bit_" +
                                  std::to_string(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace octet::test::damage_test
