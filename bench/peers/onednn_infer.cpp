// onednn_infer MODEL.tflite DATA THREADS: oneDNN's inner product on packed weights, u8 x s8 -> u8
// with scale and ReLU fused. Prints one line of JSON. For oneDNN 2.

#include <fmt/format.h>
#include <octet/bench/peers/layers.h>
#include <octet/bench/timing.h>
#include <omp.h>

#include <dnnl.hpp>
#include <exception>
#include <unordered_map>

namespace {

using dnnl::memory;
using octet::peers::Layer;
using Type = memory::data_type;
using Order = memory::format_tag;

/// Codes are those of the model plus 128, since oneDNN wants unsigned inputs.
constexpr int kShift = 128;

class Network {
 public:
  Network(const std::vector<Layer>& layers, memory::dim batch, std::vector<std::uint8_t>& input)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    memory x({{batch, layers.front().in}, Type::u8, Order::ab}, engine_, input.data());
    for (const Layer& layer : layers) x = add(layer, batch, x);
    output_ = x;
  }

  void run() {
    for (std::size_t i = 0; i < primitives_.size(); ++i) {
      primitives_[i].execute(stream_, arguments_[i]);
    }
    stream_.wait();
  }

  std::vector<std::uint8_t> output() const {
    const auto* data = static_cast<const std::uint8_t*>(output_.get_data_handle());
    return {data, data + output_.get_desc().get_size()};
  }

 private:
  /// The bias takes in both zero points: it is added before the sums are scaled. A ReLU needs
  /// nothing more, since codes saturate at 0, which stands for 0.
  static std::vector<float> folded_bias(const Layer& layer) {
    std::vector<float> bias;
    for (int j = 0; j < layer.out; ++j) {
      const auto* row = layer.weights.data() + static_cast<std::ptrdiff_t>(j) * layer.in;
      int sum = 0;
      for (int i = 0; i < layer.in; ++i) sum += row[i];
      const int exact = layer.bias[static_cast<std::size_t>(j)] - (layer.zero_in + kShift) * sum;
      bias.push_back(static_cast<float>(exact) +
                     static_cast<float>(layer.zero_out + kShift) / layer.factor());
    }
    return bias;
  }

  memory add(const Layer& layer, memory::dim batch, memory& x) {
    if (layer.relu && layer.zero_out != -kShift) throw std::runtime_error("expected codes from 0");
    using dnnl::inner_product_forward;
    dnnl::primitive_attr attributes;
    attributes.set_output_scales(0, {layer.factor()});
    const inner_product_forward::desc wanted(
        dnnl::prop_kind::forward_inference, {{batch, layer.in}, Type::u8, Order::ab},
        {{layer.out, layer.in}, Type::s8, Order::any}, {{layer.out}, Type::f32, Order::a},
        {{batch, layer.out}, Type::u8, Order::ab});
    const inner_product_forward::primitive_desc chosen(wanted, attributes, engine_);
    std::vector<std::int8_t> rows = layer.weights;
    memory plain({{layer.out, layer.in}, Type::s8, Order::ab}, engine_, rows.data());
    memory packed(chosen.weights_desc(), engine_);
    dnnl::reorder(plain, packed).execute(stream_, plain, packed);
    stream_.wait();
    memory bias(chosen.bias_desc(), engine_);
    const std::vector<float> values = folded_bias(layer);
    std::memcpy(bias.get_data_handle(), values.data(), values.size() * sizeof(float));
    memory y(chosen.dst_desc(), engine_);
    primitives_.emplace_back(inner_product_forward(chosen));
    arguments_.push_back(
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, y}});
    return y;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<dnnl::primitive> primitives_;
  std::vector<std::unordered_map<int, memory>> arguments_;
  memory output_;
};

std::string measure(const std::string& model, const std::string& data) {
  const auto layers = octet::peers::read_layers(model);
  const octet::Dataset images = octet::load_idx_test(data);
  std::vector<std::uint8_t> input;
  for (const std::int8_t code : octet::peers::codes(images, layers.front())) {
    input.push_back(static_cast<std::uint8_t>(code + kShift));
  }
  std::string line;
  for (const int batch : {1, 32, static_cast<int>(images.size())}) {
    Network network(layers, batch, input);
    const double seconds = octet::bench::time_calls([&] { network.run(); }).median;
    line += fmt::format("\"us_b{}\": {}, ", batch, 1e6 * seconds);
    if (batch > 32) {
      line += fmt::format("\"acc\": {}", octet::peers::accuracy(network.output(), images));
    }
  }
  return line;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: onednn_infer MODEL.tflite DATA THREADS\n");
    return 2;
  }
  try {
    omp_set_num_threads(std::stoi(argv[3]));
    fmt::print("{{{}}}\n", measure(argv[1], argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "onednn_infer: {}\n", error.what());
    return 1;
  }
  return 0;
}
