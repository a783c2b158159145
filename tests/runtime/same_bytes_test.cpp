#include <gtest/gtest.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/interpreter.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/runtime/naive.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::test::same_bytes_test {
namespace {

// What an x86-64 computed: every code path of every processor gives these bytes.

std::uint64_t fnv1a(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3U;
  return hash;
}

using SameBytes = octet::test::KernelTest;

TEST_P(SameBytes, OfAnExportedModelAndItsOutputs) {
  const octet::test::Forced forced(GetParam());
  const std::vector<std::uint8_t> file = to_tflite(make_mlp(31, {75, 40, 33, 10}, true, true));
  EXPECT_EQ(fnv1a(file), 10037209654388270358U);
  constexpr Index kBatch = 37;
  Draw draw(32);
  std::vector<float> x(75 * kBatch);
  for (float& value : x) value = draw.uniform(0.0F, 1.0F);
  const std::vector<std::uint64_t> expected = {11876633988224972634U, 11876633988224972634U,
                                               1736482902898850376U};
  std::vector<std::uint64_t> found;
  for (const Rounding rounding : kContracts) {
    const IntegerModel model = from_tflite(file);
    Interpreter interpreter(model, {rounding, kBatch, true});
    std::vector<std::uint8_t> bytes = to_bytes(run<float, float>(interpreter, x));
    // Softmax of drawn weights saturates: the codes before it say more.
    const auto last = static_cast<std::int32_t>(model.tensors.size()) - 3;
    for (const std::byte code : interpreter.tensor_bytes(last)) {
      bytes.push_back(std::to_integer<std::uint8_t>(code));
    }
    found.push_back(fnv1a(bytes));
  }
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(Isa, SameBytes, ::testing::ValuesIn(available_kernels()),
                         octet::test::isa_name);

}  // namespace
}  // namespace octet::test::same_bytes_test
