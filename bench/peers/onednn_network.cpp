// onednn_network MODEL.tflite BATCH THREADS: oneDNN's convolutions, u8 x s8 -> u8 with scales and
// clamp fused, on a model of convolutions, on noise, up to the logits. A sum is part of the
// convolution before it. Prints one line of JSON: microseconds of a call, us by the wall clock,
// cpu_min of processor time; equal: the share of codes that are the interpreter's too. For
// oneDNN 2.

#include <octet/bench/peers/integer_network.h>
#include <omp.h>

#include <dnnl.hpp>
#include <exception>
#include <map>
#include <unordered_map>

namespace {

using dnnl::memory;
using octet::ModelTensor;
using octet::OpCode;
using octet::peers::extent;
using octet::peers::IntegerNetwork;
using octet::peers::IntegerStep;
using Arguments = std::unordered_map<int, memory>;
using Type = memory::data_type;
using Order = memory::format_tag;

/// Codes are those of the model plus 128, since oneDNN wants unsigned inputs.
constexpr int kShift = 128;
int zero(const ModelTensor& tensor) { return tensor.quantization.zero_point() + kShift; }
float scale(const ModelTensor& tensor) { return tensor.quantization.scale(); }

/// How the sums of a step become codes of `to`, its own result or that of an ADD behind it.
struct Requantization {
  std::vector<float> factors;
  std::vector<float> bias;
};

class Network {
 public:
  Network(const IntegerNetwork& of, memory::dim batch)
      : of_(of), batch_(batch), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    std::map<std::size_t, const IntegerStep*> waiting;
    make_room(of.input());
    for (const IntegerStep& step : of.steps) {
      if (summed_later(step.output)) {
        waiting[step.output] = &step;
      } else if (step.code == OpCode::add) {
        // Into the other operand, which nobody reads afterwards.
        codes_[step.output] = codes_.at(step.inputs[0]);
        add_weighted(*waiting.at(step.inputs[1]), &step);
      } else {
        make_room(step.output);
        add(step);
      }
    }
  }

  std::uint8_t* input() { return bytes(of_.input()); }
  std::vector<std::int8_t> output() {
    const std::size_t last = of_.steps.back().output;
    std::vector<std::int8_t> result;
    const auto count = batch_ * of_.model.tensors[last].size();
    for (memory::dim i = 0; i < count; ++i) {
      result.push_back(static_cast<std::int8_t>(bytes(last)[i] - kShift));
    }
    return result;
  }

  void run() {
    for (std::size_t i = 0; i < primitives_.size(); ++i) {
      primitives_[i].execute(stream_, arguments_[i]);
    }
    stream_.wait();
  }

 private:
  /// Whether an ADD has this tensor as its second operand.
  bool summed_later(std::size_t tensor) const {
    return std::ranges::any_of(of_.steps, [tensor](const IntegerStep& step) {
      return step.code == OpCode::add && step.inputs[1] == tensor;
    });
  }

  std::uint8_t* bytes(std::size_t tensor) {
    return static_cast<std::uint8_t*>(codes_.at(tensor).get_data_handle());
  }

  /// Room behind the end: oneDNN 2.6 writes past the end of an output of 8 columns.
  void make_room(std::size_t tensor) {
    constexpr std::size_t kMargin = 4096;
    const ModelTensor& of = of_.model.tensors[tensor];
    const bool image = of.shape.size() == 4;
    memory::dims dims = {batch_, of.shape.back(), 1, 1};
    if (image) dims = {batch_, of.shape[3], of.shape[1], of.shape[2]};
    const memory::desc desc(dims, Type::u8, Order::nhwc);
    room_.emplace_back(desc.get_size() + kMargin);
    codes_[tensor] = memory(desc, engine_, room_.back().data());
  }

  void add(const IntegerStep& step) {
    if (step.code == OpCode::max_pool_2d) return add_pool(step, dnnl::algorithm::pooling_max);
    if (step.code == OpCode::average_pool_2d) {
      return add_pool(step, dnnl::algorithm::pooling_avg_exclude_padding);
    }
    if (step.kernel != nullptr) return add_weighted(step, nullptr);
    throw std::runtime_error(fmt::format("onednn_network: {} is not among the peer's operators",
                                         octet::to_string(step.code)));
  }

  void add_pool(const IntegerStep& step, dnnl::algorithm algorithm) {
    const memory& x = codes_.at(step.inputs[0]);
    const memory& y = codes_.at(step.output);
    const dnnl::pooling_forward::primitive_desc chosen({dnnl::prop_kind::forward_inference,
                                                        algorithm,
                                                        x.get_desc(),
                                                        y.get_desc(),
                                                        {step.rows.stride, step.columns.stride},
                                                        {step.rows.kernel, step.columns.kernel},
                                                        {step.rows.before, step.columns.before},
                                                        {step.rows.after(), step.columns.after()}},
                                                       engine_);
    primitives_.emplace_back(dnnl::pooling_forward(chosen));
    arguments_.push_back({{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  }

  /// The bias takes in the zero points of the result and, of a sum, of its other operand. A dense
  /// layer's takes in its input's too; a convolution, whose padding is that zero point, is told it.
  Requantization requantization(const IntegerStep& step, const ModelTensor& to,
                                const ModelTensor* other) const {
    Requantization result;
    const std::size_t outputs = step.bias.size();
    for (std::size_t j = 0; j < outputs; ++j) {
      const auto& scales = step.kernel->quantization.scales;
      const float factor = scale(*step.x) * scales[scales.size() > 1 ? j : 0] / scale(to);
      float offset = static_cast<float>(zero(to));
      if (other != nullptr) offset -= scale(*other) / scale(to) * static_cast<float>(zero(*other));
      float bias = static_cast<float>(step.bias[j]) + offset / factor;
      if (step.code == OpCode::fully_connected) {
        const std::size_t inputs = step.kernel->data.size() / outputs;
        int sum = 0;
        for (std::size_t i = 0; i < inputs; ++i) {
          sum += static_cast<std::int8_t>(step.kernel->data[j * inputs + i]);
        }
        bias -= static_cast<float>(zero(*step.x) * sum);
      }
      result.factors.push_back(factor);
      result.bias.push_back(bias);
    }
    return result;
  }

  dnnl::primitive_attr attributes(const IntegerStep& step, const Requantization& how,
                                  const IntegerStep* sum) const {
    const ModelTensor& to = sum != nullptr ? *sum->y : *step.y;
    dnnl::primitive_attr result;
    dnnl::post_ops after;
    if (sum != nullptr) after.append_sum(scale(*sum->x) / scale(to));
    // Codes saturate at 0; only where that does not stand for 0 a relu needs more.
    if ((sum != nullptr ? sum->relu : step.relu) && zero(to) > 0) {
      after.append_eltwise(1.0F, dnnl::algorithm::eltwise_clip, static_cast<float>(zero(to)),
                           255.0F);
    }
    result.set_output_scales(1 << 1, how.factors);
    result.set_post_ops(after);
    if (step.code != OpCode::fully_connected && zero(*step.x) != 0) {
      result.set_zero_points(DNNL_ARG_SRC, 0, {zero(*step.x)});
    }
    return result;
  }

  /// `sum` is the ADD behind the step, if any.
  void add_weighted(const IntegerStep& step, const IntegerStep* sum) {
    const Requantization how =
        requantization(step, sum != nullptr ? *sum->y : *step.y, sum != nullptr ? sum->x : nullptr);
    const memory::desc bias({static_cast<memory::dim>(how.bias.size())}, Type::f32, Order::a);
    const memory& x = codes_.at(step.inputs[0]);
    const memory& y = codes_.at(sum != nullptr ? sum->output : step.output);
    const auto given = attributes(step, how, sum);
    if (step.code == OpCode::fully_connected) {
      const memory::dims rows = {extent(*step.kernel, 0), extent(*step.kernel, 1)};
      const dnnl::inner_product_forward::primitive_desc chosen(
          {dnnl::prop_kind::forward_inference,
           {{batch_, rows[1]}, Type::u8, Order::ab},
           {rows, Type::s8, Order::any},
           bias,
           {{batch_, rows[0]}, Type::u8, Order::ab}},
          given, engine_);
      push(dnnl::inner_product_forward(chosen), chosen, step, rows, Order::ab, how, x, y);
      return;
    }
    const memory::dim in = extent(*step.x, 3);
    const memory::dim out = extent(*step.y, 3);
    memory::dims kernel = {out, in, step.rows.kernel, step.columns.kernel};
    if (step.is_depthwise()) kernel = {in, out / in, 1, step.rows.kernel, step.columns.kernel};
    const dnnl::convolution_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_inference,
         dnnl::algorithm::convolution_direct,
         x.get_desc(),
         {kernel, Type::s8, Order::any},
         bias,
         y.get_desc(),
         {step.rows.stride, step.columns.stride},
         {step.rows.before, step.columns.before},
         {step.rows.after(), step.columns.after()}},
        given, engine_);
    push(dnnl::convolution_forward(chosen), chosen, step, kernel,
         step.is_depthwise() ? Order::hwigo : Order::ohwi, how, x, y);
  }

  /// Packs the weights and appends the primitive.
  template <class Chosen>
  void push(const dnnl::primitive& primitive, const Chosen& chosen, const IntegerStep& step,
            const memory::dims& dims, Order order, const Requantization& how, const memory& x,
            const memory& y) {
    std::vector<std::uint8_t> rows = step.kernel->data;
    memory plain({dims, Type::s8, order}, engine_, rows.data());
    memory packed(chosen.weights_desc(), engine_);
    dnnl::reorder(plain, packed).execute(stream_, plain, packed);
    stream_.wait();
    memory bias(chosen.bias_desc(), engine_);
    std::memcpy(bias.get_data_handle(), how.bias.data(), how.bias.size() * sizeof(float));
    primitives_.push_back(primitive);
    arguments_.push_back({{DNNL_ARG_SRC, memory(chosen.src_desc(), engine_, x.get_data_handle())},
                          {DNNL_ARG_WEIGHTS, packed},
                          {DNNL_ARG_BIAS, bias},
                          {DNNL_ARG_DST, memory(chosen.dst_desc(), engine_, y.get_data_handle())}});
  }

  const IntegerNetwork& of_;
  memory::dim batch_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<std::vector<std::uint8_t>> room_;
  /// By tensor of the model.
  std::unordered_map<std::size_t, memory> codes_;
  std::vector<dnnl::primitive> primitives_;
  std::vector<Arguments> arguments_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: onednn_network MODEL.tflite BATCH THREADS\n");
    return 2;
  }
  try {
    omp_set_num_threads(std::stoi(argv[3]));
    const IntegerNetwork model(argv[1]);
    const long batch = std::stol(argv[2]);
    Network network(model, batch);
    const auto count = batch * model.model.tensors[model.input()].size();
    std::vector<std::int8_t> input(static_cast<std::size_t>(count));
    octet::peers::fill_with_noise(input);
    for (std::size_t i = 0; i < input.size(); ++i) {
      network.input()[i] = static_cast<std::uint8_t>(input[i] + kShift);
    }
    const std::string times = octet::peers::call_times([&] { network.run(); });
    fmt::print("{{{}, \"equal\": {}}}\n", times,
               octet::peers::equal_codes(model, batch, input, network.output()));
  } catch (const std::exception& error) {
    fmt::print(stderr, "onednn_network: {}\n", error.what());
    return 1;
  }
  return 0;
}
