#pragma once

#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/layers/lower.h>
#include <octet/tests/train/training.h>
#include <octet/train/evaluate.h>
#include <octet/train/layer_differences.h>
#include <octet/train/load_model.h>

namespace octet::test {

/// Fails unless `trainer` taught `quantized` enough, and a checkpoint, a .tflite file and the
/// exports of that file hold what it learned to the last bit. Returns the model of the file.
inline IntegerModel expect_saved_and_shipped(const Model& quantized, const Trainer& trainer,
                                             const Dataset& test, double least_accuracy = 0.9,
                                             OnnxStyle style = OnnxStyle::exact) {
  EXPECT_GT(*trainer.history().back().test_accuracy, least_accuracy);
  EXPECT_EQ(trainer.history().back().differing_predictions, 0U);
  const ScratchDirectory scratch;
  trainer.save_checkpoint(scratch.path() / "c");
  const Model loaded = load_model(scratch.path() / "c");
  EXPECT_EQ(bytes_of(loaded), bytes_of(quantized));
  const Bytes shipped = exported_bytes(trainer);
  EXPECT_EQ(to_tflite(lower(loaded)), shipped);
  EXPECT_EQ(to_tflite(lower(Model(loaded))), shipped);
  IntegerModel read = from_tflite(shipped);
  EXPECT_EQ(evaluate(read, test).predictions, evaluate(quantized, test).predictions);
  EXPECT_EQ(compare_networks(quantized, read, test).total().differing, 0U);
  EXPECT_EQ(to_c_source(read, "own").source, to_c_source(trainer.lower(), "own").source);
  EXPECT_NO_THROW(to_onnx(read, {.style = style}));
  return read;
}

}  // namespace octet::test
