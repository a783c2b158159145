// Damaged files: cut at every byte, one bit changed at a time. The outcome is a FormatError or a
// model that runs, never anything else; sanitizers watch.

#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/runtime/models.h>

namespace octet::test::tflite_damage_test {
namespace {

enum class Outcome { refused, loaded, ran };

bool is_small(const IntegerModel& model) {
  std::int64_t total = 0;
  for (const ModelTensor& tensor : model.tensors) total += tensor.size();
  return total < 100000;
}

Outcome try_file(std::span<const std::uint8_t> bytes) {
  try {
    IntegerModel model = from_tflite(bytes);
    if (!is_small(model)) return Outcome::loaded;
    Interpreter(std::move(model)).invoke();
    return Outcome::ran;
  } catch (const FormatError&) {
    return Outcome::refused;
  }
}

TEST(DamagedTflite, CutAtEveryByte) {
  const auto file = to_tflite(make_mlp(1, {3, 2}, true, true));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    // A copy of its own, so that reading past the end is seen.
    const std::vector<std::uint8_t> cut(file.begin(),
                                        file.begin() + static_cast<std::ptrdiff_t>(size));
    if (try_file(cut) == Outcome::refused) ++refused;
  }
  EXPECT_GT(refused, file.size() * 9 / 10);
}

TEST(DamagedTflite, EveryBitFlipped) {
  for (const bool per_channel : {false, true}) {
    auto file = to_tflite(make_mlp(1, {3, 2}, per_channel, true));
    std::size_t refused = 0;
    std::size_t ran = 0;
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
      const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
      file[bit / 8] = static_cast<std::uint8_t>(file[bit / 8] ^ mask);
      const Outcome outcome = try_file(file);
      refused += outcome == Outcome::refused ? 1 : 0;
      ran += outcome == Outcome::ran ? 1 : 0;
      file[bit / 8] = static_cast<std::uint8_t>(file[bit / 8] ^ mask);
    }
    // Names, weights and biases may hold anything; indices, types and sizes may not.
    EXPECT_GT(refused, file.size());
    EXPECT_GT(ran, file.size());
  }
}

TEST(DamagedTflite, BytesAtRandom) {
  const auto good = to_tflite(make_mlp(2, {3, 2}, true, false));
  Draw draw(3);
  for (int round = 0; round < 3000; ++round) {
    auto file = good;
    for (int i = draw.between(1, 6); i > 0; --i) {
      const auto place =
          static_cast<std::size_t>(draw.between(8, static_cast<std::int32_t>(file.size()) - 1));
      file[place] = static_cast<std::uint8_t>(draw.between(0, 255));
    }
    try_file(file);
  }
}

}  // namespace
}  // namespace octet::test::tflite_damage_test
