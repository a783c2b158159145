#include "network.h"

#include <fmt/core.h>
#include <octet/command_line/parse.h>
#include <octet/core/error.h>
#include <octet/examples/networks/networks.h>
#include <unistd.h>

#include <algorithm>

#include "task.h"

namespace octet::application {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
/// What a .tflite file may hold.
constexpr double kMostFileBytes = 2.0 * kGiB;

/// A machine that does not say gets the benefit of the doubt.
double memory_bytes() {
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return pages > 0.0 && page > 0.0 ? pages * page : 1e30;
}

/// Weights, gradients and Adam's moments, and a batch of activations, have to fit into this
/// machine's memory, and the weights into a .tflite file. Throws InvalidArgument. `values` are what
/// the layers make of an example.
void check_memory(double parameters, double values, std::size_t batch) {
  // Floats: a weight with its gradient and two moments; a value with its gradient.
  const double needed =
      sizeof(float) * (4.0 * parameters + 2.0 * values * static_cast<double>(batch));
  if (needed > memory_bytes()) {
    throw InvalidArgument(fmt::format(
        "training takes {:.1f} GiB, this machine has {:.1f}; try a smaller --hidden or --batch",
        needed / kGiB, memory_bytes() / kGiB));
  }
  if (sizeof(float) * parameters >= kMostFileBytes) {
    throw InvalidArgument(
        fmt::format("{:.0f} parameters do not fit into a .tflite file, which holds 2 GiB; try a "
                    "smaller --hidden",
                    parameters));
  }
}

}  // namespace

Model make_network(const Options& options, const Dataset& data, const std::string& name) {
  const Shape& image = data.example_shape();
  const auto [outputs, end] = network_end(data, options.task);
  const std::size_t batch = std::min(options.batch, data.size());
  double parameters = 0.0;
  double values = 0.0;
  if (options.network == kMlp) {
    // Before the weights are made, which may be too many by far.
    auto inputs = static_cast<double>(image.size());
    for (const int units : options.hidden) {
      parameters += (inputs + 1.0) * units;
      values += units;
      inputs = units;
    }
    const auto last = static_cast<double>(outputs);
    check_memory(parameters + (inputs + 1.0) * last, values + last, batch);
    Model model = networks::mlp(image, options.hidden, outputs,
                                {.batch_norm = options.batch_norm,
                                 .dropout = options.dropout,
                                 .input_dropout = options.input_dropout,
                                 .end = end,
                                 .name = name});
    model.build(options.seed);
    return model;
  }
  if (image.rank() == 1) {
    throw command_line::UsageError(
        fmt::format("--network {}: expected images or sequences, found examples {} of numbers in a "
                    "row, which --network mlp takes",
                    options.network, image.to_string()));
  }
  Model model = networks::classifier(options.network).make(image, outputs, end);
  model.build(options.seed);
  for (const NamedTensor& tensor : model.parameters()) {
    parameters += static_cast<double>(tensor.tensor.size());
  }
  for (const auto& layer : model.layers()) {
    values += static_cast<double>(layer->output_shape().size());
  }
  check_memory(parameters, values, batch);
  return model;
}

}  // namespace octet::application
