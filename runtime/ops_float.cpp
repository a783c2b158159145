// float32 kernels: they run an exported float model beside its integer one, to compare the two.

#include <octet/core/kernels/gemm.h>
#include <octet/core/parallel.h>
#include <octet/runtime/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace octet::detail {
namespace {

/// An activation as a clamp that lets NaN through.
struct FloatClamp {
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();

  explicit FloatClamp(FusedActivation activation) {
    if (activation == FusedActivation::none) return;
    lo = activation == FusedActivation::relu_n1_to_1 ? -1.0F : 0.0F;
    if (activation == FusedActivation::relu6) hi = 6.0F;
    if (activation == FusedActivation::relu_n1_to_1) hi = 1.0F;
  }

  float operator()(float x) const { return x < lo ? lo : (x > hi ? hi : x); }
};

class FloatFullyConnected final : public Kernel {
 public:
  explicit FloatFullyConnected(const KernelSource& source)
      : units_(source.operand(1).shape[0]),
        depth_(source.operand(1).shape.back()),
        rows_(source.input().size() / depth_),
        weights_(copy(source.operand(1))),
        bias_(static_cast<std::size_t>(units_)),
        clamp_(source.op.activation) {
    if (source.has_operand(2)) bias_ = copy(source.operand(2));
  }

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    auto* y = reinterpret_cast<float*>(out);
    gemm_f32(samples * rows_, units_, depth_, {reinterpret_cast<const float*>(in), depth_},
             {weights_.data(), depth_, Transpose::yes}, y, units_);
    for (Index i = 0; i < samples * rows_; ++i, y += units_) {
      for (std::size_t j = 0; j < bias_.size(); ++j) y[j] = clamp_(y[j] + bias_[j]);
    }
  }

 private:
  static std::vector<float> copy(const ModelTensor& tensor) {
    std::vector<float> values(tensor.data.size() / sizeof(float));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
  }

  Index units_;
  Index depth_;
  Index rows_;
  std::vector<float> weights_;
  std::vector<float> bias_;
  FloatClamp clamp_;
};

class FloatSoftmax final : public Kernel {
 public:
  explicit FloatSoftmax(const KernelSource& source)
      : row_(static_cast<std::size_t>(source.input().shape.empty() ? 1
                                                                   : source.input().shape.back())),
        rows_(static_cast<std::size_t>(source.input().size()) / row_),
        beta_(source.op.beta) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* x = reinterpret_cast<const float*>(in);
    auto* y = reinterpret_cast<float*>(out);
    const std::size_t rows = static_cast<std::size_t>(samples) * rows_;
    for (std::size_t i = 0; i < rows; ++i) run_row(x + i * row_, y + i * row_);
  }

 private:
  void run_row(const float* x, float* y) const {
    const float largest = *std::max_element(x, x + row_);
    float sum = 0.0F;
    for (std::size_t j = 0; j < row_; ++j) {
      y[j] = std::exp(beta_ * (x[j] - largest));
      sum += y[j];
    }
    for (std::size_t j = 0; j < row_; ++j) y[j] /= sum;
  }

  std::size_t row_;
  std::size_t rows_;
  float beta_;
};

template <class Function>
class FloatMap final : public Kernel {
 public:
  FloatMap(std::int64_t size, Function function)
      : size_(static_cast<std::size_t>(size)), function_(function) {}

  void run(Index samples, const std::byte* in, std::byte* out) const override {
    const auto* x = reinterpret_cast<const float*>(in);
    auto* y = reinterpret_cast<float*>(out);
    parallel_for(static_cast<std::size_t>(samples) * size_, kElementsPerChunk,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) y[i] = function_(x[i]);
                 });
  }

 private:
  std::size_t size_;
  Function function_;
};

template <class Function>
std::unique_ptr<Kernel> make_map(const KernelSource& source, Function function) {
  return std::make_unique<FloatMap<Function>>(source.input().size(), function);
}

}  // namespace

std::unique_ptr<Kernel> make_float(const KernelSource& source) {
  switch (source.op.code) {
    case OpCode::conv_2d:
    case OpCode::fully_connected:
      return std::make_unique<FloatFullyConnected>(source);
    case OpCode::softmax:
      return std::make_unique<FloatSoftmax>(source);
    case OpCode::logistic:
      return make_map(source, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
    case OpCode::tanh:
      return make_map(source, [](float x) { return std::tanh(x); });
    default:
      return make_map(source, FloatClamp(activation_of(source.op.code)));
  }
}

}  // namespace octet::detail
