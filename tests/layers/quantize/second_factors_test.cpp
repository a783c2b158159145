// BATCH_MATMUL reads second operands of zero point 0, whatever gives them.

#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/quantize/quantize_testing.h>

#include <functional>
#include <string>

namespace octet::test::second_factors_test {
namespace {

struct FactorCase {
  std::string name;
  std::function<void(Model&)> add;
  /// Products of two results.
  int products = 1;
  /// Whether scales are measured alone: results that are joined share a range, which cannot be
  /// learned, and those of lsq have zero point 0, which RSQRT does not take.
  bool measures = false;
};

std::vector<FactorCase> cases() {
  return {
      {"attention",
       [](Model& model) {
         const Value x = model.input({5, 6});
         model.output(model.add(MultiHeadAttention(2, 3), x));
       },
       2},
      {"layers in front, one of them clamped by the next",
       [](Model& model) {
         const Value x = model.input({5, 6});
         const Value first = model.add(Dense(4), x);
         const Value second = model.add(ReLU(), model.add(Dense(4), x));
         model.output(model.add(MatMul({.transpose_second = true}), {first, second}));
       }},
      {"behind layers that keep the scale",
       [](Model& model) {
         const Value x = model.input({5, 6});
         const Value joined = model.add(
             Concatenate(), {model.add(Dense(3, Activation::relu), x), model.add(Dense(2), x)});
         const Value turned = model.add(Permute({2, 1}), joined);
         model.output(model.add(MatMul(), {joined, turned}));
       },
       1,
       /*measures=*/true},
      {"a normalization, whose RSQRT takes another zero point",
       [](Model& model) {
         const Value x = model.input({5, 6});
         model.output(model.add(Dot({2, 2}), {x, model.add(RMSNormalization(), x)}));
       },
       1,
       /*measures=*/true},
      {"both directions of a layer, joined",
       [](Model& model) {
         const Value x = model.input({5, 6});
         const Value y = model.add(Bidirectional(GRU(3, {.return_sequences = true})), x);
         model.output(model.add(Dot({2, 2}), {x, y}));
       },
       1,
       /*measures=*/true},
      {"the model's input",
       [](Model& model) {
         const Value x = model.input({5, 6});
         const Value y = model.input({5, 6});
         model.output(model.add(Dot({2, 2}), {x, y}));
       }},
  };
}

TEST(SecondFactors, HaveZeroPointZero) {
  for (const FactorCase& one : cases()) {
    for (const Scales scales : {Scales::measured, Scales::lsq, Scales::lsq_plus, Scales::pact}) {
      if (one.measures && scales != Scales::measured) continue;
      SCOPED_TRACE(one.name + ", " + std::string(to_string(scales)));
      Model model("products");
      one.add(model);
      model.build(/*seed=*/3);
      Model quantized = quantize_model(model, {.activation_scales = scales});
      // Far from 0 in the middle.
      const std::vector<Tensor> inputs(model.input_layers().size(),
                                       Tensor::uniform({8, 5, 6}, Random(4), 0.5F, 3.0F));
      quantized.forward_all(inputs, {.mode = ForwardContext::Mode::training});
      int products = 0;
      const IntegerModel integers = lower(quantized);
      for (const Operator& op : integers.operators) {
        if (op.code != OpCode::batch_matmul) continue;
        ++products;
        const auto& second = integers.tensors[static_cast<std::size_t>(op.inputs[1])];
        EXPECT_EQ(second.quantization.zero_point(), 0) << second.name;
      }
      EXPECT_EQ(products, one.products);
    }
  }
}

}  // namespace
}  // namespace octet::test::second_factors_test
