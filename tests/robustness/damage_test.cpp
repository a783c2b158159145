// Small files of every kind, cut at every byte and with every bit flipped, each through its fuzz
// target: a clean error, or a result where the bit was data. A case that takes too long ends the
// program.

#include <gtest/gtest.h>
#include <octet/core/file.h>
#include <octet/tests/fuzz/targets.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

namespace octet::test {
namespace {

constexpr unsigned kSecondsPerCase = 10;

extern "C" void too_slow(int /*signal*/) {
  constexpr std::string_view text = "a case took longer than its time limit\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(1);
}

class Damage : public testing::TestWithParam<const char*> {
 protected:
  Damage() {
    std::signal(SIGALRM, too_slow);
    const std::string_view name = GetParam();
    file_ = read_file(std::filesystem::path(OCTET_FUZZ_CORPUS) / name);
    for (const fuzz::Target& target : fuzz::kTargets) {
      if (name.substr(0, name.find('/')) == target.name) run_ = target.run;
    }
  }
  ~Damage() override { std::signal(SIGALRM, SIG_DFL); }

  void run(std::span<const std::uint8_t> bytes) const {
    ::alarm(kSecondsPerCase);
    // In memory of its own, so that a sanitizer sees reading past the end.
    run_(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
    ::alarm(0);
  }

  std::vector<std::uint8_t> file_;
  void (*run_)(fuzz::Data) = nullptr;
};

TEST_P(Damage, CutAtEveryByte) {
  ASSERT_NE(run_, nullptr);
  for (std::size_t size = 0; size <= file_.size(); ++size) run(std::span(file_).first(size));
}

TEST_P(Damage, EveryBitFlipped) {
  ASSERT_NE(run_, nullptr);
  for (std::size_t bit = 0; bit < 8 * file_.size(); ++bit) {
    const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
    file_[bit / 8] = static_cast<std::uint8_t>(file_[bit / 8] ^ mask);
    run(file_);
    file_[bit / 8] = static_cast<std::uint8_t>(file_[bit / 8] ^ mask);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Damage,
                         testing::Values("tflite/seed_int8", "tflite/seed_reshape",
                                         "tflite/seed_conv_2d", "idx/seed_images",
                                         "idx/seed_images_gz", "dataset/seed_gz",
                                         "dataset/seed_plain", "checkpoint/seed_quantized"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace octet::test
