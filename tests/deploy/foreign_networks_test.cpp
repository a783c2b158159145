// The int8 networks of MLPerf Tiny, which others made: keyword spotting, visual wake words, image
// classification, anomaly detection. OCTET_MLPERF_DIR names a folder with their .tflite files.

#include <gtest/gtest.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/runtime/naive.h>

#include <set>

namespace octet::test::foreign_networks_test {
namespace {

std::vector<IntegerModel> foreign_networks() {
  const char* folder = std::getenv("OCTET_MLPERF_DIR");
  if (folder == nullptr || *folder == '\0') return {};
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".tflite") files.insert(entry.path());
  }
  std::vector<IntegerModel> models;
  for (const auto& file : files) models.push_back(read_tflite(file));
  return models;
}

Bytes random_samples(const IntegerModel& model, std::size_t count, Draw& draw) {
  const auto& input = model.tensors[static_cast<std::size_t>(model.inputs[0])];
  return to_bytes(random_codes(static_cast<std::size_t>(input.size()) * count, draw));
}

TEST(ForeignNetworks, AreReadAndWrittenAgain) {
  const auto models = foreign_networks();
  if (models.empty()) GTEST_SKIP() << "OCTET_MLPERF_DIR is not set";
  EXPECT_EQ(models.size(), 4U);
  Draw draw(1);
  for (const IntegerModel& model : models) {
    const Bytes samples = random_samples(model, 3, draw);
    const IntegerModel again = from_tflite(to_tflite(model));
    for (const Rounding rounding : kContracts) {
      EXPECT_EQ(interpreted({again, rounding, samples}), interpreted({model, rounding, samples}));
    }
  }
}

TEST(ForeignNetworks, CostWhatTheirAuthorsState) {
  const auto models = foreign_networks();
  if (models.empty()) GTEST_SKIP() << "OCTET_MLPERF_DIR is not set";
  std::vector<std::int64_t> found;
  for (const IntegerModel& model : models) found.push_back(model_cost(model).multiply_adds);
  // Anomaly detection, keyword spotting, image classification, visual wake words.
  EXPECT_EQ(found, (std::vector<std::int64_t>{264192, 2656768, 12501632, 7489664}));
}

/// Half of the network for visual wake words.
TEST(ForeignNetworks, LoseUnitsThatNoOutputDependsOnAndNoByte) {
  const auto models = foreign_networks();
  if (models.empty()) GTEST_SKIP() << "OCTET_MLPERF_DIR is not set";
  Draw draw(3);
  for (const Rounding rounding : kContracts) {
    std::vector<std::int64_t> left;
    for (IntegerModel model : models) {
      const Bytes samples = random_samples(model, 5, draw);
      const Bytes expected = interpreted({model, rounding, samples});
      model.metadata["octet.rounding"] = to_string(rounding);
      prune_constant_units(model);
      left.push_back(model_cost(model).multiply_adds);
      EXPECT_EQ(interpreted({model, rounding, samples}), expected);
    }
    EXPECT_EQ(left, (std::vector<std::int64_t>{264192, 2656768, 12501632, 3727313}));
  }
}

TEST_F(CompiledC, ForeignNetworksEqualTheInterpreter) {
  const auto models = foreign_networks();
  if (models.empty()) GTEST_SKIP() << "OCTET_MLPERF_DIR is not set";
  std::vector<CCase> cases;
  Draw draw(2);
  for (const IntegerModel& model : models) {
    for (const Rounding rounding : {Rounding::fp32, Rounding::double_rounding}) {
      cases.push_back({model, rounding, random_samples(model, 5, draw)});
    }
  }
  const CDriver driver(std::move(cases));
  for (const std::string& compiler : c_compilers()) {
    EXPECT_EQ(driver.differing(compiler, joined(kStrict, {"-std=c99", "-O0"})), 0U);
    EXPECT_EQ(driver.differing(compiler, {"-O3", "-ffast-math"}), 0U);
  }
}

}  // namespace
}  // namespace octet::test::foreign_networks_test
