// Trains a network on drawn digits, quantizes it, trains on in integers and ships the integers.
#include <fmt/core.h>
#include <octet/octet.h>

int main() {
  using namespace octet;
  const DataSplit data = make_digits(/*seed=*/0, /*train_count=*/20000, /*test_count=*/2000);

  Sequential model("digits", Input({28, 28}), Flatten(), Dense(128, Activation::relu),
                   Dense(10, Activation::softmax));
  model.build(/*seed=*/0);
  Trainer trainer(model, Adam());
  trainer.add_callback(std::make_shared<ProgressBar>(stdout));
  trainer.fit(data.train, data.test, /*epochs=*/3);

  Sequential quantized = quantize_model(model);
  Trainer qat(quantized, Adam(1e-4F));
  qat.add_callback(std::make_shared<ProgressBar>(stdout));
  qat.fit(data.train, data.test, /*epochs=*/1);
  qat.export_int8("digits_int8.tflite");
  fmt::print("{}", quantized.summary());

  Interpreter interpreter(read_tflite("digits_int8.tflite"));
  const Labels shipped = interpreter.predict(data.test.features(0, data.test.size()).span());
  const Labels trained = qat.predict(data.test.features(0, data.test.size()));
  fmt::print("the file and the trained model agree on all images: {}\n", shipped == trained);
  return shipped == trained ? 0 : 1;
}
