// examples/training_loop.cpp ends with the bytes that Trainer ends with.

#include <octet/octet.h>
#include <octet/tests/cli/process.h>

namespace octet::test::training_loop_test {
namespace {

TEST(TrainingLoopExample, EndsWithTheBytesOfTrainer) {
  const ScratchDirectory scratch;
  const ProcessResult example = run_process(
      {"/bin/sh", "-c", "cd \"$0\" && exec '" OCTET_TRAINING_LOOP "'", scratch.path().string()});
  ASSERT_EQ(example.exit_code, 0) << example.out << example.err;

  // The data, model, seeds and steps of the example.
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/10000, /*test_count=*/1000);
  Sequential model("digits", Input({28, 28}), Flatten(), Dense(64, Activation::relu),
                   Dense(10, Activation::softmax));
  Trainer(model, Adam(1e-3F), {.batch_size = 128, .seed = 0}).fit(data.train, 2);
  Sequential quantized = quantize_model(model);
  calibrate(quantized, data.train.features(0, 1000));
  Trainer trainer(quantized, Adam(1e-4F), {.batch_size = 128, .seed = 0});
  trainer.fit(data.train, 1);
  trainer.export_int8(scratch.path() / "trainer.tflite");
  EXPECT_EQ(read_file(scratch.path() / "training_loop_int8.tflite"),
            read_file(scratch.path() / "trainer.tflite"));
}

}  // namespace
}  // namespace octet::test::training_loop_test
