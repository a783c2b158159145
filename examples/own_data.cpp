// Trains on two CSV files, quantizes, trains on in integers, and ships C source:
// own_data TRAIN.csv TEST.csv FOLDER. The last column is the class, a number from 0; the first
// record holds the columns' names.
#include <fmt/core.h>
#include <octet/octet.h>

#include <exception>
#include <filesystem>

int main(int argc, char** argv) {
  using namespace octet;
  if (argc != 4) {
    fmt::print(stderr, "usage: own_data TRAIN.csv TEST.csv FOLDER\n");
    return 2;
  }
  try {
    const Dataset train = load_csv(argv[1]);
    const Dataset test = load_csv(argv[2], {.classes = train.classes()});
    const std::filesystem::path folder = argv[3];
    std::filesystem::create_directories(folder);

    Sequential model("own_data", Input(train.example_shape()), Dense(32, Activation::relu),
                     Dense(train.classes(), Activation::softmax));
    model.build(/*seed=*/0);
    Trainer(model, Adam(1e-2F), {.batch_size = 32}).fit(train, test, /*epochs=*/20);

    Sequential quantized = quantize_model(model);
    Trainer qat(quantized, Adam(1e-3F), {.batch_size = 32});
    qat.fit(train, test, /*epochs=*/5);
    qat.export_int8(folder / "own_data_int8.tflite");
    qat.export_c_source(folder / "own_data_int8");
    fmt::print(
        "{}: {} examples of {}, {} classes; test accuracy in float {:.2f} %, in integers {:.2f} "
        "%\n",
        train.name(), train.size(), train.example_shape().to_string(), train.classes(),
        100.0 * evaluate(model, test).accuracy, 100.0 * evaluate(qat.lower(), test).accuracy);
  } catch (const std::exception& error) {
    fmt::print(stderr, "own_data: {}\n", error.what());
    return 1;
  }
  return 0;
}
