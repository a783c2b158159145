#pragma once

#include <octet/layers/layer.h>
#include <octet/train/parameter_group.h>
#include <octet/train/schedule.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace octet {

namespace detail {
class MeasuredUpdate;
}

/// Some neighbouring elements of a parameter in a step.
struct ParameterPart {
  std::span<float> parameter;
  std::span<const float> gradient;
  /// Moments, each of the whole parameter.
  std::span<const std::span<float>> slots;
  /// Where parameter[0] stands in the whole parameter.
  std::size_t begin;

  /// Moment s of these elements.
  std::span<float> slot(std::size_t s) const { return slots[s].subspan(begin, parameter.size()); }
};

/// Moves parameters against their gradients. Its own tensors (moments, in `slots`) are made at the
/// first step and saved in checkpoints. A whole optimizer, w -= lr * sign(g) (Bernstein et al.,
/// "signSGD", ICML 2018):
///
///     class SignSgd : public Optimizer {
///      public:
///       explicit SignSgd(LearningRate rate) : Optimizer({}, std::move(rate)) {}
///       std::string_view type() const override { return "SignSgd"; }
///       std::unique_ptr<Optimizer> clone() const override {
///         return std::make_unique<SignSgd>(*this);
///       }
///
///      protected:
///       void begin_step(float learning_rate, double) override { rate_ = learning_rate; }
///       void update(const ParameterPart& part) const override {
///         for (std::size_t i = 0; i < part.parameter.size(); ++i) {
///           const float g = part.gradient[i];
///           part.parameter[i] -= rate_ * static_cast<float>((g > 0.0F) - (g < 0.0F));
///         }
///       }
///
///      private:
///       float rate_ = 0.0F;
///     };
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// One step at the optimizer's own rate on every parameter that has a gradient: the rate that its
  /// schedule gives for the number of steps done so far.
  void step(const std::vector<NamedTensor>& parameters);
  /// Takes one step at the rate `learning_rate`, whatever the schedule. Throws InvalidArgument
  /// unless 0 <= learning_rate < infinity, or where the parameters are others than in the step
  /// before. At 0, where a schedule may end, only the moments change. Gradients that nobody has
  /// looked at are made here, block by block, and are undefined after.
  void step(const std::vector<NamedTensor>& parameters, float learning_rate);

  /// Adds a group. A parameter belongs to the first group that contains it.
  ///
  ///     Adam adam(1e-3F, {.weight_decay = 1e-4F});
  ///     adam.add_group({.contains = in_layers({"head"}), .rate_factor = 10.0F});
  ///
  /// Throws InvalidArgument for a factor or a weight decay that is negative or not finite, a weight
  /// decay above 0 where the optimizer has none, and once the moments are made; step() and build()
  /// throw for a group that contains no parameter.
  void add_group(ParameterGroup group);

  /// The rate of step `step`, counted from 0.
  float learning_rate(std::uint64_t step) const { return rate_.at(step); }

  virtual std::string_view type() const = 0;
  /// Moments by name, "<slot>/<parameter>", and the number of steps.
  std::vector<NamedTensor> state() const;
  /// Makes the moments for `parameters` where there are none yet.
  void build(const std::vector<NamedTensor>& parameters);
  virtual std::unique_ptr<Optimizer> clone() const = 0;

 protected:
  explicit Optimizer(std::vector<std::string> slots, LearningRate rate = 1e-3F)
      : rate_(std::move(rate)), slot_names_(std::move(slots)) {}
  Optimizer(const Optimizer& other);
  Optimizer& operator=(const Optimizer&) = delete;

  /// Once before the updates of a step: what they have in common. `step` counts from 1.
  virtual void begin_step(float learning_rate, double step) = 0;
  /// Changes part.parameter[i] given part.gradient[i] and the moments part.slot(s)[i]. Threads call
  /// it at once, each for elements of its own.
  virtual void update(const ParameterPart& part) const = 0;
  /// Where the optimizer keeps its weight decay, which begin_step() reads; null where it has none.
  virtual float* weight_decay() { return nullptr; }

 private:
  struct Step;
  void step_group(std::size_t group, const std::vector<NamedTensor>& parameters, float rate,
                  double number);
  /// How this step's update() measures what it writes in the same pass; null where it does not. For
  /// Octet's own optimizers.
  virtual const detail::MeasuredUpdate* measured_update() const { return nullptr; }

  LearningRate rate_;
  std::vector<std::string> slot_names_;
  std::vector<std::string> parameter_names_;
  std::vector<Shape> parameter_shapes_;
  std::vector<ParameterGroup> groups_;
  /// By parameter; groups_.size() where it belongs to none.
  std::vector<std::size_t> group_of_;
  /// slots_[s][p] belongs to parameter p.
  std::vector<std::vector<Tensor>> slots_;
  Tensor steps_ = Tensor::scalar(0.0F);
};

struct SgdOptions {
  float momentum = 0.0F;
  bool nesterov = false;
  /// L2: weight_decay * w is added to the gradient.
  float weight_decay = 0.0F;
};

/// v = momentum * v + g; w -= lr * v, or lr * (g + momentum * v) with Nesterov (Sutskever et al.,
/// ICML 2013, in the form of PyTorch).
class Sgd : public Optimizer {
 public:
  explicit Sgd(LearningRate rate = 1e-3F, SgdOptions options = {});
  explicit Sgd(SgdOptions options) : Sgd(1e-3F, options) {}
  std::string_view type() const override { return "Sgd"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Sgd>(*this); }

 protected:
  void begin_step(float learning_rate, double step) override;
  void update(const ParameterPart& part) const override;
  float* weight_decay() override { return &options_.weight_decay; }

 private:
  SgdOptions options_;
  float learning_rate_ = 0.0F;
};

struct AdamOptions {
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  /// As in Keras; PyTorch has 1e-8.
  float epsilon = 1e-7F;
  /// Adam: weight_decay * w is added to the gradient. AdamW: w -= lr * weight_decay * w.
  float weight_decay = 0.0F;
};

/// m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
/// w -= lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
/// (Kingma and Ba, ICLR 2015).
class Adam : public Optimizer {
 public:
  explicit Adam(LearningRate rate = 1e-3F, AdamOptions options = {})
      : Adam(std::move(rate), options, Decay::coupled) {}
  explicit Adam(AdamOptions options) : Adam(1e-3F, options) {}
  std::string_view type() const override { return "Adam"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<Adam>(*this); }

 protected:
  enum class Decay { coupled, decoupled };
  Adam(LearningRate rate, AdamOptions options, Decay decay);
  /// Final, as update(): a step may run both in one pass that also measures.
  void begin_step(float learning_rate, double step) final;
  void update(const ParameterPart& part) const final;
  float* weight_decay() final { return &options_.weight_decay; }

 private:
  class Pass;
  const detail::MeasuredUpdate* measured_update() const final;

  AdamOptions options_;
  Decay decay_;
  /// Made by begin_step().
  std::shared_ptr<const Pass> pass_;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter, ICLR 2019).
class AdamW : public Adam {
 public:
  explicit AdamW(LearningRate rate = 1e-3F, AdamOptions options = {.weight_decay = 0.01F})
      : Adam(std::move(rate), options, Decay::decoupled) {}
  explicit AdamW(AdamOptions options) : AdamW(1e-3F, options) {}
  std::string_view type() const override { return "AdamW"; }
  std::unique_ptr<Optimizer> clone() const override { return std::make_unique<AdamW>(*this); }
};

/// Scales all gradients by max_norm / norm where their common Euclidean norm is above `max_norm`;
/// returns the norm before. Throws InvalidArgument unless max_norm > 0.
double clip_gradients(const std::vector<NamedTensor>& parameters, double max_norm);

}  // namespace octet
