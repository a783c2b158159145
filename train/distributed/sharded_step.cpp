#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/distributed/sharded_step.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace octet::detail {
namespace {

/// In front of the sums: those of the loss and of examples classed right.
constexpr std::size_t kExampleSums = 2;

std::vector<Tensor> with_gradients(const Model& model) {
  std::vector<Tensor> result;
  for (const NamedTensor& each : model.parameters()) {
    if (each.tensor.requires_grad()) result.push_back(each.tensor);
  }
  return result;
}

std::vector<std::size_t> sizes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> result;
  result.reserve(tensors.size());
  for (const Tensor& each : tensors) result.push_back(static_cast<std::size_t>(each.size()));
  return result;
}

}  // namespace

std::size_t gradient_elements(const Model& model) {
  const std::vector<std::size_t> sizes = sizes_of(with_gradients(model));
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

ShardedStep::ShardedStep(Model& model, const ShardTree& tree, ProcessGroup& group,
                         GradientFormat format, GradientErrors& errors)
    : tree_(tree),
      group_(&group),
      state_(model),
      parameters_(with_gradients(model)),
      exchange_(tree, group, sizes_of(parameters_), no_numbers(), format, errors) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    indices_[parameters_[i].data()] = i;
  }
}

ShardNumbers ShardedStep::no_numbers() const {
  return {.sums = std::vector<double>(kExampleSums + parameters_.size() + state_.sums()),
          .least = std::vector<double>(state_.least())};
}

ShardNumbers ShardedStep::numbers_of(const ExampleSums& examples, std::size_t rows) const {
  ShardNumbers result = {.sums = {examples.loss, examples.right}, .least = state_.bounds()};
  for (const Tensor& each : parameters_) result.sums.push_back(each.grad().defined() ? 1.0 : 0.0);
  const std::vector<double> state = state_.weighted(rows);
  result.sums.insert(result.sums.end(), state.begin(), state.end());
  return result;
}

void ShardedStep::add_shard(const Batch& examples, std::size_t shard, Gradients gradients) {
  for (Tensor& each : parameters_) each.zero_grad();
  const auto ready = [this](const Tensor& leaf) {
    const auto found = indices_.find(leaf.data());
    if (found != indices_.end()) exchange_.take(found->second, leaf.grad());
  };
  const ExampleSums sums = gradients(examples, shard, ready);
  for (std::size_t i = 0; i < parameters_.size(); ++i) exchange_.take(i, parameters_[i].grad());
  exchange_.end_shard(numbers_of(sums, examples.targets.size()));
}

ExampleSums ShardedStep::add(const std::vector<Batch>& own, std::size_t rows, Gradients gradients) {
  const std::vector<float> before = state_.values();
  std::vector<float> after_first = before;
  exchange_.begin(rows);
  while (const std::optional<std::size_t> shard = exchange_.next_shard()) {
    add_shard(own[*shard - tree_.own().begin], *shard, gradients);
    if (*shard == 0) after_first = state_.values();
    state_.restore(before);
  }
  exchange_.finish();
  std::vector<double> sums(kExampleSums + parameters_.size());
  if (group_->is_root()) {
    const ShardNumbers& all = exchange_.numbers();
    std::ranges::copy_n(all.sums.begin(), static_cast<std::ptrdiff_t>(sums.size()), sums.begin());
    state_.restore(after_first);
    state_.merge(std::span(all.sums).subspan(sums.size()), all.least, rows);
  }
  if (group_->size() > 1) share_state(sums);
  have_gradient_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) have_gradient_[i] += sums[kExampleSums + i];
  if (is_first_) {
    added_.resize(exchange_.gradients().size());
    std::swap(added_, exchange_.gradients());
    is_first_ = false;
  } else {
    add_floats(exchange_.gradients(), added_.data());
  }
  return {sums[0], sums[1]};
}

/// Gives all ranks the sums and the state of rank 0.
void ShardedStep::share_state(std::span<double> sums) {
  const ProfileScope scope("exchange", "broadcast");
  std::vector<float> state = state_.values();
  group_->broadcast(std::as_writable_bytes(sums));
  group_->broadcast(std::as_writable_bytes(std::span(state)));
  state_.restore(state);
}

void ShardedStep::finish() {
  const ProfileScope scope("shards");
  const float* from = added_.data();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& gradient = TensorAccess::mutable_grad(parameters_[i]);
    const auto size = static_cast<std::size_t>(parameters_[i].size());
    if (have_gradient_[i] > 0.0) {
      gradient = Tensor(parameters_[i].shape());
      copy_floats({from, size}, gradient.mutable_data());
    } else {
      gradient = Tensor();
    }
    from += size;
  }
  is_first_ = true;
  have_gradient_.clear();
}

}  // namespace octet::detail
