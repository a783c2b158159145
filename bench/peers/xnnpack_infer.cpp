// xnnpack_infer MODEL.tflite DATA THREADS: XNNPACK's fully connected operators on int8. Prints one
// line of JSON. For the XNNPACK of Debian 12, of 2022: later ones ask for scratch memory too.

#include <fmt/format.h>
#include <octet/bench/peers/layers.h>
#include <octet/bench/timing.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <exception>

namespace {

using octet::peers::Layer;

/// XNNPACK reads a little beyond the end of its inputs.
constexpr std::size_t kMargin = 64;

void check(xnn_status status, const char* call) {
  if (status != xnn_status_success) throw std::runtime_error(fmt::format("{} failed", call));
}

class Network {
 public:
  Network(const std::vector<Layer>& layers, std::size_t images, int threads) : layers_(layers) {
    check(xnn_initialize(nullptr), "xnn_initialize");
    // Without a pool the caller's thread computes.
    if (threads > 1) pool_ = pthreadpool_create(static_cast<std::size_t>(threads));
    for (const Layer& layer : layers_) {
      const auto in = static_cast<std::size_t>(layer.in);
      const auto out = static_cast<std::size_t>(layer.out);
      const auto zero_out = static_cast<std::int8_t>(layer.zero_out);
      xnn_operator_t created = nullptr;
      check(xnn_create_fully_connected_nc_qs8(
                in, out, in, out, static_cast<std::int8_t>(layer.zero_in), layer.scale_in,
                layer.scale_weights, layer.weights.data(), layer.bias.data(), zero_out,
                layer.scale_out, layer.relu ? zero_out : std::int8_t{-128}, 127, 0, &created),
            "xnn_create_fully_connected_nc_qs8");
      operators_.push_back(created);
      outputs_.emplace_back(images * out + kMargin);
    }
  }
  ~Network() {
    for (xnn_operator_t created : operators_) xnn_delete_operator(created);
    if (pool_ != nullptr) pthreadpool_destroy(pool_);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  void run(const std::int8_t* x, std::size_t batch) {
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      check(xnn_setup_fully_connected_nc_qs8(operators_[i], batch, x, outputs_[i].data(), pool_),
            "xnn_setup_fully_connected_nc_qs8");
      check(xnn_run_operator(operators_[i], pool_), "xnn_run_operator");
      x = outputs_[i].data();
    }
  }

  std::vector<std::int8_t> output() const {
    return {outputs_.back().begin(), outputs_.back().end() - kMargin};
  }

 private:
  std::vector<Layer> layers_;
  pthreadpool_t pool_ = nullptr;
  std::vector<xnn_operator_t> operators_;
  std::vector<std::vector<std::int8_t>> outputs_;
};

std::string measure(const std::string& model, const std::string& data, int threads) {
  const auto layers = octet::peers::read_layers(model);
  const octet::Dataset images = octet::load_idx_test(data);
  std::vector<std::int8_t> input = octet::peers::codes(images, layers.front());
  input.resize(input.size() + kMargin);
  Network network(layers, images.size(), threads);
  std::string line;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{32}, images.size()}) {
    const auto timing = octet::bench::time_calls([&] { network.run(input.data(), batch); });
    line += fmt::format("\"us_b{}\": {}, ", batch, 1e6 * timing.median);
  }
  return line + fmt::format("\"acc\": {}", octet::peers::accuracy(network.output(), images));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: xnnpack_infer MODEL.tflite DATA THREADS\n");
    return 2;
  }
  try {
    fmt::print("{{{}}}\n", measure(argv[1], argv[2], std::stoi(argv[3])));
  } catch (const std::exception& error) {
    fmt::print(stderr, "xnnpack_infer: {}\n", error.what());
    return 1;
  }
  return 0;
}
