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

/// Adds the gradients that the parameters hold.
void ShardedStep::add_gradients_to(ShardSum& sum) const {
  float* to = sum.gradients.data();
  for (const Tensor& each : parameters_) {
    const Tensor& gradient = each.grad();
    const auto size = static_cast<std::size_t>(each.size());
    if (sum.empty && gradient.defined()) {
      copy(gradient.span(), to);
    } else if (sum.empty) {
      std::fill_n(to, size, 0.0F);
    } else if (gradient.defined()) {
      add_floats(gradient.span(), to);
    }
    to += size;
  }
}

void ShardedStep::add_shard(const ExampleSums& examples, std::size_t rows, ShardSum& sum) const {
  add_gradients_to(sum);
  ShardSum leaf{{}, leaf_sums(examples, rows), state_.bounds(), false};
  if (sum.empty) {
    sum.sums = std::move(leaf.sums);
    sum.least = std::move(leaf.least);
    sum.empty = false;
    return;
  }
  for (std::size_t i = 0; i < sum.sums.size(); ++i) sum.sums[i] += leaf.sums[i];
  for (std::size_t i = 0; i < sum.least.size(); ++i) {
    sum.least[i] = std::min(sum.least[i], leaf.least[i]);
  }
}

ExampleSums ShardedStep::add(const std::vector<Batch>& own, std::size_t rows, Gradients gradients) {
  const std::vector<float> before = state_.values();
  std::vector<float> after_first = before;
  const std::size_t begin = tree_.own().begin;
  ShardSum sum = tree_.sum(rows, sizes_, [&](std::size_t shard, ShardSum& to) {
    const Batch& examples = own[shard - begin];
    for (Tensor& each : parameters_) each.zero_grad();
    const ExampleSums sums = gradients(examples, shard);
    const ProfileScope scope("shards");
    add_shard(sums, examples.targets.size(), to);
    if (shard == 0) after_first = state_.values();
    state_.restore(before);
  });
  const ProfileScope scope("shards");
  if (group_->is_root()) {
    state_.restore(after_first);
    state_.merge(std::span(sum.sums).subspan(kExampleSums + parameters_.size()), sum.least, rows);
  }
  if (group_->size() > 1) share(sum);
  have_gradient_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    have_gradient_[i] += sum.sums[kExampleSums + i];
  }
  const ExampleSums examples{sum.sums[0], sum.sums[1]};
  if (is_first_) {
    std::swap(added_, sum.gradients);
    is_first_ = false;
  } else {
    add_floats(sum.gradients, added_.data());
  }
  tree_.recycle(std::move(sum));
  return examples;
}

/// Gives all ranks the sum and the state of rank 0.
void ShardedStep::share(ShardSum& sum) {
  const ProfileScope scope("exchange", "broadcast");
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
  is_first_ = true;
  have_gradient_.clear();
}

}  // namespace octet::detail
