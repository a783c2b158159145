#include <gtest/gtest.h>
#include <octet/core/error.h>
#include <octet/runtime/operator_cost.h>
#include <octet/tests/runtime/conv_models.h>

namespace octet::test::operator_cost_test {
namespace {

TEST(OperatorCost, OfDenseLayers) {
  const IntegerModel model = make_mlp(1, {6, 5, 4}, true, false);
  EXPECT_EQ(operator_cost(model, 0).multiply_adds, 30);
  EXPECT_EQ(operator_cost(model, 1).multiply_adds, 20);
  EXPECT_EQ(operator_cost(model, 2).multiply_adds, 0) << "a softmax multiplies by no weights";
  // Weights of a byte, a bias of four.
  EXPECT_EQ(operator_cost(model, 0).constant_bytes, 30U + 5 * 4);
  EXPECT_EQ(operator_cost(model, 2).constant_bytes, 0U);
  EXPECT_EQ(model_cost(model).multiply_adds, 50);
  EXPECT_EQ(model_cost(model).constant_bytes, 50U + 9 * 4);
}

TEST(OperatorCost, OfEveryRowOfADenseLayer) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {7, 6}, DType::int8, quant(0.1F, 0));
  Draw draw(1);
  b.model.inputs = {x};
  b.model.outputs = {add_dense(b, x, {.units = 5}, draw)};
  EXPECT_EQ(operator_cost(b.model, 0).multiply_adds, 7 * 6 * 5);
}

TEST(OperatorCost, OfConvolutionsWithPaddingStridesAndGroups) {
  Conv conv;
  conv.image = {1, 9, 7, 6};
  conv.filter = {4, 3, 5, 3};
  conv.attributes = {.padding = Padding::same, .stride_h = 2, .stride_w = 1};
  conv.weights.assign(4 * 3 * 5 * 3, 1);
  const OperatorCost cost = operator_cost(model_of(conv), 0);
  EXPECT_EQ(cost.multiply_adds, (5 * 7 * 4) * (3 * 5 * 3)) << "5 x 7 outputs of 4 units";
  EXPECT_EQ(cost.constant_bytes, 4U * 3 * 5 * 3);
}

TEST(OperatorCost, OfDepthwiseConvolutions) {
  RawModelBuilder b;
  const std::int32_t x = b.activation("x", {1, 6, 6, 3}, DType::int8, quant(0.1F, 0));
  QuantParams grid = quant(0.01F, 0);
  grid.quantized_dimension = 3;
  const std::int32_t w = b.constant("w", {1, 3, 2, 6}, DType::int8,
                                    std::vector<std::int8_t>(std::size_t{3} * 2 * 6, 1), grid);
  const std::int32_t y = b.activation("y", {1, 4, 5, 6}, DType::int8, quant(0.1F, 0));
  b.op(OpCode::depthwise_conv_2d, {x, w}, y, DepthwiseConv2DAttributes{.depth_multiplier = 2});
  b.model.inputs = {x};
  b.model.outputs = {y};
  b.model.validate();
  EXPECT_EQ(operator_cost(b.model, 0).multiply_adds, (4 * 5 * 6) * (3 * 2));
}

TEST(OperatorCost, ASharedConstantCountsOnceInAModel) {
  IntegerModel model = make_mlp(1, {4, 4, 4}, false, false);
  model.operators[1].inputs[1] = model.operators[0].inputs[1];
  EXPECT_EQ(operator_cost(model, 1).constant_bytes, 16U + 16);
  EXPECT_EQ(model_cost(model).constant_bytes, 16U + 2 * 16);
}

TEST(OperatorCost, RefusesAnOperatorThatIsNotThere) {
  EXPECT_THROW(static_cast<void>(operator_cost(make_mlp(1, {4, 3}, false, false), 2)),
               InvalidArgument);
}

}  // namespace
}  // namespace octet::test::operator_cost_test
