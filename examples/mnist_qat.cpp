// Trains a network on MNIST in float, continues with quantization in the loop, and exports int8.
// What is MNIST's is here: where the images come from, and the network. All else, the options and
// the run, is that of `octet train`; training_run.cpp shows how a program makes a run of its own.

#include <octet/application/data.h>
#include <octet/application/network.h>
#include <octet/application/run.h>

#include <cstdlib>

namespace {

using namespace octet;

/// The examples of --data, else of OCTET_MNIST_DIR, else digits that are drawn.
DataSplit load_data(const application::Options& options) {
  if (!options.data.empty()) return application::load(options.data, options.data_options);
  const char* directory = std::getenv("OCTET_MNIST_DIR");
  if (directory != nullptr && *directory != '\0') return load_idx(directory);
  return make_digits(options.seed);
}

/// A multilayer perceptron with the layers of --hidden, or the convolutional network of --network.
Model make_model(const application::Options& options, const Dataset& train) {
  return application::make_network(options, train, "mnist");
}

}  // namespace

int main(int argc, char** argv) {
  const application::Application program{
      .name = "mnist_qat", .stem = "mnist", .load_data = load_data, .make_model = make_model};
  return application::run(program, argc, argv, [&] {
    return application::parse_options(
        program.name,
        "Trains a network on MNIST in float, continues with 8-bit quantization in the loop, and "
        "writes the integers as a .tflite file and as C source. Without --data the images are "
        "those in $OCTET_MNIST_DIR, else digits that --seed draws.",
        argc, argv);
  });
}
