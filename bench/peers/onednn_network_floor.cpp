// onednn_network_floor NETWORK.json BATCH THREADS: what a float training step of a network costs at
// least: the time of oneDNN's convolutions and inner products, warm, forward and both gradients,
// each in the quicker of its own memory format and channels last, without what it takes to change
// between them. Prints one line of JSON: cpu_min (processor
// seconds of the quickest samples), s_per_step (the same by the wall clock). For oneDNN 2.

#include <fmt/format.h>
#include <octet/bench/peers/network.h>
#include <octet/bench/timing.h>
#include <omp.h>

#include <ctime>
#include <dnnl.hpp>
#include <exception>
#include <optional>
#include <unordered_map>

namespace {

using dnnl::memory;
using octet::peers::NetworkLayer;
using Arguments = std::unordered_map<int, memory>;
using Order = memory::format_tag;
constexpr auto kFloat = memory::data_type::f32;

struct Seconds {
  double wall = 0.0;
  double processor = 0.0;
};

Seconds clocks() {
  return {octet::bench::now(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
}

Seconds least(const Seconds& a, const Seconds& b) {
  return {std::min(a.wall, b.wall), std::min(a.processor, b.processor)};
}

Seconds sum(const Seconds& a, const Seconds& b) {
  return {a.wall + b.wall, a.processor + b.processor};
}

/// Memory with room behind its end: oneDNN 2.6 writes past the end of an output of 8 columns.
class Room {
 public:
  memory make(const memory::desc& desc, const dnnl::engine& engine) {
    constexpr std::size_t kMargin = 1024;
    values_.emplace_back(desc.get_size() / sizeof(float) + kMargin, 0.5F);
    return {desc, engine, values_.back().data()};
  }

 private:
  std::vector<std::vector<float>> values_;
};

/// The three products of one layer in one memory format.
class Products {
 public:
  Products(const NetworkLayer& layer, memory::dim batch, bool channels_last)
      : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const Order order = channels_last ? (layer.is_dense() ? Order::nc : Order::nhwc) : Order::any;
    if (layer.is_dense()) {
      x_ = {{batch, layer.inputs()}, kFloat, order};
      w_ = {{layer.out[2], layer.inputs()}, kFloat, Order::any};
      y_ = {{batch, layer.out[2]}, kFloat, order};
    } else {
      const auto [height, width, channels] = layer.in;
      const memory::dim groups = layer.groups();
      memory::dims kernel = {layer.out[2] / groups, channels / groups, layer.kernel[0],
                             layer.kernel[1]};
      if (groups > 1) kernel.insert(kernel.begin(), groups);
      x_ = {{batch, channels, height, width}, kFloat, order};
      w_ = {kernel, kFloat, Order::any};
      y_ = {{batch, layer.out[2], layer.out[0], layer.out[1]}, kFloat, order};
      stride_ = {layer.stride[0], layer.stride[1]};
      before_ = {layer.pad[0], layer.pad[2]};
      behind_ = {layer.pad[1], layer.pad[3]};
    }
  }

  /// Forward, gradient of the kernel, and of the input unless the layer is the first.
  std::vector<Seconds> convolution(bool is_first) {
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kDirect, x_, w_, y_, stride_, before_, behind_},
        engine_);
    std::vector<Seconds> result = {time_forward(forward)};
    const dnnl::convolution_backward_weights::primitive_desc kernel(
        {kDirect, x_, w_, y_, stride_, before_, behind_}, engine_, forward);
    result.push_back(time_kernel(kernel));
    if (is_first) return result;
    const dnnl::convolution_backward_data::primitive_desc input(
        {kDirect, x_, w_, y_, stride_, before_, behind_}, engine_, forward);
    result.push_back(time_input(input));
    return result;
  }

  std::vector<Seconds> dense(bool is_first) {
    const dnnl::inner_product_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, x_, w_, y_}, engine_);
    std::vector<Seconds> result = {time_forward(forward)};
    const dnnl::inner_product_backward_weights::primitive_desc kernel({x_, w_, y_}, engine_,
                                                                      forward);
    result.push_back(time_kernel(kernel));
    if (is_first) return result;
    const dnnl::inner_product_backward_data::primitive_desc input({x_, w_, y_}, engine_, forward);
    result.push_back(time_input(input));
    return result;
  }

 private:
  template <class Chosen>
  Seconds time_forward(const Chosen& chosen) {
    return time(chosen, {{DNNL_ARG_SRC, room(chosen.src_desc())},
                         {DNNL_ARG_WEIGHTS, room(chosen.weights_desc())},
                         {DNNL_ARG_DST, room(chosen.dst_desc())}});
  }
  template <class Chosen>
  Seconds time_kernel(const Chosen& chosen) {
    return time(chosen, {{DNNL_ARG_SRC, room(chosen.src_desc())},
                         {DNNL_ARG_DIFF_WEIGHTS, room(chosen.diff_weights_desc())},
                         {DNNL_ARG_DIFF_DST, room(chosen.diff_dst_desc())}});
  }
  template <class Chosen>
  Seconds time_input(const Chosen& chosen) {
    return time(chosen, {{DNNL_ARG_DIFF_SRC, room(chosen.diff_src_desc())},
                         {DNNL_ARG_WEIGHTS, room(chosen.weights_desc())},
                         {DNNL_ARG_DIFF_DST, room(chosen.diff_dst_desc())}});
  }
  memory room(const memory::desc& desc) { return room_.make(desc, engine_); }

  /// Few samples: there are hundreds of products, and the quickest counts.
  template <class Chosen>
  Seconds time(const Chosen& chosen, const Arguments& arguments) {
    constexpr int kSamples = 9;
    constexpr double kSampleSeconds = 0.004;
    const dnnl::primitive primitive(chosen.get());
    const auto run = [&](int calls) {
      const Seconds begin = clocks();
      for (int i = 0; i < calls; ++i) {
        primitive.execute(stream_, arguments);
        stream_.wait();
      }
      const Seconds end = clocks();
      return Seconds{(end.wall - begin.wall) / calls, (end.processor - begin.processor) / calls};
    };
    Seconds best = run(2);
    const int calls = std::max(1, static_cast<int>(kSampleSeconds / best.processor));
    for (int i = 0; i < kSamples; ++i) best = least(best, run(calls));
    return best;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  Room room_;
  memory::desc x_;
  memory::desc w_;
  memory::desc y_;
  memory::dims stride_;
  memory::dims before_;
  memory::dims behind_;
};

/// Takes the quicker of both formats for each product.
Seconds layer_floor(const NetworkLayer& layer, memory::dim batch, bool is_first) {
  std::vector<Seconds> best;
  for (const bool channels_last : {false, true}) {
    Products products(layer, batch, channels_last);
    const auto times = layer.is_dense() ? products.dense(is_first) : products.convolution(is_first);
    if (best.empty()) best = times;
    for (std::size_t i = 0; i < times.size(); ++i) best[i] = least(best[i], times[i]);
  }
  Seconds all;
  for (const Seconds& time : best) all = sum(all, time);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: onednn_network_floor NETWORK.json BATCH THREADS\n");
    return 2;
  }
  try {
    omp_set_num_threads(std::stoi(argv[3]));
    const auto network = octet::peers::read_network(argv[1]);
    Seconds all;
    for (const NetworkLayer& layer : network.layers) {
      if (!layer.is_dense() && !layer.is_convolution()) continue;
      all = sum(all, layer_floor(layer, std::stol(argv[2]), layer.from.front() == 0));
    }
    fmt::print("{{\"s_per_step\": {}, \"cpu_min\": {}}}\n", all.wall, all.processor);
  } catch (const std::exception& error) {
    fmt::print(stderr, "onednn_network_floor: {}\n", error.what());
    return 1;
  }
  return 0;
}
