// libtorch_network NETWORK.json float|qat BATCH THREADS SECONDS: training steps of a network that
// `octet_measure network` describes, in PyTorch's C++ library on noise, Adam at 1e-3. qat computes
// what the fused modules of torch.ao.quantization do. Of both memory layouts the quicker is
// measured. Prints one line of JSON.

#include <fmt/format.h>
#include <octet/bench/peers/network.h>
#include <octet/bench/timing.h>
#include <torch/torch.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

namespace {

using octet::peers::NetworkLayer;
using octet::peers::NetworkLayers;
using torch::Tensor;

constexpr double kEpsilon = 1e-5;

/// x on steps whose range follows x: of a kernel its own, by channel or of all, of an activation
/// moving averages.
class FakeQuant {
 public:
  enum class Kind { activation, kernel, kernel_channels };
  explicit FakeQuant(Kind kind, std::int64_t ranges = 1)
      : kind_(kind),
        least_(torch::full({ranges}, std::numeric_limits<float>::infinity())),
        largest_(torch::full({ranges}, -std::numeric_limits<float>::infinity())),
        scale_(torch::ones({ranges})),
        zero_point_(torch::zeros({ranges}, torch::kInt)) {}

  Tensor operator()(const Tensor& x) {
    const bool is_kernel = kind_ != Kind::activation;
    return torch::fused_moving_avg_obs_fake_quant(
        x, on_, on_, least_, largest_, scale_, zero_point_, is_kernel ? 1.0 : 0.01,
        is_kernel ? -127 : 0, is_kernel ? 127 : 255, /*ch_axis=*/is_kernel ? 0 : -1,
        /*per_row_fake_quant=*/kind_ == Kind::kernel_channels, /*symmetric_quant=*/is_kernel);
  }

 private:
  Kind kind_;
  Tensor on_ = torch::ones({1}, torch::kLong);
  Tensor least_;
  Tensor largest_;
  Tensor scale_;
  Tensor zero_point_;
};

/// What one line of the description computes.
class StepImpl : public torch::nn::Module {
 public:
  StepImpl(const NetworkLayer& layer, bool quantized) : layer_(layer), quantized_(quantized) {
    const std::int64_t outputs = layer.out[2];
    if (layer.is_convolution()) {
      make_weights({outputs, layer.in[2] / layer.groups(), layer.kernel[0], layer.kernel[1]});
    } else if (layer.is_dense()) {
      make_weights({outputs, layer.inputs()});
    }
  }

  Tensor forward(const std::vector<Tensor>& x) {
    if (layer_.op == "maxpool") {
      return torch::max_pool2d(x[0], layer_.kernel, layer_.stride, padding());
    }
    if (layer_.op == "mean") return observed(torch::adaptive_avg_pool2d(x[0], {1, 1}));
    if (layer_.op == "input") return observed(x[0]);
    Tensor y = layer_.op == "add" ? x[0] + x[1] : weighted(x[0]);
    if (layer_.relu) y = torch::relu_(y);
    return observed(y);
  }

 private:
  void make_weights(const std::vector<std::int64_t>& shape) {
    const std::int64_t outputs = shape[0];
    kernel_ = register_parameter("kernel", torch::empty(shape));
    torch::nn::init::kaiming_uniform_(kernel_);
    if (layer_.norm) {
      gamma_ = register_parameter("gamma", torch::ones({outputs}));
      mean_ = register_buffer("mean", torch::zeros({outputs}));
      variance_ = register_buffer("variance", torch::ones({outputs}));
    }
    bias_ = register_parameter("bias", torch::zeros({outputs}));
    if (layer_.is_convolution()) {
      kernel_quant_ = FakeQuant(FakeQuant::Kind::kernel_channels, outputs);
    }
  }

  std::vector<std::int64_t> padding() const {
    return {std::max(layer_.pad[0], layer_.pad[1]), std::max(layer_.pad[2], layer_.pad[3])};
  }

  Tensor observed(const Tensor& x) { return quantized_ ? output_quant_(x) : x; }

  Tensor product(const Tensor& x, const Tensor& kernel, const Tensor& bias) const {
    if (layer_.is_convolution()) {
      return torch::conv2d(x, kernel, bias, layer_.stride, padding(), 1, layer_.groups());
    }
    if (x.dim() == 2) return torch::linear(x, kernel, bias);
    // In the order that is in memory, without a copy.
    return torch::linear((x.is_contiguous() ? x : x.permute({0, 2, 3, 1})).flatten(1), kernel,
                         bias);
  }

  Tensor weighted(const Tensor& x) {
    if (!layer_.norm) return product(x, quantized_ ? kernel_quant_(kernel_) : kernel_, bias_);
    if (!quantized_) return normalized(product(x, kernel_, {}));
    // The kernel that is quantized has the normalization folded into it, by the moving variance;
    // the batch's own statistics see the product without it.
    const Tensor factor = gamma_ / torch::sqrt(variance_ + kEpsilon);
    std::vector<std::int64_t> by_output(static_cast<std::size_t>(kernel_.dim()), 1);
    by_output[0] = -1;
    const Tensor y = product(x, kernel_quant_(kernel_ * factor.reshape(by_output)), {});
    std::vector<std::int64_t> by_channel(static_cast<std::size_t>(y.dim()), 1);
    by_channel[1] = -1;
    return normalized(y / factor.reshape(by_channel));
  }

  Tensor normalized(const Tensor& y) {
    return torch::batch_norm(y, gamma_, bias_, mean_, variance_, /*training=*/true,
                             /*momentum=*/0.1, kEpsilon, /*cudnn_enabled=*/false);
  }

  NetworkLayer layer_;
  bool quantized_;
  Tensor kernel_, gamma_, bias_, mean_, variance_;
  FakeQuant kernel_quant_{FakeQuant::Kind::kernel};
  FakeQuant output_quant_{FakeQuant::Kind::activation};
};
TORCH_MODULE(Step);

/// Steps of training: gather a batch of noise, forward, backward, Adam.
class Trainer {
 public:
  Trainer(const NetworkLayers& of, bool quantized, std::int64_t batch, bool channels_last)
      : of_(of), batch_(batch) {
    constexpr std::int64_t kBatches = 4;
    torch::manual_seed(0);
    const auto [height, width, channels] = of.layers.front().out;
    const bool is_image = height * width > 1;
    examples_ = is_image ? torch::rand({kBatches * batch, channels, height, width})
                         : torch::rand({kBatches * batch, channels});
    if (channels_last && is_image) format_ = torch::MemoryFormat::ChannelsLast;
    if (is_image) examples_ = restrided(examples_);
    labels_ =
        torch::randint(std::max<std::int64_t>(of.classes, 1), {kBatches * batch}, torch::kLong);
    std::vector<Tensor> parameters;
    for (const NetworkLayer& layer : of.layers) {
      steps_.emplace_back(layer, quantized);
      for (Tensor& parameter : steps_.back()->parameters()) {
        if (parameter.dim() == 4) parameter.set_data(restrided(parameter));
        parameters.push_back(parameter);
      }
    }
    adam_ = std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(1e-3));
  }

  bool channels_last() const { return format_ == torch::MemoryFormat::ChannelsLast; }

  void step() {
    const Tensor rows = torch::randperm(examples_.size(0), torch::kLong).slice(0, 0, batch_);
    adam_->zero_grad();
    Tensor x = examples_.index_select(0, rows);
    if (x.dim() == 4) x = x.contiguous(format_);
    const Tensor y = forward(x).flatten(1);
    const Tensor loss = of_.classes == 0
                            ? torch::mse_loss(y, x)
                            : torch::cross_entropy_loss(y, labels_.index_select(0, rows));
    loss.backward();
    adam_->step();
  }

  struct Times {
    std::vector<double> wall;
    std::vector<double> processor;
  };
  /// Returns the times of each step but the first ones, sorted.
  Times time_steps(std::size_t most, double seconds) {
    constexpr std::size_t kWarm = 3;
    constexpr std::size_t kLeast = 5;
    Times times;
    const double end = octet::bench::now() + seconds;
    for (std::size_t i = 0; i < most + kWarm; ++i) {
      if (i >= kWarm + kLeast && octet::bench::now() > end) break;
      const double begin = octet::bench::now();
      const std::clock_t processor = std::clock();
      step();
      if (i < kWarm) continue;
      times.wall.push_back(octet::bench::now() - begin);
      times.processor.push_back(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
    }
    std::ranges::sort(times.wall);
    std::ranges::sort(times.processor);
    return times;
  }

 private:
  /// Copies x into the network's layout, by strides also where an extent of 1 leaves the order
  /// open: else whole networks would run in the other layout.
  Tensor restrided(const Tensor& x) const {
    return torch::empty(x.sizes(), x.options().memory_format(format_)).copy_(x.detach());
  }

  Tensor forward(const Tensor& x) {
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::vector<Tensor> inputs;
      for (const std::size_t source : of_.layers[i].from) inputs.push_back(results[source]);
      if (i == 0) inputs = {x};
      results.push_back(steps_[i]->forward(inputs));
    }
    return results.back();
  }

  const NetworkLayers& of_;
  std::int64_t batch_;
  torch::MemoryFormat format_ = torch::MemoryFormat::Contiguous;
  Tensor examples_;
  Tensor labels_;
  std::vector<Step> steps_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

void measure(const NetworkLayers& network, bool quantized, std::int64_t batch, double seconds) {
  constexpr std::size_t kProbe = 5;
  constexpr std::size_t kMost = 300;
  Trainer last(network, quantized, batch, /*channels_last=*/true);
  Trainer first(network, quantized, batch, /*channels_last=*/false);
  const bool last_is_quicker = last.time_steps(kProbe, seconds).processor.front() <
                               first.time_steps(kProbe, seconds).processor.front();
  Trainer& chosen = last_is_quicker ? last : first;
  const Trainer::Times times = chosen.time_steps(kMost, seconds);
  fmt::print(
      "{{\"s_per_step\": {}, \"min\": {}, \"cpu_s_per_step\": {}, \"cpu_min\": {}, \"steps\": {}, "
      "\"channels_last\": {}}}\n",
      times.wall[times.wall.size() / 2], times.wall.front(),
      times.processor[times.processor.size() / 2], times.processor.front(), times.wall.size(),
      chosen.channels_last());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 6 ? argv[2] : "";
  if (mode != "float" && mode != "qat") {
    fmt::print(stderr, "usage: libtorch_network NETWORK.json float|qat BATCH THREADS SECONDS\n");
    return 2;
  }
  try {
    torch::set_num_threads(std::stoi(argv[4]));
    measure(octet::peers::read_network(argv[1]), mode == "qat", std::stol(argv[3]),
            std::stod(argv[5]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "libtorch_network: {}\n", error.what());
    return 1;
  }
  return 0;
}
