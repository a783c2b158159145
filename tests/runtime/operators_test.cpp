// Every operator against its definition, on every code path of this processor.

#include <gtest/gtest.h>
#include <octet/runtime/execute.h>
#include <octet/runtime/operators/definitions.h>
#include <octet/tests/core/kernels/kernel_testing.h>
#include <octet/tests/runtime/operator_cases.h>

#include <initializer_list>

namespace octet::test::operators_test {
namespace {

std::vector<Rounding> contracts_of(const IntegerModel& model) {
  if (model.tensors[0].dtype == DType::int16) return {Rounding::q15};
  return {std::begin(kContracts), std::end(kContracts)};
}

/// Samples end to end, in each of the inputs or outputs.
void append(Values& all, const Values& sample) {
  all.resize(sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    all[i].insert(all[i].end(), sample[i].begin(), sample[i].end());
  }
}

Values prepared(const IntegerModel& model, Rounding rounding, Index batch, const Values& inputs,
                Values outputs) {
  std::vector<const std::byte*> from;
  for (const Bytes& bytes : inputs) {
    from.push_back(reinterpret_cast<const std::byte*>(bytes.data()));
  }
  std::vector<std::byte*> to;
  for (Bytes& bytes : outputs) {
    bytes.assign(bytes.size(), 0);
    to.push_back(reinterpret_cast<std::byte*>(bytes.data()));
  }
  PreparedOperators(model, rounding).run(batch, from, to);
  return outputs;
}

class Operators : public ::testing::TestWithParam<OperatorCase> {};

TEST_P(Operators, AreTheirDefinition) {
  const auto paths = available_kernels();
  Draw draw(41);
  for (int round = 0; round < GetParam().rounds; ++round) {
    SCOPED_TRACE(round);
    const DrawnOperator op = GetParam().draw(draw);
    for (const Rounding rounding : contracts_of(op.model)) {
      const Index batch = GetParam().batch > 0 ? GetParam().batch : draw.between(1, 3);
      Values inputs;
      Values expected;
      for (Index sample = 0; sample < batch; ++sample) {
        const Values x = random_inputs(op, draw);
        append(inputs, x);
        append(expected, op.naive(x, rounding));
      }
      const auto path = draw.between(0, static_cast<std::int32_t>(paths.size()) - 1);
      const Forced forced(paths[static_cast<std::size_t>(path)], draw.between(1, 3));
      ASSERT_EQ(interpreted(op.model, rounding, inputs, batch), expected) << to_string(rounding);
      ASSERT_EQ(prepared(op.model, rounding, batch, inputs, expected), expected);
    }
  }
}

TEST_P(Operators, KeepNoMoreThanTheirDefinitionsSay) {
  Draw draw(9);
  for (int round = 0; round < std::min(GetParam().rounds, 30); ++round) {
    const IntegerModel model = GetParam().draw(draw).model;
    const Operator& op = model.operators[0];
    for (const Rounding rounding : contracts_of(model)) {
      const auto kernel = detail::make_kernel({model, op, rounding});
      EXPECT_LE(kernel->bytes(), detail::kernel_bytes({model, op}));
      if (definition(op.code).multiply_adds == nullptr || op.code == OpCode::batch_matmul) continue;
      EXPECT_GE(kernel->bytes(), model.tensors[1].data.size());
    }
  }
}

/// Blocks of many rows, some of which end inside an image or a sample, and many threads.
std::vector<OperatorCase> large_cases() {
  const auto conv = [](std::vector<std::int32_t> image, std::vector<std::int32_t> filter) {
    Conv c;
    c.image = std::move(image);
    c.filter = std::move(filter);
    c.attributes.padding = Padding::same;
    c.bias.assign(static_cast<std::size_t>(c.units()), 17);
    Draw draw(2);
    const auto taps = static_cast<std::size_t>(c.filter[1] * c.filter[2] * c.filter[3]);
    c.weights = random_codes(static_cast<std::size_t>(c.units()) * taps, draw);
    return c;
  };
  const Conv narrow = conv({3, 31, 29, 1}, {5, 3, 3, 1});
  const Conv wide = conv({3, 31, 29, 40}, {5, 3, 3, 40});
  const Conv of_int16 = conv({1, 20, 21, 24}, {33, 3, 3, 24});
  const Conv depthwise_int16 = conv({1, 20, 21, 24}, {48, 3, 3, 1});
  // Two rows of outputs, of many channels each, are more sums than are made at once.
  const Conv depthwise = conv({1, 30, 40, 300}, {300, 3, 3, 1});
  // A line of 70 pixels times 3 x 90 numbers is more products than are made at once.
  Transposed transposed{.conv = conv({1, 9, 70, 5}, {90, 3, 3, 5}), .output = {18, 70}};
  transposed.conv.attributes.stride_h = 2;
  Pooling pooling;
  pooling.image = {1, 40, 40, 24};
  pooling.attributes = {.padding = Padding::same, .filter_h = 3, .filter_w = 3};
  Mean mean;
  mean.image = {1, 30, 40, 24};
  const Resize resize{.image = {1, 30, 40, 24}, .height = 60, .width = 120};
  Resize bilinear = resize;
  bilinear.code = OpCode::resize_bilinear;
  Pair pair;
  pair.first = {1, 17, 9, 40};
  pair.second = {1, 1, 1, 40};
  // Each lane has parts of its own.
  const Splitting split{.shape = {1, 6, 50}, .axis = 1, .parts = 3};
  // The depths on both sides of what floats hold.
  const auto deep = [](std::int32_t depth) {
    DrawnOperator op = drawn(largest_products(depth));
    op.inputs = [depth](Draw&) {
      const auto taps = static_cast<std::size_t>(depth);
      std::vector<std::int8_t> second(3 * taps, 127);
      // Sums of 16840455: see largest_products().
      if (depth > 258) std::fill_n(second.end() - 3, 3, std::int8_t{123});
      return Values{to_bytes(std::vector<std::int8_t>(2 * taps, -128)), to_bytes(second)};
    };
    return op;
  };
  const auto always = [](const DrawnOperator& op) { return [op](Draw&) { return op; }; };
  return {
      {"LargeConv2DOfOneChannel", 4, always(drawn_conv(narrow)), 1},
      {"LargeConv2D", 4, always(drawn_conv(wide)), 1},
      {"LargeConv2DInt16", 4, always(drawn_int16(of_int16, model_of(of_int16))), 3},
      {"LargeDepthwiseConv2D", 2, always(drawn_depthwise(depthwise)), 3},
      {"LargeDepthwiseConv2DInt16", 4,
       always(drawn_int16(depthwise_int16, depthwise_model(depthwise_int16))), 3},
      {"LargeTransposeConv", 4, always(drawn(transposed)), 3},
      {"LargePool2D", 4, always(drawn(pooling)), 5},
      {"LargeMean", 4, always(drawn(mean)), 5},
      {"LargeResizeNearestNeighbor", 2, always(drawn_resize<std::int8_t>(resize, DType::int8)), 3},
      {"LargeResizeBilinear", 2, always(drawn_bilinear<std::int8_t>(bilinear, DType::int8)), 3},
      {"LargeBinary", 6,
       [pair](Draw& draw) { return drawn(with_constant(pair, draw), /*batched=*/true); }, 5},
      {"DeepestBatchMatmulInFloats", 3, always(deep(258)), 1},
      {"BatchMatmulTooDeepForFloats", 6, always(deep(259)), 1},
      {"LargeSplit", 2, always(drawn_joined(split, split_and_join_model(split))), 1000},
  };
}

INSTANTIATE_TEST_SUITE_P(, Operators, ::testing::ValuesIn(operator_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Batched, Operators, ::testing::ValuesIn(batched_operator_cases()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Typed, Operators, ::testing::ValuesIn(typed_operator_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Large, Operators, ::testing::ValuesIn(large_cases()), case_name);

}  // namespace
}  // namespace octet::test::operators_test
