#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/ops/fake_quant.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/quantizer_internal.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace octet {
namespace {

/// A copy of the observer that a learned scale starts from.
std::unique_ptr<Observer> observer_of(const Quantizer* start) {
  if (start == nullptr) {
    throw InvalidArgument(
        "Quantizer: expected a quantizer whose range a learned scale starts from, found null");
  }
  if (start->scale_rule() != nullptr) {
    throw InvalidArgument(
        fmt::format("Quantizer: expected a start from an observed range, found {}, whose scale is "
                    "learned",
                    start->type()));
  }
  return clone_of(start->observer(), start->type());
}

/// The axes of a tensor of `rank` with `axis` and the last one exchanged.
std::vector<Index> exchanged_with_last(int axis, Index rank) {
  std::vector<Index> axes;
  for (Index i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[static_cast<std::size_t>(axis)], axes.back());
  return axes;
}

}  // namespace

QuantParams detail::params_of(const ObservedRange& range, const QuantSpec& spec,
                              const std::string& owner) {
  return choose_quant_params(range.min.span(), range.max.span(), spec, owner);
}

detail::ObserverSnapshot::ObserverSnapshot(const Observer& observer) {
  const ObservedRange& range = observer.range();
  tensors_ = {range.min, range.max, range.updates};
  for (const auto& [name, tensor] : observer.counters()) tensors_.push_back(tensor);
  for (const Tensor& tensor : tensors_) {
    const std::span<const float> values = tensor.span();
    values_.insert(values_.end(), values.begin(), values.end());
  }
}

void detail::ObserverSnapshot::restore() {
  const float* from = values_.data();
  for (Tensor& tensor : tensors_) {
    std::copy_n(from, tensor.size(), tensor.mutable_data());
    from += tensor.size();
  }
}

std::string_view to_string(Simulation simulation) {
  switch (simulation) {
    case Simulation::integer:
      return "integer";
    case Simulation::fake_quant:
      return "fake_quant";
  }
  throw InvalidArgument("to_string: a Simulation outside the enumeration");
}

Quantizer::Quantizer(QuantSpec spec, std::unique_ptr<Observer> observer,
                     std::unique_ptr<ScaleRule> scale_rule)
    : spec_(spec),
      observer_(std::move(observer)),
      scale_rule_(std::move(scale_rule)),
      frozen_(Tensor::scalar(0.0F)) {
  if (observer_ == nullptr) throw InvalidArgument("Quantizer: expected an observer, found null");
  observer_->require_spec(spec_);
  if (scale_rule_) scale_rule_->require_spec(spec_);
  member_ = std::make_shared<Member>(Member{observer_->shared_range(), Tensor()});
}

Quantizer::Quantizer(std::unique_ptr<Quantizer> start, std::unique_ptr<ScaleRule> scale_rule)
    : Quantizer(start ? start->spec_ : QuantSpec{}, observer_of(start.get()),
                std::move(scale_rule)) {}

Quantizer::Quantizer(const Quantizer& other)
    : spec_(other.spec_),
      observer_(clone_of(*other.observer_, other.owner_)),
      scale_rule_(other.scale_rule_ ? clone_of(*other.scale_rule_, other.owner_) : nullptr),
      owner_(other.owner_),
      prefix_(other.prefix_),
      frozen_(clone_leaf(other.frozen_)),
      enabled_(other.enabled_),
      member_(std::make_shared<Member>(
          Member{observer_->shared_range(), clone_leaf(other.member_->zero_point)})) {
  // The zero point was that of the common range.
  if (other.tied()) keep_zero_point(detail::params_of(observer_->range(), spec_, owner_));
}

std::unique_ptr<Quantizer> Quantizer::clone() const { return std::make_unique<Quantizer>(*this); }

void Quantizer::build(std::string owner, std::string prefix, const Shape& shape,
                      ZeroPoint zero_point) {
  spec_.validate(owner);
  if (spec_.axis >= 0 && zero_point == ZeroPoint::kept) {
    throw InvalidArgument(fmt::format(
        "{}: expected one range for the tensor, found axis {}; only kernels have a range per "
        "channel",
        owner, spec_.axis));
  }
  const bool anew = built();
  observer_->build(spec_, owner, shape);
  owner_ = std::move(owner);
  prefix_ = std::move(prefix);
  // Anew: what was frozen is gone. Before that, freeze() is a wish for what is built.
  if (anew) frozen_ = Tensor::scalar(0.0F);
  member_->zero_point = zero_point == ZeroPoint::kept ? Tensor::scalar(0.0F) : Tensor();
  if (scale_rule_) {
    scale_rule_->build(spec_, owner_, prefix_, shape);
    if (has_range()) scale_rule_->start(common_range());
  }
  if (zero_point == ZeroPoint::kept)
    keep_zero_point(detail::params_of(common_range(), spec_, owner_));
}

void Quantizer::merge_calibrated(const Observer& before,
                                 std::span<const std::unique_ptr<Observer>> parts) {
  if (!frozen()) observer_->merge_calibrated(before, parts);
}

void Quantizer::settle_range() {
  if (!built() || frozen() || !has_range()) return;
  if (scale_rule_ && scale_rule_->follows_range()) scale_rule_->start(common_range());
  keep_zero_point(params());
}

void Quantizer::watch(const Tensor& x, const ForwardContext& context) {
  switch (context.mode) {
    case ForwardContext::Mode::inference:
      return;
    case ForwardContext::Mode::training:
      observe(x);
      return;
    case ForwardContext::Mode::calibration:
      calibrate(x);
      return;
  }
  throw InvalidArgument("Quantizer: a mode outside the enumeration");
}

void Quantizer::repair_scale(const Tensor& x) {
  if (x.size() > 0) observer_->require_finite(x);
  scale_rule_->repair();
  keep_zero_point(params());
}

void Quantizer::show(const Tensor& x, void (Observer::*how)(const Tensor&)) {
  if (!built()) throw InvalidArgument("Quantizer: observe() needs the state that build() makes");
  if (scale_rule_ && !scale_rule_->follows_range()) {
    repair_scale(x);
    return;
  }
  if (frozen() || x.size() == 0) return;
  detail::ObserverSnapshot before(*observer_);
  try {
    (observer_.get()->*how)(x);
    if (scale_rule_) scale_rule_->start(common_range());
    if (has_range()) keep_zero_point(params());
  } catch (...) {
    before.restore();
    throw;
  }
}

void Quantizer::require_learnable() const {
  const LearnedRange learned = learned_range();
  const std::size_t expected = parameters().size();
  if (learned.parameters.size() == expected && (expected == 0 || learned.gradients != nullptr)) {
    return;
  }
  throw InvalidArgument(fmt::format(
      "{}: expected gradients for the {} parameters of a {} quantizer, found them for {}; override "
      "ScaleRule::learned_range(), or train with Simulation::fake_quant",
      owner_, expected, type(), learned.gradients == nullptr ? 0 : learned.parameters.size()));
}

bool Quantizer::has_range() const {
  const Group* tied = group();
  if (tied == nullptr) return observer_->range().known();
  return built() && std::ranges::any_of(tied->members,
                                        [](const auto& member) { return member->range->known(); });
}

ObservedRange Quantizer::common_range() const {
  if (const Group* tied = group()) {
    ObservedRange range = tied->range();
    if (range.min.defined()) return range;
  }
  return observer_->range();
}

void Quantizer::keep_zero_point(const QuantParams& params) const {
  const auto keep = [&params](Member& member) {
    if (member.zero_point.defined()) {
      member.zero_point.mutable_data()[0] = static_cast<float>(params.zero_point());
    }
  };
  if (const Group* tied = group()) {
    for (const auto& member : tied->members) keep(*member);
  } else {
    keep(*member_);
  }
}

void Quantizer::require_range() const {
  if (!built()) {
    throw InvalidArgument(
        fmt::format("{} quantizer: expected one with its range, found one that was not built; the "
                    "layer that it belongs to builds it",
                    type()));
  }
  if (!has_range()) {
    throw InvalidArgument(fmt::format(
        "{}: no range has been observed yet; train a step or calibrate() first", owner_));
  }
}

QuantParams Quantizer::params() const {
  require_range();
  if (scale_rule_) return scale_rule_->params();
  QuantParams params = detail::params_of(common_range(), spec_, owner_);
  params.quantized_dimension = std::max(spec_.axis, 0);
  return params;
}

Tensor Quantizer::fake_quant(const Tensor& x) const {
  if (!enabled_) return x;
  require_range();
  if (scale_rule_) {
    return with_channels_last(x, [this](const Tensor& t) { return scale_rule_->fake_quant(t); });
  }
  const auto [min, max, updates, usable_from_start] = common_range();
  if (spec_.axis < 0 && observer_->is_constant()) {
    return fake_quant_with_min_max_args(x, min.item(), max.item(), spec_.num_bits,
                                        spec_.narrow_range, owner_);
  }
  if (spec_.axis < 0) {
    return fake_quant_with_min_max_vars(x, min, max, spec_.num_bits, spec_.narrow_range, owner_);
  }
  const auto per_channel = [&, &low = min, &high = max](const Tensor& t) {
    return fake_quant_with_min_max_vars_per_channel(t, low, high, spec_.num_bits,
                                                    spec_.narrow_range, owner_);
  };
  return with_channels_last(x, per_channel);
}

Tensor Quantizer::with_channels_last(const Tensor& x,
                                     FunctionRef<Tensor(const Tensor&)> run) const {
  const Index rank = x.shape().rank();
  if (spec_.axis < 0 || spec_.axis == rank - 1) return run(x);
  if (spec_.axis >= rank) {
    throw InvalidArgument(fmt::format("{}: expected channels on axis {}, found {}", owner_,
                                      spec_.axis, x.shape().to_string()));
  }
  const auto axes = exchanged_with_last(spec_.axis, rank);
  return permute(run(permute(x, axes)), axes);
}

Tensor Quantizer::quantize_dequantize(const Tensor& x, RoundMode mode) const {
  if (!enabled_) return x;
  const auto grid = std::make_shared<const QuantParams>(params());
  if (grid->per_channel()) {
    throw InvalidArgument(fmt::format(
        "{}: quantize_dequantize() expected one range for the tensor, found {}; use fake_quant()",
        owner_, grid->channels()));
  }
  return octet::quantize_dequantize(x, grid, mode, learned_range());
}

/// Puts tensors of a part of the quantizer behind `list`, under its prefix.
void Quantizer::append_named(std::vector<NamedTensor>& list,
                             const std::vector<NamedTensor>& part) const {
  for (const auto& [name, tensor] : part) list.push_back({prefix_ + name, tensor});
}

LearnedRange Quantizer::learned_range() const {
  return scale_rule_ && built() ? scale_rule_->learned_range() : LearnedRange{};
}

std::vector<NamedTensor> Quantizer::parameters() const {
  std::vector<NamedTensor> result;
  if (scale_rule_) append_named(result, scale_rule_->parameters());
  return result;
}

std::vector<NamedTensor> Quantizer::state() const {
  if (!built()) return {};
  std::vector<NamedTensor> result = {{prefix_ + "min", min()}, {prefix_ + "max", max()}};
  if (member_->zero_point.defined()) {
    result.push_back({prefix_ + "zero_point", member_->zero_point});
  }
  return result;
}

std::vector<NamedTensor> Quantizer::counters() const {
  if (!built()) return {};
  std::vector<NamedTensor> result = {{prefix_ + "updates", observer_->range().updates},
                                     {prefix_ + "frozen", frozen_}};
  append_named(result, observer_->counters());
  if (scale_rule_) append_named(result, scale_rule_->counters());
  return result;
}

}  // namespace octet
