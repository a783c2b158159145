#include <gmock/gmock.h>
#include <octet/core/profile.h>
#include <octet/tests/train/training.h>

#include <set>

namespace octet::test::profile_test {
namespace {

TEST(TrainerProfile, NamesThePhasesOfAStepByLayer) {
  const Dataset data = clouds(40);
  Sequential model = quantize_model(small_mlp());
  Profile profile;
  Trainer trainer(model, Adam(), {.batch_size = 10, .profile = &profile});
  trainer.fit(data, 2);
  std::set<std::string> names;
  double sum = 0.0;
  for (const auto& [name, seconds, count] : profile.entries()) {
    names.insert(name);
    sum += seconds;
    EXPECT_GT(count, 0U) << name;
  }
  std::set<std::string> expected = {"data", "loss", "metrics", "optimizer", "backward"};
  for (const auto& layer : model.layers()) {
    expected.insert("forward " + layer->name());
    if (layer->parameters().empty()) continue;
    expected.insert("backward " + layer->name());
    expected.insert("backward " + layer->name() + ": clamp gradient");
    for (const char* part : {"weights", "products", "requantization"}) {
      expected.insert("forward " + layer->name() + ": " + part);
    }
  }
  EXPECT_EQ(names, expected);
  EXPECT_EQ(profile.steps(), trainer.steps());
  EXPECT_LE(sum, profile.whole_seconds());
}

TEST(TrainerProfile, ChangesNoByte) {
  const Dataset data = clouds(40);
  std::vector<float> results[2];
  for (const bool measured : {false, true}) {
    Sequential model = small_mlp();
    Profile profile;
    Trainer trainer(model, Adam(), {.batch_size = 10, .profile = measured ? &profile : nullptr});
    trainer.fit(data, 2);
    for (const auto& [name, tensor] : model.parameters()) {
      results[measured ? 1 : 0].insert(results[measured ? 1 : 0].end(), tensor.span().begin(),
                                       tensor.span().end());
    }
    EXPECT_EQ(profile.entries().empty(), !measured);
  }
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace octet::test::profile_test
