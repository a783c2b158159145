#include <algorithm>
#include <array>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <octet/tests/core/quant/vector_ops.h>

namespace octet::test::vectors_test {
namespace {

// Run by layers_tests and, what an operator alone computes, by runtime's tests.
const std::array<std::string, 7> kOfHigherRooms{
    "add",         "average_pool_2d", "conv_2d",        "depthwise_conv_2d",
    "max_pool_2d", "qat_layer",       "quantizer_state"};

bool contains(std::span<const std::string> list, const std::string& op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

std::map<std::string, VectorRunner> all_runners() {
  std::map<std::string, VectorRunner> runners = fake_quant_runners();
  runners.merge(arithmetic_runners());
  runners.merge(operator_runners());
  return runners;
}

std::vector<Vector> vectors_of_room() {
  std::vector<Vector> result;
  for (const Vector& vector : all_vectors()) {
    if (!contains(kOfHigherRooms, vector.op)) {
      result.push_back(vector);
    }
  }
  return result;
}

class UpstreamVector : public ::testing::TestWithParam<Vector> {};

TEST_P(UpstreamVector, Agrees) {
  const Vector& vector = GetParam();
  SCOPED_TRACE(vector.source);
  const std::map<std::string, VectorRunner> runners = all_runners();
  const auto runner = runners.find(vector.op);
  ASSERT_NE(runner, runners.end()) << "no runner for " << vector.op;
  runner->second(vector);
}

INSTANTIATE_TEST_SUITE_P(All, UpstreamVector, ::testing::ValuesIn(vectors_of_room()),
                         [](const auto& test) { return test_name(test.param); });

TEST(UpstreamVectors, AllAreThere) {
  EXPECT_EQ(all_vectors().size(), 229U);
  EXPECT_EQ(vectors_of(kOfHigherRooms).size(), 43U);
}

// The checks themselves can fail.
TEST(UpstreamVectors, AWrongNumberIsNoticed) {
  Vector vector;
  vector.expected = {{"error", "no such text"}};
  const std::vector<float> one{1.0F};
  const std::vector<float> nan{std::numeric_limits<float>::quiet_NaN()};
  for (const auto& check : std::vector<std::function<void()>>{
           [&] { expect_close(std::span<const float>(one), nlohmann::json(1.5), vector); },
           [&] { expect_close(std::span<const float>(nan), nlohmann::json(1.0), vector); },
           [&] {
             expect_close(std::span<const float>(one), nlohmann::json({1, 1}), vector);
           },
           [&] { expect_error([] {}, vector); }}) {
    ::testing::TestPartResultArray failures;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
      check();
    }
    EXPECT_EQ(failures.size(), 1);
  }
}

}  // namespace
}  // namespace octet::test::vectors_test
