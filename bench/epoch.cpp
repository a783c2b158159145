// Times whole epochs of training on MNIST through the public API, and prints them as one line of
// JSON: for scripts that put another framework beside it.
#include <fmt/format.h>
#include <octet/bench/networks.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>

namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  using namespace octet;
  bool qat = false;
  bool per_channel = false;
  std::size_t batch = 128;
  int threads = 1;
  int epochs = 4;
  std::vector<Index> hidden = {256, 128};
  std::string data = std::getenv("OCTET_MNIST_DIR") ? std::getenv("OCTET_MNIST_DIR") : "";
  CLI::App app("Seconds per epoch of training, the first epoch left out.");
  app.add_flag("--qat", qat, "train in integers");
  app.add_flag("--per-channel", per_channel, "one scale per unit of a kernel");
  app.add_option("--batch", batch)->capture_default_str();
  app.add_option("--threads", threads)->capture_default_str();
  app.add_option("--epochs", epochs)->check(CLI::Range(2, 1000))->capture_default_str();
  app.add_option("--hidden", hidden)->delimiter(',')->capture_default_str();
  app.add_option("--data", data, "MNIST's four files; else OCTET_MNIST_DIR, else noise");
  CLI11_PARSE(app, argc, argv);
  try {
    set_num_threads(threads);
    const DataSplit split =
        data.empty() ? DataSplit{bench::noise(60000), bench::noise(1000)} : load_idx(data);
    const Index inputs = split.train.example_shape().size();
    Sequential model = bench::mlp(inputs, hidden);
    if (qat) model = quantize_model(model, {.per_channel = per_channel});
    const Dataset train = split.train;
    Trainer trainer(model, Adam(), {.batch_size = batch});
    std::vector<double> seconds;
    for (const EpochRecord& record : trainer.fit(train, epochs)) seconds.push_back(record.seconds);
    seconds.erase(seconds.begin());
    fmt::print(
        "{{\"model\": \"{}\", \"batch\": {}, \"threads\": {}, \"s_per_epoch\": {:.4f}, "
        "\"min\": {:.4f}, \"acc\": {:.2f}}}\n",
        qat ? "qat" : "float", batch, threads, median(seconds), *std::ranges::min_element(seconds),
        100.0 * trainer.evaluate(split.test).accuracy);
  } catch (const std::exception& error) {
    fmt::print(stderr, "octet_bench_epoch: {}\n", error.what());
    return 1;
  }
  return 0;
}
