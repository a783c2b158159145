#include <octet/core/ops/ops.h>
#include <octet/layers/architecture.h>
#include <octet/layers/slice.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::slice_test {
namespace {

TEST(Slice, TakesAPartOfAnAxis) {
  const Tensor x = Tensor::arange(12).reshape({2, 2, 3});
  const auto expect_sliced = [&](const SliceOptions& options, const Shape& result,
                                 const std::vector<float>& values) {
    const auto layer = built(Slice(options), {2, 3});
    EXPECT_EQ(layer->output_shape(), result);
    expect_tensor(layer->forward(x, {}), result.with_batch(2), values);
    const auto again = make_layer(describe_layer(*layer));
    again->build({2, 3}, Random(1));
    expect_tensor(again->forward(x, {}), result.with_batch(2), values);
  };
  expect_sliced({.begin = 1, .size = 2}, {2, 2}, {1, 2, 4, 5, 7, 8, 10, 11});
  expect_sliced({.axis = 1, .begin = 2}, {2, 1}, {2, 5, 8, 11});
  expect_sliced({.axis = 0, .begin = 1}, {1, 3}, {3, 4, 5, 9, 10, 11});
  expect_sliced({.axis = -2, .begin = 0, .size = 2}, {2, 3}, values_of(x));
  expect_sliced({.begin = 0, .size = 2, .step = 2}, {2, 2}, {0, 2, 3, 5, 6, 8, 9, 11});
  expect_sliced({.begin = 1, .size = 1, .step = 9}, {2, 1}, {1, 4, 7, 10});
}

TEST(Slice, PassesTheGradientToWhatItTook) {
  const auto layer = built(Slice({.axis = 0, .begin = 1, .size = 2}), {4, 2});
  expect_gradient([&](const std::vector<Tensor>& in) { return tanh(layer->forward(in[0], {})); },
                  {random_tensor({3, 4, 2}, 1)});
}

TEST(Slice, RefusesWhatTheInputDoesNotHave) {
  const auto refuses = [](SliceOptions options, const std::string& why) {
    options.name = "s";
    expect_error([&] { built(Slice(options), {2, 3}); }, why);
  };
  const std::string expected =
      "Slice \"s\": expected 1 to 3 elements that lie within axis 1 of examples [2, 3], found ";
  refuses({.begin = 2, .size = 2}, expected + "2 from 2 on");
  refuses({.begin = 3, .size = 1}, expected + "1 from 3 on");
  refuses({.begin = -1, .size = 1}, expected + "1 from -1 on");
  refuses({.begin = 0, .size = 0}, expected + "0 from 0 on");
  refuses({.begin = 1, .size = std::numeric_limits<Index>::max()}, expected);
  refuses({.begin = 1, .size = 2, .step = 2}, expected + "2 from 1 on in steps of 2");
  refuses({.begin = 1, .size = 2, .step = std::numeric_limits<Index>::max()}, expected);
  refuses({.begin = 1, .size = 1, .step = 0}, expected + "1 from 1 on in steps of 0");
  refuses({.axis = 2}, "Slice \"s\": expected an axis of examples [2, 3], found 2; the batch axis");
  refuses({.axis = -3}, "Slice \"s\": expected an axis of examples [2, 3], found -3");
}

/// The sum of x's three parts along its last axis, each times another power of ten.
Model parts_of(const Shape& shape, Index axis = -1) {
  Model model("m");
  const std::vector<Value> parts = model.split(model.input(shape, "x"), 3, axis, "part");
  for (const Value& part : parts) model.output(part);
  model.build();
  return model;
}

TEST(Split, GivesEqualPartsInTheirOrder) {
  const Tensor x = Tensor::arange(12).reshape({2, 6});
  const std::vector<Tensor> parts = parts_of({6}).forward_all({&x, 1});
  ASSERT_EQ(parts.size(), 3U);
  expect_tensor(parts[0], {2, 2}, {0, 1, 6, 7});
  expect_tensor(parts[1], {2, 2}, {2, 3, 8, 9});
  expect_tensor(parts[2], {2, 2}, {4, 5, 10, 11});
  const Tensor rows = x.reshape({2, 3, 2});
  expect_tensor(parts_of({3, 2}, 0).forward_all({&rows, 1})[1], {2, 1, 2}, {2, 3, 8, 9});
}

TEST(Split, OfOnePartIsTheValue) {
  Model model("m");
  model.output(model.split(model.input({6}), 1).front());
  model.build();
  const Tensor x = Tensor::arange(6).reshape({1, 6});
  expect_tensor(model.forward(x), {1, 6}, values_of(x));
}

TEST(Split, ComesBackFromItsDescription) {
  const Model model = parts_of({3, 2}, 0);
  EXPECT_EQ(model.layer("part_2").type(), "SplitPart");
  EXPECT_EQ(architecture_json(model_from_json(architecture_json(model))), architecture_json(model));
}

TEST(Split, RefusesPartsThatAreNotEqual) {
  expect_error(
      [] { parts_of({4}); },
      "SplitPart \"part_0\": expected an extent that is a multiple of 3, found 4 of axis 0 "
      "of examples [4]; a Slice takes parts of any size");
  expect_error([] { parts_of({6}, 1); },
               "SplitPart \"part_0\": expected an axis of examples [6], found 1");
  Model model("m");
  const Value x = model.input({6});
  expect_error([&] { model.split(x, 0); }, "Model \"m\": split: expected at least 1 part, found 0");
  expect_error([] { SplitPart(3, 3); }, "found part 3 of 3");
  expect_error([] { SplitPart(3, -1); }, "found part -1 of 3");
}

}  // namespace
}  // namespace octet::test::slice_test
