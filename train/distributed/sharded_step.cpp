#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/distributed/sharded_step.h>

#include <algorithm>
#include <utility>

namespace octet::detail {
namespace {

/// In front of the sums: those of the loss and of examples classed right.
constexpr std::size_t kExampleSums = 2;

void copy(std::span<const float> from, float* to) {
  parallel_for(from.size(), thread_share(from.size(), parallel_grain(Work::write_floats)),
               [&](std::size_t begin, std::size_t end) {
                 std::ranges::copy(from.subspan(begin, end - begin), to + begin);
               });
}

}  // namespace

ShardedStep::ShardedStep(Model& model, const ShardTree& tree, ProcessGroup& group)
    : tree_(tree), group_(&group), state_(model) {
  for (const NamedTensor& each : model.parameters()) {
    if (!each.tensor.requires_grad()) continue;
    parameters_.push_back(each.tensor);
    sizes_.gradients += static_cast<std::size_t>(each.tensor.size());
  }
  sizes_.sums = kExampleSums + parameters_.size() + state_.sums();
  sizes_.least = state_.least();
}

/// Loss, examples right, a 1 for every parameter with a gradient, and the state.
std::vector<double> ShardedStep::leaf_sums(const ExampleSums& examples, std::size_t rows) const {
  std::vector<double> sums = {examples.loss, examples.right};
  for (const Tensor& each : parameters_) sums.push_back(each.grad().defined() ? 1.0 : 0.0);
  const std::vector<double> state = state_.weighted(rows);
  sums.insert(sums.end(), state.begin(), state.end());
  return sums;
}

std::vector<float> ShardedStep::gradients_of_parameters() const {
  std::vector<float> result(sizes_.gradients);
  float* to = result.data();
  for (const Tensor& each : parameters_) {
    const Tensor& gradient = each.grad();
    if (gradient.defined()) copy(gradient.span(), to);
    to += each.size();
  }
  return result;
}

ExampleSums ShardedStep::add(const std::vector<Batch>& own, std::size_t rows, Gradients gradients) {
  const std::vector<float> before = state_.values();
  std::vector<float> after_first = before;
  const std::size_t begin = tree_.own().begin;
  ShardSum sum = tree_.sum(rows, sizes_, [&](std::size_t shard) {
    const Batch& examples = own[shard - begin];
    for (Tensor& each : parameters_) each.zero_grad();
    const ExampleSums sums = gradients(examples, shard);
    const ProfileScope scope("shards");
    ShardSum leaf{gradients_of_parameters(), leaf_sums(sums, examples.targets.size()),
                  state_.bounds()};
    if (shard == 0) after_first = state_.values();
    state_.restore(before);
    return leaf;
  });
  const ProfileScope scope("shards");
  if (group_->is_root()) {
    state_.restore(after_first);
    state_.merge(std::span(sum.sums).subspan(kExampleSums + parameters_.size()), sum.least, rows);
  }
  if (group_->size() > 1) share(sum);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    have_gradient_.resize(parameters_.size());
    have_gradient_[i] += sum.sums[kExampleSums + i];
  }
  if (added_.empty()) {
    added_ = std::move(sum.gradients);
  } else {
    for (std::size_t i = 0; i < added_.size(); ++i) added_[i] += sum.gradients[i];
  }
  return {sum.sums[0], sum.sums[1]};
}

/// Gives all ranks the sum and the state of rank 0.
void ShardedStep::share(ShardSum& sum) {
  const ProfileScope scope("exchange");
  std::vector<float> state = state_.values();
  sum.sums.resize(kExampleSums + parameters_.size());
  sum.gradients.resize(sizes_.gradients);
  group_->broadcast(std::as_writable_bytes(std::span(sum.sums)));
  group_->broadcast(std::as_writable_bytes(std::span(state)));
  group_->broadcast(std::as_writable_bytes(std::span(sum.gradients)));
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
      copy({from, size}, gradient.data());
    } else {
      gradient = Tensor();
    }
    from += size;
  }
  added_.clear();
  have_gradient_.clear();
}

}  // namespace octet::detail
