#include <octet/octet.h>

// Trains a tiny network and exports it to the file named on the command line.
int main(int argc, char** argv) {
  using namespace octet;
  if (argc != 2) return 2;
  const DataSplit data = make_digits(0, 500, 100);
  Sequential model("tiny", Input({784}), Dense(8, Activation::relu),
                   Dense(10, Activation::softmax));
  Trainer trainer(model, Adam());
  trainer.fit(data.train, 1);
  Sequential quantized = quantize_model(model);
  Trainer qat(quantized, Adam());
  qat.fit(data.train, 1);
  qat.export_int8(argv[1]);
  return 0;
}
