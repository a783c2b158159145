// xnnpack_network MODEL.tflite BATCH THREADS: XNNPACK's int8 operators on a model of convolutions,
// on noise, up to the logits. Prints one line of JSON: microseconds of a call, us by the wall
// clock, cpu_min of processor time; equal: the share of codes that are the interpreter's too. For
// the XNNPACK of Debian 12, of 2022.

#include <octet/bench/peers/integer_network.h>
#include <pthreadpool.h>
#include <xnnpack.h>

#include <exception>

namespace {

using octet::ModelTensor;
using octet::OpCode;
using octet::peers::extent;
using octet::peers::IntegerNetwork;
using octet::peers::IntegerStep;

/// XNNPACK reads a little beyond the end of its inputs.
constexpr std::size_t kMargin = 64;
constexpr std::int8_t kLeast = -128;
constexpr std::int8_t kLargest = 127;

void check(xnn_status status, const char* call) {
  if (status != xnn_status_success) throw std::runtime_error(fmt::format("{} failed", call));
}

std::uint32_t u32(std::int64_t value) { return static_cast<std::uint32_t>(value); }
std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }
float scale(const ModelTensor& tensor) { return tensor.quantization.scale(); }
std::int8_t zero(const ModelTensor& tensor) {
  return static_cast<std::int8_t>(tensor.quantization.zero_point());
}

class Network {
 public:
  Network(const IntegerNetwork& of, std::size_t batch, int threads)
      : of_(of), batch_(batch), codes_(of.model.tensors.size()) {
    check(xnn_initialize(nullptr), "xnn_initialize");
    // Without a pool the caller's thread computes.
    if (threads > 1) pool_ = pthreadpool_create(static_cast<std::size_t>(threads));
    make_room(of.input());
    for (const IntegerStep& step : of.steps) {
      make_room(step.output);
      operators_.push_back(make(step));
    }
  }
  ~Network() {
    for (xnn_operator_t each : operators_) xnn_delete_operator(each);
    if (pool_ != nullptr) pthreadpool_destroy(pool_);
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  std::vector<std::int8_t>& input() { return codes_[of_.input()]; }
  const std::vector<std::int8_t>& output() const { return codes_[of_.steps.back().output]; }

  void run() {
    for (xnn_operator_t each : operators_) check(xnn_run_operator(each, pool_), "xnn_run_operator");
  }

 private:
  void make_room(std::size_t tensor) {
    codes_[tensor].resize(batch_ * size(of_.model.tensors[tensor].size()) + kMargin);
  }

  xnn_operator_t make(const IntegerStep& step) {
    const std::int8_t* x = codes_[step.inputs[0]].data();
    std::int8_t* y = codes_[step.output].data();
    const std::int8_t least = step.relu ? zero(*step.y) : kLeast;
    switch (step.code) {
      case OpCode::conv_2d:
      case OpCode::depthwise_conv_2d:
        return convolution(step, least, x, y);
      case OpCode::fully_connected:
        return dense(step, least, x, y);
      case OpCode::max_pool_2d:
        return max_pool(step, x, y);
      case OpCode::average_pool_2d:
        return mean(step, x, y);
      case OpCode::add:
        return sum(step, least, y);
      default:
        throw std::runtime_error(fmt::format(
            "xnnpack_network: {} is not among the peer's operators", octet::to_string(step.code)));
    }
  }

  xnn_operator_t convolution(const IntegerStep& step, std::int8_t least, const std::int8_t* x,
                             std::int8_t* y) {
    const auto in = size(extent(*step.x, 3));
    const auto out = size(extent(*step.y, 3));
    const std::size_t groups = step.is_depthwise() ? in : 1;
    const auto kernel = octet::peers::values<std::int8_t>(*step.kernel);
    xnn_operator_t made = nullptr;
    check(xnn_create_convolution2d_nhwc_qc8(
              u32(step.rows.before), u32(step.columns.after()), u32(step.rows.after()),
              u32(step.columns.before), u32(step.rows.kernel), u32(step.columns.kernel),
              u32(step.rows.stride), u32(step.columns.stride), 1, 1,
              static_cast<std::uint32_t>(groups), in / groups, out / groups, in, out, zero(*step.x),
              scale(*step.x), step.kernel->quantization.scales.data(), kernel.data(),
              step.bias.data(), zero(*step.y), scale(*step.y), least, kLargest,
              step.is_depthwise() ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0, &made),
          "xnn_create_convolution2d_nhwc_qc8");
    check(xnn_setup_convolution2d_nhwc_qc8(made, batch_, size(step.rows.input),
                                           size(step.columns.input), x, y, pool_),
          "xnn_setup_convolution2d_nhwc_qc8");
    return made;
  }

  xnn_operator_t dense(const IntegerStep& step, std::int8_t least, const std::int8_t* x,
                       std::int8_t* y) {
    const auto out = size(extent(*step.kernel, 0));
    const auto in = size(extent(*step.kernel, 1));
    const auto kernel = octet::peers::values<std::int8_t>(*step.kernel);
    xnn_operator_t made = nullptr;
    check(xnn_create_fully_connected_nc_qs8(
              in, out, in, out, zero(*step.x), scale(*step.x), scale(*step.kernel), kernel.data(),
              step.bias.data(), zero(*step.y), scale(*step.y), least, kLargest, 0, &made),
          "xnn_create_fully_connected_nc_qs8");
    check(xnn_setup_fully_connected_nc_qs8(made, batch_, x, y, pool_),
          "xnn_setup_fully_connected_nc_qs8");
    return made;
  }

  xnn_operator_t max_pool(const IntegerStep& step, const std::int8_t* x, std::int8_t* y) {
    const auto channels = size(extent(*step.x, 3));
    xnn_operator_t made = nullptr;
    check(xnn_create_max_pooling2d_nhwc_s8(
              u32(step.rows.before), u32(step.columns.after()), u32(step.rows.after()),
              u32(step.columns.before), u32(step.rows.kernel), u32(step.columns.kernel),
              u32(step.rows.stride), u32(step.columns.stride), 1, 1, channels, channels, channels,
              kLeast, kLargest, 0, &made),
          "xnn_create_max_pooling2d_nhwc_s8");
    check(xnn_setup_max_pooling2d_nhwc_s8(made, batch_, size(step.rows.input),
                                          size(step.columns.input), x, y, pool_),
          "xnn_setup_max_pooling2d_nhwc_s8");
    return made;
  }

  /// Makes the mean over a window that is the whole image.
  xnn_operator_t mean(const IntegerStep& step, const std::int8_t* x, std::int8_t* y) {
    const auto channels = size(extent(*step.x, 3));
    xnn_operator_t made = nullptr;
    check(xnn_create_global_average_pooling_nwc_qs8(channels, channels, channels, zero(*step.x),
                                                    scale(*step.x), zero(*step.y), scale(*step.y),
                                                    kLeast, kLargest, 0, &made),
          "xnn_create_global_average_pooling_nwc_qs8");
    check(xnn_setup_global_average_pooling_nwc_qs8(
              made, batch_, size(step.rows.input * step.columns.input), x, y, pool_),
          "xnn_setup_global_average_pooling_nwc_qs8");
    return made;
  }

  xnn_operator_t sum(const IntegerStep& step, std::int8_t least, std::int8_t* y) {
    const ModelTensor& a = of_.model.tensors[step.inputs[0]];
    const ModelTensor& b = of_.model.tensors[step.inputs[1]];
    const std::size_t count = batch_ * size(step.y->size());
    xnn_operator_t made = nullptr;
    check(xnn_create_add_nd_qs8(zero(a), scale(a), zero(b), scale(b), zero(*step.y), scale(*step.y),
                                least, kLargest, 0, &made),
          "xnn_create_add_nd_qs8");
    check(xnn_setup_add_nd_qs8(made, 1, &count, 1, &count, codes_[step.inputs[0]].data(),
                               codes_[step.inputs[1]].data(), y, pool_),
          "xnn_setup_add_nd_qs8");
    return made;
  }

  const IntegerNetwork& of_;
  std::size_t batch_;
  /// By tensor of the model.
  std::vector<std::vector<std::int8_t>> codes_;
  pthreadpool_t pool_ = nullptr;
  std::vector<xnn_operator_t> operators_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: xnnpack_network MODEL.tflite BATCH THREADS\n");
    return 2;
  }
  try {
    const IntegerNetwork model(argv[1]);
    const long batch = std::stol(argv[2]);
    Network network(model, static_cast<std::size_t>(batch), std::stoi(argv[3]));
    octet::peers::fill_with_noise(network.input());
    const std::string times = octet::peers::call_times([&] { network.run(); });
    fmt::print("{{{}, \"equal\": {}}}\n", times,
               octet::peers::equal_codes(model, batch, network.input(), network.output()));
  } catch (const std::exception& error) {
    fmt::print(stderr, "xnnpack_network: {}\n", error.what());
    return 1;
  }
  return 0;
}
