#include <octet/core/archive.h>
#include <octet/core/file.h>
#include <octet/layers/architecture.h>
#include <octet/layers/dropout.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/layers/layer_testing.h>

#include <filesystem>

namespace octet::test::save_load_test {
namespace {

class SaveLoad : public ::testing::Test {
 protected:
  SaveLoad()
      : path_(std::filesystem::temp_directory_path() /
              ("octet_save_load_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {}
  ~SaveLoad() override { std::filesystem::remove(path_); }

  static Sequential model(std::uint64_t seed, Index units = 5) {
    Sequential result("m", Input({4}), Dense(units, Activation::relu), Dense(2));
    result.build(seed);
    return result;
  }

  static Sequential quantized(std::uint64_t seed) {
    Sequential result = quantize_model(model(seed));
    result.forward(random_tensor({6, 4}, seed), training());
    result.forward(random_tensor({6, 4}, seed + 10), training());
    return result;
  }

  static std::vector<std::vector<float>> all_values(const Sequential& model) {
    std::vector<std::vector<float>> values;
    for (const auto& [name, tensor] : model.saved_tensors()) values.push_back(values_of(tensor));
    return values;
  }

  /// `target` must refuse the file with an E and stay what it is.
  template <class E>
  void expect_refused(Sequential target, const std::string& part) {
    const auto before = all_values(target);
    expect_throws<E>([&] { target.load(path_); }, {part});
    EXPECT_EQ(all_values(target), before);
  }

  std::filesystem::path path_;
};

TEST_F(SaveLoad, BringsBackParametersStateAndCounters) {
  const Sequential source = quantized(1);
  source.save(path_);
  Sequential target = quantized(2);
  ASSERT_NE(all_values(target), all_values(source));
  target.load(path_);
  EXPECT_EQ(all_values(target), all_values(source));
  const Tensor x = random_tensor({3, 4}, 9);
  EXPECT_EQ(values_of(target.forward(x)), values_of(source.forward(x)));
  for (const auto& [name, tensor] : target.parameters()) EXPECT_TRUE(tensor.requires_grad());
}

TEST_F(SaveLoad, ALoadedModelTakesTheNextBatchAsTheOriginalWould) {
  Sequential source = quantized(1);
  source.save(path_);
  Sequential target = quantize_model(model(3));
  target.load(path_);
  const Tensor batch = random_tensor({6, 4}, 30, -9.0F, 9.0F);
  source.forward(batch, training());
  target.forward(batch, training());
  EXPECT_EQ(all_values(target), all_values(source));
}

/// Not registered, so that no file can name it.
class Unregistered : public Dense {
 public:
  using Dense::Dense;
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Unregistered>(*this); }
};

TEST_F(SaveLoad, AModelThatNoFileCanDescribeIsSavedAsTensorsAlone) {
  const auto own = [](std::uint64_t seed) {
    Sequential result("m", Input({4}), Unregistered(3, Activation::none, "own"));
    result.build(seed);
    return result;
  };
  const Sequential source = own(1);
  expect_throws<InvalidArgument>(
      [&] { source.save(path_); },
      {"save", "layer \"own\"", "Unregistered", "register_layer", "save_tensors()"});
  EXPECT_FALSE(std::filesystem::exists(path_));
  source.save_tensors(path_);
  Sequential target = own(2);
  target.load(path_);
  EXPECT_EQ(all_values(target), all_values(source));
  expect_throws<FormatError>([&] { static_cast<void>(model_from_archive(Archive::read(path_))); },
                             {"tensors without their model"});
}

/// Has a state whose name looks like that of another layer's tensor.
class Slashed : public ActivationLayer {
 public:
  Slashed() : ActivationLayer(Activation::none, "a") {}
  LayerTensors tensors() const override { return {.state = {{"b/kernel", Tensor::scalar(1.0F)}}}; }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Slashed>(*this); }
};

TEST_F(SaveLoad, TensorsOfOneNameAreRefused) {
  Sequential model("m", Input({4}), Slashed(), Dense(2, Activation::none, "a/b"));
  model.build();
  expect_throws<InvalidArgument>([&] { model.save_tensors(path_); }, {"\"a/b/kernel\" twice"});
}

TEST_F(SaveLoad, RefusesAnotherArchitecture) {
  model(1).save(path_);
  expect_refused<FormatError>(model(2, 6), "dense/kernel");
  expect_refused<FormatError>(quantized(2), "quant_dense/kernel");
  Sequential renamed("m", Input({4}), Dense(5, Activation::relu, "first"), Dense(2));
  renamed.build();
  expect_refused<FormatError>(std::move(renamed), "first/kernel");
}

TEST_F(SaveLoad, RefusesAnotherArchitectureOfTheSameShapes) {
  Sequential tanh("m", Input({4}), Dense(5, Activation::tanh), Dense(2));
  tanh.build();
  tanh.save(path_);
  expect_refused<FormatError>(
      model(1),
      "layer \"dense\": expected activation \"relu\", found \"tanh\"; the file was saved "
      "from another model than \"m\"");
  const auto other = [](const QuantizeOptions& options) {
    return quantize_model(model(2), options);
  };
  other({}).save(path_);
  expect_refused<FormatError>(other({.weight_bits = 5}), "layer \"quant_dense\"");
  expect_refused<FormatError>(other({.weight_bits = 5}), "weight_bits of config 5, found 8");
  expect_refused<FormatError>(other({.rounding = Rounding::double_rounding}),
                              "rounding of options \"double\", found \"fp32\"");
  expect_refused<FormatError>(other({.simulation = Simulation::fake_quant}),
                              "simulation of options \"fake_quant\", found \"integer\"");
  // With a layer more that has no tensors.
  Sequential dropping("m", Input({4}), Dense(5, Activation::relu), Dropout(0.5F), Dense(2));
  dropping.build();
  dropping.save(path_);
  expect_refused<FormatError>(model(1), "layer \"dense_1\": expected");
}

TEST_F(SaveLoad, NeitherTheNameNorTheMarksOfAModelAreItsArchitecture) {
  model(1).save(path_);
  Sequential marked("another", Input({4}),
                    octet::quantized(Dense(5, Activation::relu), {.weight_bits = 4}),
                    in_float(Dense(2)));
  marked.build(2);
  marked.load(path_);
  EXPECT_EQ(all_values(marked), all_values(model(1)));
}

TEST_F(SaveLoad, RefusesAnArchiveWithMoreThanTheModelHas) {
  model(1).save(path_);
  Sequential shorter("m", Input({4}), Dense(5, Activation::relu));
  shorter.build();
  expect_refused<FormatError>(std::move(shorter), "more layers");
}

TEST_F(SaveLoad, RefusesABrokenFile) {
  model(1).save(path_);
  std::vector<std::uint8_t> bytes = read_file(path_);
  bytes[bytes.size() - 3] ^= 0x10U;
  write_file_atomic(path_, bytes);
  expect_refused<FormatError>(model(2), path_.string());
  bytes.resize(bytes.size() / 2);
  write_file_atomic(path_, bytes);
  expect_refused<FormatError>(model(2), path_.string());
  std::filesystem::remove(path_);
  expect_refused<IoError>(model(2), path_.string());
}

TEST_F(SaveLoad, NeedsTensorsToLoadInto) {
  model(1).save(path_);
  Sequential unbuilt("m", Input({4}), Dense(5, Activation::relu), Dense(2));
  expect_error([&] { unbuilt.load(path_); }, "load: model \"m\"");
}

}  // namespace
}  // namespace octet::test::save_load_test
