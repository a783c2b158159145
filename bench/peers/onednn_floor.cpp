// onednn_floor BATCH THREADS HIDDEN,HIDDEN,...: what a training step costs at least: the time of
// oneDNN's sgemm, warm, summed over the products of a step of inputs 784, outputs 10. Prints one
// line of JSON: us_per_image, and s_per_epoch for 60,000 images.

#include <dnnl.h>
#include <fmt/format.h>
#include <octet/bench/timing.h>
#include <omp.h>

#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using octet::bench::time_calls;

constexpr double kEpochImages = 60'000;

/// Seconds of c [m, n] = a' b' over k, row-major, in the storage orders given.
double product(char a_order, char b_order, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
  const std::vector<float> a(static_cast<std::size_t>(m * k), 0.5F);
  const std::vector<float> b(static_cast<std::size_t>(k * n), 0.25F);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const auto run = [&] {
    const dnnl_status_t status =
        dnnl_sgemm(a_order, b_order, m, n, k, 1.0F, a.data(), a_order == 'N' ? k : m, b.data(),
                   b_order == 'N' ? n : k, 0.0F, c.data(), n);
    if (status != dnnl_success) throw std::runtime_error("dnnl_sgemm failed");
  };
  return time_calls(run).median;
}

/// Kernels are [out, in], as PyTorch has them.
double step(dnnl_dim_t batch, const std::vector<dnnl_dim_t>& units) {
  double seconds = 0.0;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const dnnl_dim_t in = units[i];
    const dnnl_dim_t out = units[i + 1];
    seconds += product('N', 'T', batch, out, in);
    seconds += product('T', 'N', out, in, batch);
    if (i > 0) seconds += product('N', 'N', batch, in, out);
  }
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: onednn_floor BATCH THREADS HIDDEN,HIDDEN,...\n");
    return 2;
  }
  try {
    const dnnl_dim_t batch = std::stol(argv[1]);
    omp_set_num_threads(std::stoi(argv[2]));
    std::vector<dnnl_dim_t> units = {784};
    std::istringstream hidden(argv[3]);
    for (std::string word; std::getline(hidden, word, ',');) units.push_back(std::stol(word));
    units.push_back(10);
    const double image = step(batch, units) / static_cast<double>(batch);
    fmt::print("{{\"us_per_image\": {}, \"s_per_epoch\": {}}}\n", 1e6 * image,
               kEpochImages * image);
  } catch (const std::exception& error) {
    fmt::print(stderr, "onednn_floor: {}\n", error.what());
    return 1;
  }
  return 0;
}
