#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/kernels/adam_step.h>
#include <octet/core/kernels/isa.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/optimizer_internal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace octet {

using detail::TensorAccess;

namespace {

constexpr std::size_t kGrain = 1U << 14;

/// A parameter that has a gradient, and its moments.
struct Target {
  Tensor tensor;
  std::span<float> values;
  std::vector<std::span<float>> slots;
  bool limits_wanted;
};

/// Elements [begin, begin + size) of a target, and what their limits have become.
struct Piece {
  std::size_t target, begin, size;
  MinMax limits;
};

/// Where each task begins among the pieces, and the end of the last: tasks of about the same size,
/// so that each thread's share is the same in every step and stays in its caches.
std::vector<std::size_t> tasks_of(const std::vector<Piece>& pieces) {
  constexpr std::size_t kLeastSize = 3U << 12;
  std::vector<std::size_t> begins = {0};
  std::size_t size = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    size += pieces[i].size;
    if (size < kLeastSize && i + 1 < pieces.size()) continue;
    begins.push_back(i + 1);
    size = 0;
  }
  return begins;
}

bool is_pending(const Tensor& gradient) {
  return gradient.defined() && TensorAccess::pending(gradient) != nullptr;
}

void add_pieces(const Tensor& parameter, std::size_t number, std::vector<Piece>& pieces) {
  const Tensor& gradient = parameter.grad();
  if (!gradient.defined()) return;
  const auto size = static_cast<std::size_t>(parameter.size());
  const std::size_t grain = is_pending(gradient) ? TensorAccess::pending(gradient)->grain : kGrain;
  for (std::size_t begin = 0; begin < size; begin += grain) {
    pieces.push_back({number, begin, std::min(grain, size - begin), {}});
  }
}

/// The memory that the update of a piece accesses besides the gradient: the hint for prefetching.
class PieceMemory {
 public:
  PieceMemory(const Target& target, const Piece& piece) {
    parts_[0] = target.values.subspan(piece.begin, piece.size);
    // The first three moments, if there are more.
    const std::size_t slots = std::min(target.slots.size(), parts_.size() - 1);
    for (std::size_t s = 0; s < slots; ++s) {
      parts_[s + 1] = target.slots[s].subspan(piece.begin, piece.size);
    }
    count_ = slots + 1;
  }
  MemoryParts parts() const { return std::span(parts_).first(count_); }

 private:
  std::array<std::span<const float>, 4> parts_;
  std::size_t count_;
};

/// Returns the gradient of a piece. A pending one is computed into `scratch`, which stays in the
/// cache until the update has read it.
std::span<const float> gradient_piece(const Target& target, const Piece& piece, float* scratch) {
  const Tensor& gradient = target.tensor.grad();
  if (!is_pending(gradient)) return gradient.span().subspan(piece.begin, piece.size);
  const PieceMemory memory(target, piece);
  TensorAccess::pending(gradient)->compute(piece.begin, piece.begin + piece.size, scratch,
                                           memory.parts());
  return {scratch, piece.size};
}

/// Clears the gradients that were computed a piece at a time: after the step they could not be
/// computed again from the old parameters.
void drop_pending_gradients(std::vector<Target>& targets) {
  for (Target& target : targets) {
    if (is_pending(target.tensor.grad())) target.tensor.zero_grad();
  }
}

/// Stores the limits of the new parameters, measured while they were in the cache: the kernel
/// ranges of the next forward pass need them.
void remember_limits(std::vector<Target>& targets, const std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < pieces.size();) {
    const std::size_t number = pieces[i].target;
    MinMax limits = pieces[i].limits;
    for (; i < pieces.size() && pieces[i].target == number; ++i) limits.include(pieces[i].limits);
    if (targets[number].limits_wanted) TensorAccess::set_limits(targets[number].tensor, limits);
  }
}

/// Returns alternating orders, so that a step begins with what the previous one left in the caches.
TaskOrder order_of(double step) {
  return std::fmod(step, 2.0) == 0.0 ? TaskOrder::ascending : TaskOrder::descending;
}

void require(bool holds, std::string_view what, double found) {
  if (!holds) throw InvalidArgument(fmt::format("{}, found {}", what, found));
}

}  // namespace

Optimizer::Optimizer(const Optimizer& other)
    : rate_(other.rate_),
      slot_names_(other.slot_names_),
      parameter_names_(other.parameter_names_),
      parameter_shapes_(other.parameter_shapes_),
      groups_(other.groups_),
      group_of_(other.group_of_),
      slots_(other.slots_),
      steps_(other.steps_.clone()) {
  for (auto& slot : slots_) {
    for (Tensor& tensor : slot) tensor = tensor.clone();
  }
}

void Optimizer::add_group(ParameterGroup group) {
  if (!parameter_names_.empty()) {
    throw InvalidArgument(
        fmt::format("{}: a group was added after the moments were made; add groups before the "
                    "first step",
                    type()));
  }
  if (!group.contains) {
    throw InvalidArgument(fmt::format("{}: expected a group with a function `contains`", type()));
  }
  require(group.rate_factor >= 0.0F && std::isfinite(group.rate_factor),
          "optimizer: expected a finite rate factor of 0 or more", group.rate_factor);
  if (group.weight_decay) {
    require(*group.weight_decay >= 0.0F && std::isfinite(*group.weight_decay),
            "optimizer: expected a finite weight decay of 0 or more", *group.weight_decay);
    if (weight_decay() == nullptr && *group.weight_decay != 0.0F) {
      throw InvalidArgument(
          fmt::format("{}: a group has a weight decay, the optimizer knows none", type()));
    }
  }
  groups_.push_back(std::move(group));
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
  std::vector<std::string> names;
  names.reserve(parameters.size());
  for (const NamedTensor& named : parameters) names.push_back(named.name);
  group_of_ = detail::group_of_each(groups_, names);
  parameter_names_ = std::move(names);
  for (const NamedTensor& named : parameters) parameter_shapes_.push_back(named.tensor.shape());
  slots_.assign(slot_names_.size(), {});
  for (auto& slot : slots_) {
    for (const auto& [name, tensor] : parameters) slot.push_back(Tensor::zeros(tensor.shape()));
  }
}

/// One step of an optimizer over all of its parameters.
struct Optimizer::Step {
  const Optimizer& optimizer;
  const detail::MeasuredUpdate* measured;
  std::vector<Target> targets;
  /// The pieces of all parameters in one parallel loop: entering one costs as much as a small
  /// piece.
  std::vector<Piece> pieces;

  /// Adds a parameter, unless it has no gradient; its moments are slots[s][number].
  void add(Tensor tensor, std::size_t number, std::vector<std::vector<Tensor>>& slots) {
    if (!tensor.grad().defined()) return;
    add_pieces(tensor, targets.size(), pieces);
    // tensor.span() below drops the limits.
    const bool limits_wanted = TensorAccess::has_limits(tensor);
    targets.push_back({tensor, tensor.mutable_span(), {}, limits_wanted});
    targets.back().slots.reserve(slots.size());
    for (auto& slot : slots) targets.back().slots.push_back(slot[number].mutable_span());
  }

  void run(TaskOrder order) {
    const std::vector<std::size_t> begins = tasks_of(pieces);
    parallel_tasks(
        begins.size() - 1,
        [&](std::size_t task) {
          for (std::size_t i = begins[task]; i < begins[task + 1]; ++i) update(pieces[i]);
        },
        order);
    drop_pending_gradients(targets);
    remember_limits(targets, pieces);
  }

 private:
  /// Updates a piece in parts small enough that limits are measured while they are in the cache.
  void update(Piece& piece) const {
    const Target& target = targets[piece.target];
    const bool pending = is_pending(target.tensor.grad());
    const ScratchBuffer<float, Piece> scratch(pending ? piece.size : 0);
    const std::span<const float> gradient = gradient_piece(target, piece, scratch.data());
    for (std::size_t at = 0; at < piece.size; at += kGrain) {
      const std::size_t begin = piece.begin + at;
      const std::size_t size = std::min(kGrain, piece.size - at);
      const ParameterPart part{target.values.subspan(begin, size), gradient.subspan(at, size),
                               target.slots, begin};
      if (!target.limits_wanted) {
        optimizer.update(part);
        continue;
      }
      const MinMax limits = update_and_measure(part);
      if (at == 0) piece.limits = limits;
      piece.limits.include(limits);
    }
  }

  MinMax update_and_measure(const ParameterPart& part) const {
    if (measured != nullptr) return measured->run(part);
    optimizer.update(part);
    return min_max(part.parameter);
  }
};

void Optimizer::step(const std::vector<NamedTensor>& parameters) {
  step(parameters, learning_rate(static_cast<std::uint64_t>(steps_.item())));
}

void Optimizer::step(const std::vector<NamedTensor>& parameters, float learning_rate) {
  require(learning_rate >= 0.0F && std::isfinite(learning_rate),
          "optimizer: expected a finite learning rate of 0 or more", learning_rate);
  build(parameters);
  steps_.mutable_data()[0] += 1.0F;
  const auto number = static_cast<double>(steps_.item());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParameterGroup& group = groups_[g];
    float* const decay = group.weight_decay ? weight_decay() : nullptr;
    const float own_decay = decay != nullptr ? std::exchange(*decay, *group.weight_decay) : 0.0F;
    step_group(g, parameters, learning_rate * group.rate_factor, number);
    if (decay != nullptr) *decay = own_decay;
  }
  step_group(groups_.size(), parameters, learning_rate, number);
}

void Optimizer::step_group(std::size_t group, const std::vector<NamedTensor>& parameters,
                           float rate, double number) {
  begin_step(rate, number);
  Step step{*this, measured_update(), {}, {}};
  step.targets.reserve(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (group_of_[p] == group) step.add(parameters[p].tensor, p, slots_);
  }
  step.run(order_of(number));
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

Sgd::Sgd(LearningRate rate, SgdOptions options)
    : Optimizer({"velocity"}, std::move(rate)), options_(options) {
  require(options.momentum >= 0.0F && options.momentum < 1.0F, "Sgd: expected a momentum in [0, 1)",
          options.momentum);
  require(options.weight_decay >= 0.0F, "Sgd: expected a weight decay of 0 or more",
          options.weight_decay);
}

void Sgd::begin_step(float learning_rate, double /*step*/) { learning_rate_ = learning_rate; }

void Sgd::update(const ParameterPart& part) const {
  float* __restrict w = part.parameter.data();
  float* __restrict velocity = part.slot(0).data();
  const float* __restrict g = part.gradient.data();
  const float momentum = options_.momentum;
  const float decay = options_.weight_decay;
  const float rate = learning_rate_;
  const float ahead = options_.nesterov ? momentum : 1.0F;
  const float direct = options_.nesterov ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < part.parameter.size(); ++i) {
    const float slope = g[i] + decay * w[i];
    velocity[i] = momentum * velocity[i] + slope;
    w[i] -= rate * (direct * slope + ahead * velocity[i]);
  }
}

class Adam::Pass : public detail::MeasuredUpdate {
 public:
  explicit Pass(const AdamStep& step) : step_(step) {}

  MinMax run(const ParameterPart& part) const override {
    MinMax limits;
    run(part, &limits);
    return limits;
  }
  void run(const ParameterPart& part, MinMax* limits) const {
    kernels().passes.adam(part.parameter.data(), part.slot(0).data(), part.slot(1).data(),
                          part.gradient.data(), part.parameter.size(), step_, limits);
  }

 private:
  AdamStep step_;
};

Adam::Adam(LearningRate rate, AdamOptions options, Decay decay)
    : Optimizer({"m", "v"}, std::move(rate)), options_(options), decay_(decay) {
  require(options.beta1 >= 0.0F && options.beta1 < 1.0F, "Adam: expected beta1 in [0, 1)",
          options.beta1);
  require(options.beta2 >= 0.0F && options.beta2 < 1.0F, "Adam: expected beta2 in [0, 1)",
          options.beta2);
  require(options.epsilon > 0.0F, "Adam: expected an epsilon above 0", options.epsilon);
  require(options.weight_decay >= 0.0F, "Adam: expected a weight decay of 0 or more",
          options.weight_decay);
}

void Adam::begin_step(float learning_rate, double step) {
  const auto beta1 = static_cast<double>(options_.beta1);
  const auto beta2 = static_cast<double>(options_.beta2);
  // Both corrections are made once per step: lr / (1 - b1^t), and 1 / sqrt(1 - b2^t).
  const double rate = static_cast<double>(learning_rate) / (1.0 - std::pow(beta1, step));
  // A little above the least normal number, so that no rounding on the way leads below it.
  constexpr double kLeast = 0x1.01p-126;
  pass_ = std::make_shared<const Pass>(
      AdamStep{.beta1 = options_.beta1,
               .beta2 = options_.beta2,
               .coupled = decay_ == Decay::coupled ? options_.weight_decay : 0.0F,
               .shrink = decay_ == Decay::decoupled ? learning_rate * options_.weight_decay : 0.0F,
               .rate = static_cast<float>(rate),
               .spread = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(beta2, step))),
               .epsilon = options_.epsilon,
               .least_slope = static_cast<float>(std::sqrt(kLeast / (1.0 - beta2))),
               .least_mean = static_cast<float>(std::min(kLeast / rate, 1.0))});
}

void Adam::update(const ParameterPart& part) const { pass_->run(part, nullptr); }

const detail::MeasuredUpdate* Adam::measured_update() const { return pass_.get(); }

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
    for (float& g : gradient.mutable_span()) g *= scale;
  }
  return norm;
}

}  // namespace octet
