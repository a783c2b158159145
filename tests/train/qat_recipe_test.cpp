#include <octet/compress/layer_flash.h>
#include <octet/core/error.h>
#include <octet/layers/layers.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/train/training.h>
#include <octet/train/qat_recipe.h>

namespace octet::test::qat_recipe_test {
namespace {

constexpr float kFew = 1e-3F;
constexpr float kMany = 1e-4F;

TEST(QatRecipe, LearnsScalesOfFewBitsAtAHigherRate) {
  struct Row {
    QuantizeOptions asked;
    Scales weights;
    Scales results;
    float rate;
  };
  const auto q15 = Rounding::q15;
  for (const Row& row : std::vector<Row>{
           {{}, Scales::measured, Scales::measured, kMany},
           {{.weight_bits = 5}, Scales::measured, Scales::measured, kMany},
           {{.weight_bits = 4}, Scales::lsq, Scales::lsq, kFew},
           {{.weight_bits = 2}, Scales::lsq, Scales::lsq, kFew},
           {{.activation_bits = 5}, Scales::measured, Scales::measured, kMany},
           {{.activation_bits = 4}, Scales::lsq, Scales::lsq, kFew},
           {{.rounding = q15, .activation_bits = 16}, Scales::measured, Scales::measured, kMany},
           {{.rounding = q15, .weight_bits = 4, .activation_bits = 16},
            Scales::lsq,
            Scales::measured,
            kFew},
           {{.weight_bits = 4, .activation_scales = Scales::pact},
            Scales::lsq,
            Scales::pact,
            kFew}}) {
    const QatRecipe recipe = qat_recipe(row.asked);
    SCOPED_TRACE(to_string(recipe));
    EXPECT_EQ(recipe.quantize.weight_scales, row.weights);
    EXPECT_EQ(recipe.quantize.activation_scales, row.results);
    EXPECT_EQ(recipe.learning_rate, row.rate);
    EXPECT_EQ(recipe.quantize.weight_bits, row.asked.weight_bits);
    EXPECT_NE(default_8bit(recipe.quantize), nullptr);
  }
  EXPECT_EQ(to_string(qat_recipe({.weight_bits = 4})),
            "scales of weights lsq, of results lsq, learning rate 0.001");
}

TEST(QatRecipe, LooksAtTheLayersOfAModel) {
  Sequential model = small_mlp();
  EXPECT_EQ(qat_recipe(model).learning_rate, kMany);
  set_weight_bits(model, {{"dense", 3}});
  EXPECT_EQ(qat_recipe(model).learning_rate, kFew);
  EXPECT_EQ(qat_recipe(model).quantize.weight_scales, Scales::lsq);
  EXPECT_EQ(qat_recipe(model).quantize.weight_bits, 8);

  // What is concatenated shares a grid, which is measured: the recipe is one that can be followed.
  Model joined("joined");
  const Value x = joined.input({6});
  const Value a = joined.add(Dense(4, Activation::relu), x);
  const Value b = joined.add(Dense(3, Activation::relu), x);
  joined.output(joined.add(Dense(3, Activation::softmax), joined.add(Concatenate(), {a, b})));
  joined.build(1);
  const QatRecipe recipe = qat_recipe(joined, {.weight_bits = 4});
  EXPECT_EQ(recipe.quantize.weight_scales, Scales::lsq);
  EXPECT_EQ(recipe.quantize.activation_scales, Scales::measured);
  Model quantized = quantize_model(joined, recipe.quantize);
  const Dataset data = clouds(64, 1, 6, 3);
  const Schedule rate = cosine_decay(recipe.learning_rate, training_steps(data, 2, 32));
  EXPECT_EQ(Trainer(quantized, Adam(rate), {.batch_size = 32}).fit(data, data, 2).size(), 2U);
}

TEST(TrainingSteps, AreThoseOfATrainer) {
  const Dataset data = clouds(33);
  Sequential model = small_mlp();
  Trainer trainer(model, Sgd(), {.batch_size = 10});
  trainer.fit(data, 3);
  EXPECT_EQ(training_steps(data, 3, 10), trainer.steps());
  EXPECT_EQ(training_steps(data, 2), 2U);
  EXPECT_EQ(training_steps(data, 0), 0U);
  EXPECT_THROW(training_steps(data, -1), InvalidArgument);
  EXPECT_THROW(training_steps(data, 1, 0), InvalidArgument);
}

}  // namespace
}  // namespace octet::test::qat_recipe_test
