#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/train/optimizer.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr std::size_t kGrain = 1U << 14;

void require(bool holds, std::string_view what, double found) {
  if (!holds) throw InvalidArgument(fmt::format("{}, found {}", what, found));
}

}  // namespace

Optimizer::Optimizer(const Optimizer& other)
    : slot_names_(other.slot_names_),
      parameter_names_(other.parameter_names_),
      parameter_shapes_(other.parameter_shapes_),
      slots_(other.slots_),
      steps_(other.steps_.clone()) {
  for (auto& slot : slots_) {
    for (Tensor& tensor : slot) tensor = tensor.clone();
  }
}

void Optimizer::build(const std::vector<NamedTensor>& parameters) {
  if (!parameter_names_.empty()) {
    // Names can agree where sizes do not: two models of layers "dense", "dense_1", ...
    bool same = parameters.size() == parameter_names_.size();
    for (std::size_t p = 0; same && p < parameters.size(); ++p) {
      same = parameters[p].name == parameter_names_[p] &&
             parameters[p].tensor.shape() == parameter_shapes_[p];
    }
    if (!same) {
      throw InvalidArgument(fmt::format(
          "{}: the parameters are others than in the step before; use a new optimizer for a new "
          "model",
          type()));
    }
    return;
  }
  for (const auto& [name, tensor] : parameters) {
    parameter_names_.push_back(name);
    parameter_shapes_.push_back(tensor.shape());
  }
  slots_.assign(slot_names_.size(), {});
  for (auto& slot : slots_) {
    for (const auto& [name, tensor] : parameters) slot.push_back(Tensor::zeros(tensor.shape()));
  }
}

void Optimizer::step(const std::vector<NamedTensor>& parameters, float learning_rate) {
  require(learning_rate >= 0.0F && std::isfinite(learning_rate),
          "optimizer: expected a finite learning rate of 0 or more", learning_rate);
  build(parameters);
  steps_.data()[0] += 1.0F;
  const auto step = static_cast<double>(steps_.item());
  // The pieces of all parameters in one parallel loop: entering one costs as much as a small piece.
  struct Piece {
    std::size_t parameter, begin, size;
  };
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (!parameters[p].tensor.grad().defined()) continue;
    const std::size_t size = parameters[p].tensor.span().size();
    for (std::size_t begin = 0; begin < size; begin += kGrain) {
      pieces.push_back({p, begin, std::min(kGrain, size - begin)});
    }
  }
  parallel_for(pieces.size(), 1, [&](std::size_t first, std::size_t last) {
    std::vector<std::span<float>> slots(slots_.size());
    for (std::size_t i = first; i < last; ++i) {
      const auto [p, begin, size] = pieces[i];
      for (std::size_t s = 0; s < slots.size(); ++s) {
        slots[s] = slots_[s][p].span().subspan(begin, size);
      }
      Tensor parameter = parameters[p].tensor;
      update(parameter.span().subspan(begin, size), parameter.grad().span().subspan(begin, size),
             slots, learning_rate, step);
    }
  });
}

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> result = {{"steps", steps_}};
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    for (std::size_t p = 0; p < parameter_names_.size(); ++p) {
      result.push_back({slot_names_[s] + "/" + parameter_names_[p], slots_[s][p]});
    }
  }
  return result;
}

Sgd::Sgd(SgdOptions options) : Optimizer({"velocity"}), options_(options) {
  require(options.momentum >= 0.0F && options.momentum < 1.0F, "Sgd: expected a momentum in [0, 1)",
          options.momentum);
  require(options.weight_decay >= 0.0F, "Sgd: expected a weight decay of 0 or more",
          options.weight_decay);
}

void Sgd::update(std::span<float> parameter, std::span<const float> gradient,
                 const std::vector<std::span<float>>& slots, float learning_rate,
                 double /*step*/) const {
  float* __restrict w = parameter.data();
  float* __restrict velocity = slots[0].data();
  const float* __restrict g = gradient.data();
  const float momentum = options_.momentum;
  const float decay = options_.weight_decay;
  const float ahead = options_.nesterov ? momentum : 1.0F;
  const float direct = options_.nesterov ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    const float slope = g[i] + decay * w[i];
    velocity[i] = momentum * velocity[i] + slope;
    w[i] -= learning_rate * (direct * slope + ahead * velocity[i]);
  }
}

Adam::Adam(AdamOptions options, Decay decay)
    : Optimizer({"m", "v"}), options_(options), decay_(decay) {
  require(options.beta1 >= 0.0F && options.beta1 < 1.0F, "Adam: expected beta1 in [0, 1)",
          options.beta1);
  require(options.beta2 >= 0.0F && options.beta2 < 1.0F, "Adam: expected beta2 in [0, 1)",
          options.beta2);
  require(options.epsilon > 0.0F, "Adam: expected an epsilon above 0", options.epsilon);
  require(options.weight_decay >= 0.0F, "Adam: expected a weight decay of 0 or more",
          options.weight_decay);
}

void Adam::update(std::span<float> parameter, std::span<const float> gradient,
                  const std::vector<std::span<float>>& slots, float learning_rate,
                  double step) const {
  const auto beta1 = static_cast<double>(options_.beta1);
  const auto beta2 = static_cast<double>(options_.beta2);
  // Both corrections are made once a step: lr / (1 - b1^t), and 1 / sqrt(1 - b2^t).
  const AdamStep constants{
      .beta1 = options_.beta1,
      .beta2 = options_.beta2,
      .coupled = decay_ == Decay::coupled ? options_.weight_decay : 0.0F,
      .shrink = decay_ == Decay::decoupled ? learning_rate * options_.weight_decay : 0.0F,
      .rate =
          static_cast<float>(static_cast<double>(learning_rate) / (1.0 - std::pow(beta1, step))),
      .spread = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2, step))),
      .epsilon = options_.epsilon};
  kernels().passes.adam(parameter.data(), slots[0].data(), slots[1].data(), gradient.data(),
                        parameter.size(), constants);
}

double clip_gradients(const std::vector<NamedTensor>& parameters, double max_norm) {
  require(max_norm > 0.0, "clip_gradients: expected a norm above 0", max_norm);
  double squares = 0.0;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.grad().defined()) continue;
    for (const float g : tensor.grad().span()) {
      squares += static_cast<double>(g) * static_cast<double>(g);
    }
  }
  const double norm = std::sqrt(squares);
  if (!(norm > max_norm)) return norm;
  const auto scale = static_cast<float>(max_norm / norm);
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.grad().defined()) continue;
    Tensor gradient = tensor.grad();
    for (float& g : gradient.span()) g *= scale;
  }
  return norm;
}

}  // namespace octet
