// What a Trainer does in an epoch: steps.

#include <fmt/core.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/core/ops/elementwise.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/layers/quantize/gradient_angles.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/distributed/messages.h>
#include <octet/train/distributed/sharded_step.h>
#include <octet/train/faults.h>
#include <octet/train/model_inputs.h>
#include <octet/train/sample_weights.h>
#include <octet/train/trainer.h>

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

/// Streams of the trainer's seed: what draws numbers for steps must not draw those of the loader.
constexpr std::uint64_t kStepStream = 0x57E9;
/// Stream of the seeds of a batch's shards.
constexpr std::uint64_t kShardStream = 0x5AA2D;
/// The number of steps in which the angles of gradients are measured, where there are so many.
constexpr std::uint64_t kMeasuredSteps = 12;

/// Whether `step`, counted from 0, is one of kMeasuredSteps of all `steps`, the first and the last
/// among them, at distances that differ by 1 at most.
bool is_measured(std::uint64_t step, std::uint64_t steps) {
  if (step == 0 || steps <= kMeasuredSteps) return true;
  const auto part = [&](std::uint64_t at) { return at * (kMeasuredSteps - 1) / (steps - 1); };
  return part(step) != part(step - 1);
}

bool next_shards(DataLoader& loader, std::vector<Batch>& shards) {
  const ProfileScope scope("data");
  return loader.next(shards);
}

/// The class of each example: its label, or the largest of its shares where an Augment has made
/// such of it, one for each output. None of other targets.
std::optional<Labels> classes_in(const Targets& targets, const Shape& outputs,
                                 std::optional<float> threshold) {
  if (targets.are_labels()) return targets.labels();
  if (outputs.rank() != 2 || targets.values().shape() != outputs) return std::nullopt;
  return classes_of(targets.values(), threshold ? std::optional(0.5F) : std::nullopt);
}

}  // namespace

bool Trainer::run_epoch(DataLoader& loader, Index last) {
  ProcessGroup& group = group_or_alone(options_.group);
  std::optional<detail::ShardedStep> sharded;
  if (options_.shards > 1 || options_.gradients != GradientFormat::float32) {
    sharded.emplace(*model_, detail::ShardTree(options_.shards, group), group, options_.gradients,
                    gradient_errors_);
  }
  const double begin = detail::clock_seconds();
  const double seconds_before = sums_.seconds;
  double seconds_profiled = seconds_before;
  std::vector<Batch> shards;
  const Profiling profiling(options_.profile);
  tell_place();
  while (next_shards(loader, shards)) {
    for (const auto& callback : callbacks_) callback->on_step_begin(*this, step_);
    if (freezes_batch_norm(loader, last)) freeze_batch_norm(*model_);
    run_step(loader, shards, sharded ? &*sharded : nullptr, angles_of_step(loader, last));
    ++step_;
    position_ = loader.position();
    sums_.seconds = seconds_before + detail::clock_seconds() - begin;
    for (const auto& callback : callbacks_) callback->on_step_end(*this, progress(loader, last));
    if (options_.profile != nullptr) {
      options_.profile->add_whole(sums_.seconds - seconds_profiled, 1);
      seconds_profiled = sums_.seconds;
    }
    if (asked_to_stop()) return false;
    tell_place();
  }
  return true;
}

void Trainer::tell_place() const {
  if (options_.group != nullptr) options_.group->set_place(place());
}

bool Trainer::asked_to_stop() const {
  if (!options_.should_stop) return false;
  ProcessGroup& group = group_or_alone(options_.group);
  return broadcast_flag(group, group.is_root() && options_.should_stop());
}

GradientAngles* Trainer::angles_of_step(const DataLoader& loader, Index last) const {
  if (options_.angles == nullptr || !is_measured(step_, steps_of_epochs(loader, last))) {
    return nullptr;
  }
  options_.angles->begin_step(step_ + 1);
  return options_.angles;
}

void Trainer::run_step(DataLoader& loader, std::vector<Batch>& shards, detail::ShardedStep* sharded,
                       GradientAngles* angles) {
  const auto done = static_cast<std::size_t>(position_.batch) * options_.batch_size;
  const std::size_t rows =
      std::min(options_.accumulate_batches * options_.batch_size, loader.examples() - done);
  // One list for all: making it allocates a name for each.
  auto parameters = model_->parameters();
  const ProcessGroup::Traffic before = group_or_alone(options_.group).traffic();
  for (std::size_t i = 0; i < options_.accumulate_batches; ++i) {
    if (i > 0 && !next_shards(loader, shards)) break;
    const Random of_step = Random(options_.seed, kStepStream).fork(step_);
    const Random random = i == 0 ? of_step : of_step.fork(i);
    if (sharded == nullptr) {
      if (i == 0) {
        for (auto& [name, tensor] : parameters) tensor.zero_grad();
      }
      const Batch& batch = shards.front();
      add(add_gradients(batch, rows, random, i == 0 ? angles : nullptr, {}), batch.targets.size());
      continue;
    }
    const auto number = static_cast<std::size_t>(loader.position().batch) - 1;
    const Random of_shards = random.fork(kShardStream);
    const auto gradients = [&](const Batch& shard, std::size_t k, detail::LeafReady ready) {
      return add_gradients(shard, rows, of_shards.fork(k), i + k == 0 ? angles : nullptr, ready);
    };
    add(sharded->add(shards, loader.rows_of(number), gradients), loader.rows_of(number));
  }
  const ProcessGroup::Traffic& after = group_or_alone(options_.group).traffic();
  step_traffic_.sent += after.sent - before.sent;
  step_traffic_.received += after.received - before.received;
  if (sharded != nullptr) sharded->finish();
  const ProfileScope scope("optimizer");
  if (*options_.clip_norm > 0.0) clip_gradients(parameters, *options_.clip_norm);
  optimizer().step(parameters, optimizer().learning_rate(step_));
}

void Trainer::add(const detail::ExampleSums& sums, std::size_t examples) {
  sums_.loss += sums.loss;
  sums_.right += sums.right;
  sums_.images += static_cast<double>(examples);
}

detail::ExampleSums Trainer::add_gradients(const Batch& batch, std::size_t rows,
                                           const Random& random, GradientAngles* angles,
                                           FunctionRef<void(const Tensor&)> ready) {
  const ForwardContext context{.mode = ForwardContext::Mode::training,
                               .random = random,
                               .logits = true,
                               .backward = options_.backward,
                               .angles = angles};
  const std::vector<Tensor> inputs = fit_to_inputs(*model_, batch);
  try {
    const std::vector<Tensor> outputs = model_->forward_all(inputs, context);
    Tensor loss = loss_of(outputs, batch);
    check_loss(loss, inputs);
    const auto images = static_cast<double>(batch.targets.size());
    detail::ExampleSums sums{.loss = static_cast<double>(loss.item()) * images};
    if (has_classes_) {
      const ProfileScope scope("metrics");
      const std::optional<float> threshold = decision_threshold(*model_);
      const std::optional<Labels> labels =
          classes_in(batch.targets, outputs.front().shape(), threshold);
      has_classes_ = labels.has_value();
      if (labels) sums.right = share_right(outputs.front(), *labels, threshold) * images;
    }
    const double share = images / static_cast<double>(rows);
    const Tensor seed = Tensor::full(loss.shape(), static_cast<float>(share));
    detail::TensorAccess::backward(loss, seed, ready);
    return sums;
  } catch (const NumericError& error) {
    const std::string fault = data_at_fault(batch);
    throw NumericError(fmt::format("training stopped at {}: {}", place(),
                                   fault.empty() ? std::string(error.what()) : fault));
  }
}

Tensor Trainer::loss_of(const std::vector<Tensor>& outputs, const Batch& batch) const {
  const ProfileScope scope("loss");
  Tensor first = loss_of_output(0, outputs[0], batch.targets, batch.weights);
  if (outputs.size() == 1) return first;
  Tensor total = first * losses_[0].weight;
  for (std::size_t k = 1; k < outputs.size(); ++k) {
    const Tensor loss = loss_of_output(k, outputs[k], batch.more_targets[k - 1], batch.weights);
    total = total + loss * losses_[k].weight;
  }
  return total;
}

Tensor Trainer::loss_of_output(std::size_t output, const Tensor& value, const Targets& targets,
                               std::span<const float> weights) const {
  require_logits_for(losses_[output].loss, *model_, value, output);
  const Tensor weighed = weights.empty() ? value : detail::with_row_weights(value, weights);
  Tensor loss = losses_[output].loss(weighed, targets);
  const bool is_one = loss.defined() && loss.size() == 1;
  if (is_one) return losses_.size() == 1 ? loss : loss.reshape({});
  throw InvalidArgument(fmt::format(
      "Trainer: expected a loss that returns one number, found {}; take the mean() over the batch",
      loss.defined() ? loss.shape().to_string() : "an undefined tensor"));
}

void Trainer::check_loss(const Tensor& loss, std::span<const Tensor> inputs) const {
  if (std::isfinite(loss.item())) return;
  throw NumericError(fmt::format("the loss is {}; {}", std::isnan(loss.item()) ? "NaN" : "infinite",
                                 first_layer_at_fault(*model_, inputs)));
}

std::string Trainer::place() const {
  return fmt::format("epoch {}, step {}", position_.epoch + 1, position_.batch + 1);
}

}  // namespace octet
