#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/tests/train/training.h>
#include <octet/train/load_model.h>

namespace octet::test::load_model_test {
namespace {

/// A layer of the program's own.
class Same : public Layer {
 public:
  explicit Same(std::string name) : Layer(std::move(name)) {}
  std::string_view type() const override { return "Same"; }
  Tensor forward_all(std::span<const Tensor> inputs, const ForwardContext& /*context*/) override {
    return inputs[0];
  }
  std::unique_ptr<Layer> clone() const override { return std::make_unique<Same>(*this); }

 protected:
  Shape result_shape(std::span<const Shape> input_shapes) const override { return input_shapes[0]; }
};

TEST(LoadModel, FromACheckpoint) {
  const ScratchDirectory scratch;
  const Dataset data = clouds(200);
  for (const Rounding rounding : {Rounding::fp32, Rounding::single_rounding}) {
    Sequential model = quantize_model(small_mlp(), {.rounding = rounding, .per_channel = true});
    Trainer trainer(model, Adam());
    trainer.fit(data, 2);
    trainer.save_checkpoint(scratch.path() / "c");
    const Sequential loaded = load_model(scratch.path() / "c");
    EXPECT_EQ(bytes_of(loaded), bytes_of(model));
    EXPECT_EQ(to_tflite(lower(loaded)), to_tflite(lower(model)));
    EXPECT_EQ(evaluate(loaded, data).predictions, evaluate(model, data).predictions);
  }
}

TEST(LoadModel, FromSavedWeights) {
  const ScratchDirectory scratch;
  const Sequential model = small_mlp(5);
  model.save(scratch.path() / "w");
  const Sequential loaded = load_model(scratch.path() / "w");
  EXPECT_EQ(bytes_of(loaded), bytes_of(model));
  // And the file is one that a model of the same layers loads, as ever.
  Sequential other = small_mlp(6);
  other.load(scratch.path() / "w");
  EXPECT_EQ(bytes_of(other), bytes_of(model));
}

TEST(LoadModel, FromTheCheckpointBeforeADamagedOne) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  const Dataset data = clouds(40);
  Sequential model = small_mlp();
  Trainer trainer(model, Adam());
  trainer.fit(data, 1);
  trainer.save_checkpoint(path);
  const Bytes first = bytes_of(model);
  trainer.fit(data, 1);
  trainer.save_checkpoint(path);
  EXPECT_EQ(bytes_of(load_model(path)), bytes_of(model));
  Bytes damaged = read_file(path);
  damaged[damaged.size() / 2] ^= 1U;
  write_file_atomic(path, damaged);
  EXPECT_EQ(bytes_of(load_model(path)), first);
  std::filesystem::remove(path);
  EXPECT_EQ(bytes_of(load_model(path)), first);
}

TEST(LoadModel, AModelIsNoCheckpointAndACheckpointNoModel) {
  const ScratchDirectory scratch;
  Sequential model = small_mlp(5);
  Trainer trainer(model, Adam());
  model.save(scratch.path() / "w");
  trainer.save_checkpoint(scratch.path() / "c");
  expect_mentions(message_of<FormatError>([&] { trainer.load_checkpoint(scratch.path() / "w"); }),
                  "a file of Model::save() is read by Model::load() or load_model()");
  expect_mentions(message_of<FormatError>([&] { model.load(scratch.path() / "c"); }),
                  "a checkpoint of a Trainer; use load_model(), or Trainer::load_checkpoint()");
}

TEST(LoadModel, ACheckpointOfAnotherArchitectureIsRefused) {
  const ScratchDirectory scratch;
  Sequential model = quantize_model(small_mlp());
  Trainer(model, Adam()).save_checkpoint(scratch.path() / "c");
  Sequential other = quantize_model(small_mlp(), {.weight_bits = 5});
  Trainer trainer(other, Adam());
  const Bytes before = bytes_of(other);
  expect_mentions(message_of<FormatError>([&] { trainer.load_checkpoint(scratch.path() / "c"); }),
                  "layer \"quant_dense\": expected weight_bits of config 5, found 8");
  EXPECT_EQ(bytes_of(other), before);
}

TEST(LoadModel, SaysWhatItCannotLoad) {
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "c";
  EXPECT_THROW(load_model(path), IoError);
  write_file_atomic(path, std::string_view("anything"));
  expect_mentions(message_of<FormatError>([&] { load_model(path); }), path.string());

  Sequential model("own", Input({6}), Same("mine"), Dense(3, Activation::softmax));
  Trainer trainer(model, Adam());
  trainer.fit(clouds(40), 1);
  trainer.save_checkpoint(path);
  expect_mentions(message_of<FormatError>([&] { load_model(path); }), "layer \"mine\"");
  const Snapshot before = snapshot_of(trainer);
  Trainer other(model, Adam());
  other.load_checkpoint(path);
  EXPECT_EQ(snapshot_of(other), before);

  // A checkpoint of before there were architectures in them.
  const Archive archive = Archive::read(path);
  Archive old;
  for (const auto& [name, tensor] : archive.tensors()) old.add(name, tensor);
  for (const char* text : {"kind", "trainer", "history", "calibrated", "notes"}) {
    old.add_text(text, archive.text(text));
  }
  old.write(path);
  expect_mentions(message_of<FormatError>([&] { load_model(path); }),
                  "tensors without their model");
  other.load_checkpoint(path);
  EXPECT_EQ(snapshot_of(other), before);
}

}  // namespace
}  // namespace octet::test::load_model_test
