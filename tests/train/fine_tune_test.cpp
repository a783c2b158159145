#include <octet/core/error.h>
#include <octet/layers/layers.h>
#include <octet/tests/train/training.h>
#include <octet/train/fine_tune.h>

namespace octet::test::fine_tune_test {
namespace {

Model with_softmax_behind() {
  Model model("net");
  Value x = model.input({6}, "x");
  x = model.add(BatchNorm({.name = "norm"}), model.add(Dense(8, Activation::relu, "body"), x));
  model.output(model.add(Softmax(), model.add(Dense(3, Activation::none, "head"), x)));
  model.build(1);
  return model;
}

std::vector<float> values_of(const Model& model, std::string_view name) {
  for (const auto& [own, tensor] : model.saved_tensors()) {
    if (own == name) return {tensor.span().begin(), tensor.span().end()};
  }
  return {};
}

TEST(FineTune, KeepsAllButTheLastDenseLayer) {
  for (const bool is_chain : {false, true}) {
    const Model trained = is_chain ? Model(small_mlp()) : with_softmax_behind();
    const FineTuned found = with_new_head(trained, 5, 3);
    EXPECT_EQ(found.model.output_shape(), (Shape{5}));
    const std::string body = is_chain ? "dense" : "body";
    EXPECT_EQ(found.loaded.front(), body);
    EXPECT_EQ(values_of(found.model, body + "/kernel"), values_of(trained, body + "/kernel"));
    EXPECT_FALSE(values_of(found.model, body + "/kernel").empty());
    EXPECT_EQ(values_of(found.model, found.head + "/bias").size(), 5U);
    // The seed draws the head alone.
    EXPECT_EQ(bytes_of(with_new_head(trained, 5, 3).model), bytes_of(found.model));
    EXPECT_NE(bytes_of(with_new_head(trained, 5, 4).model), bytes_of(found.model));
  }
  EXPECT_EQ(with_new_head(with_softmax_behind(), 2, 0).loaded,
            (std::vector<std::string>{"body", "norm"}));
}

TEST(FineTune, FrozenLayersStayAsTheyAre) {
  const Dataset data = clouds(60);
  FineTuned tuned = with_new_head(with_softmax_behind(), 3, 0);
  EXPECT_EQ(freeze_layers(tuned.model, {"bo*", "norm"}),
            (std::vector<std::string>{"body", "norm"}));
  const std::vector<float> body = values_of(tuned.model, "body/kernel");
  const std::vector<float> head = values_of(tuned.model, "head/kernel");
  Trainer trainer(tuned.model, Adam(0.01F), {.batch_size = 16});
  trainer.fit(data, 1);
  EXPECT_EQ(values_of(tuned.model, "body/kernel"), body);
  EXPECT_NE(values_of(tuned.model, "head/kernel"), head);
}

TEST(FineTune, SaysWhatItCannotReplace) {
  Sequential ends_in_norm("net", Input({6}), Dense(3), BatchNorm());
  ends_in_norm.build(0);
  expect_mentions(message_of<InvalidArgument>([&] { with_new_head(ends_in_norm, 2, 0); }),
                  "expected a model that ends in a Dense layer");
  expect_mentions(
      message_of<InvalidArgument>([&] { with_new_head(quantize_model(small_mlp()), 2, 0); }),
      "with_new_head");
  Model model = small_mlp();
  expect_mentions(message_of<InvalidArgument>([&] { freeze_layers(model, {"conv"}); }),
                  "found 'conv'");
  expect_mentions(message_of<InvalidArgument>([&] { freeze_layers(model, {"dense*"}); }),
                  "left to be trained");
  // A name is that of one layer; a beginning passes the new head over.
  Model named = small_mlp();
  EXPECT_EQ(freeze_layers(named, {"dense"}), (std::vector<std::string>{"dense"}));
  FineTuned tuned = with_new_head(small_mlp(), 5, 3);
  EXPECT_EQ(freeze_layers(tuned.model, {"dense*"}, tuned.head),
            (std::vector<std::string>{"dense"}));
  for (const auto& [name, words] :
       {std::pair{tuned.head, "the new last layer"}, std::pair{tuned.head + "*", "and *, found"}}) {
    expect_mentions(message_of<InvalidArgument>(
                        [&tuned, one = name] { freeze_layers(tuned.model, {one}, tuned.head); }),
                    words);
  }
}

}  // namespace
}  // namespace octet::test::fine_tune_test
