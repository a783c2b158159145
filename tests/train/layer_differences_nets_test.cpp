#include <octet/layers/lower.h>
#include <octet/tests/layers/quantize/random_nets.h>
#include <octet/train/layer_differences.h>

namespace octet::test::layer_differences_nets_test {
namespace {

TEST(LayerDifferences, NoneOnRandomNets) {
  std::size_t layers = 0;
  for (std::uint32_t seed = 2000; seed < 2060; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNet net(seed);
    Sequential model = quantize_model(net.model(), net.options(Rounding::fp32));
    calibrate(model, net.batch(9));
    const Tensor x = net.batch(30);
    const Dataset data = Dataset::from_floats("x", x.shape().without_batch(),
                                              {x.span().begin(), x.span().end()}, Labels(30), 1);
    const NetworkDifference result = compare_networks(model, lower(model), data);
    EXPECT_GT(result.total().compared, 0U);
    EXPECT_EQ(result.total().differing, 0U);
    layers += result.layers.size();
  }
  EXPECT_GT(layers, 300U);
}

}  // namespace
}  // namespace octet::test::layer_differences_nets_test
