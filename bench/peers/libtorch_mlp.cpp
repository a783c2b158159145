// libtorch_mlp float|qat BATCH THREADS EPOCHS DATA: the example's network in PyTorch's C++ library,
// Adam at 1e-3; qat puts the fused observer and fake quantization on weights and activations, as
// torch.ao.quantization does. Prints one line of JSON.

#include <fmt/format.h>
#include <octet/bench/timing.h>
#include <octet/train/data/idx.h>
#include <torch/torch.h>

#include <exception>
#include <limits>
#include <vector>

namespace {

using torch::Tensor;

/// x on 256 steps whose range follows x: its own least and largest value for a weight, their
/// moving averages for an activation. None of it in a float network.
class FakeQuant {
 public:
  enum class Kind { none, weight, activation };
  explicit FakeQuant(Kind kind) : kind_(kind) {}

  Tensor operator()(const Tensor& x, bool observe) {
    if (kind_ == Kind::none) return x;
    const bool weight = kind_ == Kind::weight;
    return torch::fused_moving_avg_obs_fake_quant(
        x, observe ? on_ : off_, on_, least_, largest_, scale_, zero_point_, weight ? 1.0 : 0.01,
        weight ? -128 : 0, weight ? 127 : 255, /*ch_axis=*/-1, /*per_row_fake_quant=*/false,
        /*symmetric_quant=*/weight);
  }

 private:
  Kind kind_;
  Tensor on_ = torch::ones({1}, torch::kLong);
  Tensor off_ = torch::zeros({1}, torch::kLong);
  Tensor least_ = torch::full({1}, std::numeric_limits<float>::infinity());
  Tensor largest_ = torch::full({1}, -std::numeric_limits<float>::infinity());
  Tensor scale_ = torch::ones({1});
  Tensor zero_point_ = torch::zeros({1}, torch::kInt);
};

class NetworkImpl : public torch::nn::Module {
 public:
  explicit NetworkImpl(bool quantized) {
    using Kind = FakeQuant::Kind;
    const std::vector<std::int64_t> units = {784, 256, 128, 10};
    outputs_.emplace_back(quantized ? Kind::activation : Kind::none);
    for (std::size_t i = 0; i + 1 < units.size(); ++i) {
      layers_.push_back(
          register_module(fmt::format("dense{}", i), torch::nn::Linear(units[i], units[i + 1])));
      weights_.emplace_back(quantized ? Kind::weight : Kind::none);
      outputs_.emplace_back(quantized ? Kind::activation : Kind::none);
    }
  }

  Tensor forward(Tensor x) {
    const bool observe = is_training();
    x = outputs_[0](x, observe);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const Tensor w = weights_[i](layers_[i]->weight, observe);
      x = torch::linear(x, w, layers_[i]->bias);
      if (i + 1 < layers_.size()) x = torch::relu(x);
      x = outputs_[i + 1](x, observe);
    }
    return x;
  }

 private:
  std::vector<torch::nn::Linear> layers_;
  std::vector<FakeQuant> weights_;
  std::vector<FakeQuant> outputs_;
};
TORCH_MODULE(Network);

struct Examples {
  explicit Examples(const octet::Dataset& data)
      : x(torch::empty({static_cast<std::int64_t>(data.size()), 784})),
        y(torch::empty({static_cast<std::int64_t>(data.size())}, torch::kLong)) {
    auto* pixels = x.data_ptr<float>();
    for (const std::uint8_t byte : data.bytes()) *pixels++ = static_cast<float>(byte) / 255.0F;
    std::copy(data.labels().begin(), data.labels().end(), y.data_ptr<std::int64_t>());
  }
  Tensor x;
  Tensor y;
};

double train_epoch(Network& network, torch::optim::Adam& adam, const Examples& train,
                   std::int64_t batch) {
  const double begin = octet::bench::now();
  const std::int64_t count = train.x.size(0);
  const Tensor order = torch::randperm(count, torch::kLong);
  for (std::int64_t i = 0; i < count; i += batch) {
    const Tensor rows = order.slice(0, i, std::min(count, i + batch));
    adam.zero_grad();
    torch::cross_entropy_loss(network->forward(train.x.index_select(0, rows)),
                              train.y.index_select(0, rows))
        .backward();
    adam.step();
  }
  return octet::bench::now() - begin;
}

void measure(bool quantized, std::int64_t batch, int epochs, const std::string& data) {
  const octet::DataSplit split = octet::load_idx(data);
  const Examples train(split.train);
  const Examples test(split.test);
  torch::manual_seed(0);
  Network network(quantized);
  torch::optim::Adam adam(network->parameters(), torch::optim::AdamOptions(1e-3));
  std::vector<double> seconds;
  for (int i = 0; i < epochs; ++i) seconds.push_back(train_epoch(network, adam, train, batch));
  network->eval();
  const torch::NoGradGuard guard;
  const Tensor right = network->forward(test.x).argmax(1).eq(test.y);
  fmt::print("{{\"s_per_epoch\": {}, \"acc\": {}}}\n", octet::bench::median_epoch(seconds),
             right.to(torch::kFloat).mean().item<double>());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 6 ? argv[1] : "";
  if (mode != "float" && mode != "qat") {
    fmt::print(stderr, "usage: libtorch_mlp float|qat BATCH THREADS EPOCHS DATA\n");
    return 2;
  }
  try {
    torch::set_num_threads(std::stoi(argv[3]));
    measure(mode == "qat", std::stol(argv[2]), std::stoi(argv[4]), argv[5]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "libtorch_mlp: {}\n", error.what());
    return 1;
  }
  return 0;
}
