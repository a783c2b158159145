// The quantizers inside a quantized layer without weights(): of what its operators give before its
// result, and of the tensors that they read.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/config_description.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/layers/quantize/quantize_wrapper.h>
#include <octet/layers/quantize/result_configs.h>
#include <octet/layers/quantize/result_rule.h>
#include <octet/layers/quantize/second_factors.h>
#include <octet/layers/quantize/step_rules.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace octet {

/// A step inside the layer, or its kernel, and the position of its quantizer.
struct QuantizeWrapper::Inner {
  /// The step whose result it is, or whose kernel.
  std::size_t step;
  bool is_kernel;
  /// Position in inner_; kOfResult for a step that shares the quantizer of the layer's result.
  std::size_t slot;
  static constexpr std::size_t kOfResult = static_cast<std::size_t>(-1);
};

/// What reads the result of a step.
enum class QuantizeWrapper::ReadAs { value, second_factor, radicand };

/// The steps, and the kernels, that have a quantizer in inner_: several have one in common where
/// they read the kernel of one name, or share their range.
std::vector<QuantizeWrapper::Inner> QuantizeWrapper::inner_values(std::span<const Step> steps,
                                                                  std::size_t of_result,
                                                                  ResultRule rule) const {
  const bool is_measured = rule == ResultRule::measured;
  if (has_kernel() || rule == ResultRule::unknown || (result_ != nullptr) != is_measured) return {};
  std::vector<Inner> found;
  std::size_t slots = 0;
  std::map<std::string, std::size_t> of_kernel;
  std::map<std::size_t, std::size_t> of_range;
  if (is_measured && steps[of_result].range_key) {
    of_range[*steps[of_result].range_key] = Inner::kOfResult;
  }
  const auto slot_in = [&](auto& slots_by_key, const auto& key) {
    const auto [at, is_new] = slots_by_key.try_emplace(key, slots);
    if (is_new) ++slots;
    return at->second;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.kind == Step::Kind::linear) {
      found.push_back({i, true, slot_in(of_kernel, step.weights_name)});
    }
    if ((is_measured && i == of_result) || !measures_result(step, config_->options().rounding)) {
      continue;
    }
    const std::size_t slot = step.range_key ? slot_in(of_range, *step.range_key) : slots++;
    found.push_back({i, false, slot});
  }
  return found;
}

/// The quantizer of a step's result or kernel that a file has under `prefix`, or the config gives.
std::unique_ptr<Quantizer> QuantizeWrapper::new_inner_quantizer(const Step& step, bool of_kernel,
                                                                ReadAs read_as,
                                                                const std::string& prefix) const {
  if (described_inner_) {
    return described_inner_->has(prefix) ? quantizer_in(*described_inner_, prefix) : nullptr;
  }
  if (step.gives_zeros) {
    return std::make_unique<FixedQuantizer>(-1.0F, 1.0F, activation_spec(config_->options()));
  }
  if (of_kernel) return config_->parameter_quantizer(*layer_, weights_of(step).unit_axis);
  if (step.kind == Step::Kind::parameter) {
    return config_->parameter_quantizer(*layer_, step.weights ? QuantizeConfig::kOneScale : -1);
  }
  switch (read_as) {
    case ReadAs::value:
      return config_->activation_quantizer(*layer_);
    case ReadAs::second_factor:
      return config_->factor_quantizer(*layer_);
    case ReadAs::radicand:
      return config_->radicand_quantizer(*layer_);
  }
  throw InvalidArgument("inner quantizers: a ReadAs outside the enumeration");
}

/// Makes and builds the quantizers of inner_, named as the tensors in files.
void QuantizeWrapper::build_inner_quantizers() {
  const Program program = program_of(*layer_);
  if (program.steps.empty()) return;
  const ResultRule rule = result_rule(*layer_, config_->options().rounding);
  const std::size_t of_result = step_of_result(program.steps, rule);
  const bool gives_factor = dynamic_cast<const FactorConfig*>(config_.get()) != nullptr;
  const std::vector<bool> is_factor =
      second_factors(program, config_->options().rounding, gives_factor);
  const std::vector<bool> is_radicand = radicands(program, config_->options().rounding);
  std::size_t built = 0;
  std::set<std::string> names;
  for (const Inner& inner : inner_values(program.steps, of_result, rule)) {
    if (inner.slot != built) continue;
    const Step& step = program.steps[inner.step];
    const LayerWeights weights = inner.is_kernel ? weights_of(step) : LayerWeights{};
    const bool is_tensor = inner.is_kernel || step.kind == Step::Kind::parameter;
    inner_trains_ = inner_trains_ || is_tensor;
    const Program::Value& value = program.values[step.range_key.value_or(step.result)];
    std::string name = inner.is_kernel ? step.weights_name : value.suffix;
    if (name.starts_with('/')) name.erase(0, 1);
    std::ranges::replace(name, '/', '_');
    if (built++ == inner_.size()) {
      const ReadAs read_as = is_factor[step.result]     ? ReadAs::second_factor
                             : is_radicand[step.result] ? ReadAs::radicand
                                                        : ReadAs::value;
      inner_.push_back(new_inner_quantizer(step, inner.is_kernel, read_as, name + "_"));
    }
    Quantizer* const quantizer = inner_[inner.slot].get();
    if (quantizer == nullptr) continue;
    if (!names.insert(name).second) {
      throw InvalidArgument(fmt::format(
          "layer \"{}\" of type {}: expected other names for the kernels and parameters of emit() "
          "than the suffixes of its values, found \"{}\" twice",
          layer_->name(), layer_->type(), name));
    }
    quantizer->build(this->name() + "/" + name + (inner.is_kernel ? "" : "_range"), name + "_",
                     inner.is_kernel ? weights.kernel.shape() : value.shape,
                     inner.is_kernel ? Quantizer::ZeroPoint::hidden : Quantizer::ZeroPoint::kept);
  }
}

void QuantizeWrapper::give_inner_quantizers(std::span<Step> steps, std::size_t of_result,
                                            ResultRule rule) const {
  for (const Inner& inner : inner_values(steps, of_result, rule)) {
    StepScheme* const scheme = steps[inner.step].scheme.get();
    Quantizer* const quantizer =
        inner.slot == Inner::kOfResult ? result_.get() : inner_[inner.slot].get();
    if (scheme != nullptr) (inner.is_kernel ? scheme->kernel : scheme->result) = quantizer;
  }
}

std::vector<std::pair<Quantizer*, Tensor>> QuantizeWrapper::trained_tensors() const {
  if (kernel_) return {{kernel_.get(), layer_->weights()->kernel}};
  if (!inner_trains_) return {};
  std::vector<std::pair<Quantizer*, Tensor>> trained;
  const Program program = program_of(*layer_);
  const ResultRule rule = result_rule(*layer_, config_->options().rounding);
  for (const Inner& inner :
       inner_values(program.steps, step_of_result(program.steps, rule), rule)) {
    const Step& step = program.steps[inner.step];
    const bool is_tensor = inner.is_kernel || step.kind == Step::Kind::parameter;
    Quantizer* const quantizer = is_tensor ? inner_[inner.slot].get() : nullptr;
    const auto same = [&](const auto& other) { return other.first == quantizer; };
    if (quantizer == nullptr || std::ranges::any_of(trained, same)) continue;
    trained.emplace_back(quantizer, inner.is_kernel ? weights_of(step).kernel : parameter_of(step));
  }
  return trained;
}

}  // namespace octet
