#include <octet/layers/pool1d.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/layers/layer_testing.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace octet::test::pool1d_test {
namespace {

/// A pool and what it makes of the sequence [5, 2] below.
struct PoolCase {
  std::string name;
  std::function<std::unique_ptr<Layer>()> make;
  Shape shape;
  std::vector<float> expected;
};

template <class L, class... Options>
std::function<std::unique_ptr<Layer>()> maker(Options... options) {
  return [... options = std::move(options)] { return std::make_unique<L>(options...); };
}

const std::vector<PoolCase>& pool_cases() {
  const Pool1DOptions wide{.size = 3, .stride = 2, .padding = Padding::same};
  const Pool1DOptions causal{.size = 3, .stride = 2, .padding = Padding::causal};
  static const std::vector<PoolCase> cases = {
      {"MaxPairs", maker<MaxPool1D>(2), {2, 2}, {2, 7, 4, 5}},
      {"MaxSame", maker<MaxPool1D>(wide), {3, 2}, {2, 7, 4, 7, 3, 5}},
      {"AveragePairs", maker<AveragePool1D>(2), {2, 2}, {0, 4, 1, 4.5F}},
      {"AverageSame", maker<AveragePool1D>(wide), {3, 2}, {0, 4, 4.0F / 3, 16.0F / 3, 0.5F, 4}},
      {"MaxCausal", maker<MaxPool1D>(causal), {3, 2}, {0, 1, 4, 7, 4, 5}},
      {"AverageCausal",
       maker<AveragePool1D>(causal),
       {3, 2},
       {-2.0F / 3, 1.0F / 3, 4.0F / 3, 4, 5.0F / 3, 4}},
      {"GlobalMax", maker<GlobalMaxPool1D>(), {2}, {4, 7}},
      {"GlobalAverage", maker<GlobalAveragePool1D>(), {2}, {1, 4}},
  };
  return cases;
}

class Pool1DLayers : public ::testing::TestWithParam<PoolCase> {};

INSTANTIATE_TEST_SUITE_P(All, Pool1DLayers, ::testing::ValuesIn(pool_cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(Pool1DLayers, PoolEachChannelOverSteps) {
  const Tensor x = Tensor::from({1, 5, 2}, {-2, 1, 2, 7, 4, 4, -2, 5, 3, 3});
  const auto layer = GetParam().make();
  layer->build({5, 2}, Random());
  EXPECT_EQ(layer->output_shape(), GetParam().shape);
  expect_tensor(layer->forward(x, {}), GetParam().shape.with_batch(1), GetParam().expected);
}

TEST(Pool1DLayers, RefuseByName) {
  const auto refuse = [](Layer&& layer, const Shape& shape, const std::vector<std::string>& parts) {
    expect_throws<InvalidArgument>([&] { layer.build(shape, Random()); }, parts);
  };
  refuse(MaxPool1D(Pool1DOptions{.name = "pool"}), {4},
         {"MaxPool1D \"pool\"", "sequences [steps, channels]", "[4]"});
  refuse(AveragePool1D(9), {4, 2}, {"AveragePool1D", "average_pool2d"});
  refuse(AveragePool1D(0), {4, 2}, {"AveragePool1D"});
  refuse(AveragePool1D({.size = 0, .padding = Padding::causal}), {4, 2}, {"AveragePool1D"});
  refuse(MaxPool1D(Pool1DOptions{.stride = -1}), {4, 2}, {"MaxPool1D"});
  refuse(GlobalMaxPool1D(), {4, 2, 1}, {"GlobalMaxPool1D", "[4, 2, 1]"});
}

}  // namespace
}  // namespace octet::test::pool1d_test
