#include <fmt/core.h>
#include <octet/core/autograd_internal.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/core/tensor_internal.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <utility>

namespace octet {

using detail::Node;
using detail::TensorAccess;

namespace {

thread_local bool tape_is_on = true;
std::atomic<std::uint64_t> next_sequence{1};
std::atomic<std::uint64_t> next_pass{1};

/// Every node that `root` depends on, the latest first; each gets its position.
std::vector<std::shared_ptr<Node>> nodes_latest_first(const std::shared_ptr<Node>& root) {
  const std::uint64_t pass = next_pass.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::shared_ptr<Node>> found = {root};
  root->pass = pass;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Tensor& input : found[i]->inputs) {
      if (!input.defined()) continue;
      const auto& node = TensorAccess::node(input);
      if (node == nullptr || node->pass == pass) continue;
      node->pass = pass;
      found.push_back(node);
    }
  }
  std::ranges::sort(found, std::greater<>(), [](const auto& node) { return node->sequence; });
  for (std::size_t i = 0; i < found.size(); ++i) found[i]->position = i;
  return found;
}

void check_not_freed(const Node& node) {
  if (node.freed) {
    throw InvalidArgument(
        fmt::format("backward: the graph of op {} was freed by an earlier backward; "
                    "run the forward pass again",
                    node.operation));
  }
}

/// Adds a gradient to a sum of the same shape.
void add_elements(const Tensor& gradient, Tensor& sum) {
  float* out = sum.mutable_data();
  const float* in = gradient.data();
  const auto size = static_cast<std::size_t>(sum.size());
  const std::size_t share = thread_share(size, parallel_grain(Work::map_floats));
  parallel_for(size, share, [out, in](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] += in[i];
  });
}

/// The sum of the gradients that have arrived at one tensor. The first one is kept as it is and
/// may be shared with another input: what is added is added to a tensor that nobody else holds.
struct Sum {
  Tensor value;

  /// Returns the sum, which nobody else holds; zeros where nothing has arrived.
  Tensor& writable(const Shape& shape) {
    if (!value.defined()) {
      value = Tensor::zeros(shape);
    } else if (!TensorAccess::is_only_handle(value)) {
      value = value.clone();
    }
    return value;
  }

  void add(Tensor gradient) {
    if (!value.defined()) {
      value = std::move(gradient);
    } else if (TensorAccess::is_only_handle(value)) {
      add_elements(gradient, value);
    } else {
      if (!TensorAccess::is_only_handle(gradient)) gradient = gradient.clone();
      add_elements(value, gradient);
      value = std::move(gradient);
    }
  }
};

void add_to_leaf(Tensor leaf, Tensor gradient) {
  Tensor& total = TensorAccess::mutable_grad(leaf);
  if (!total.defined()) {
    // The leaf keeps what nobody else has a handle on, else a copy.
    total = TensorAccess::is_only_handle(gradient) ? std::move(gradient) : gradient.clone();
    return;
  }
  add_elements(gradient, total);
}

void check_gradient(const Node& node, const Tensor& input, const Tensor& gradient) {
  if (gradient.shape() != input.shape()) {
    throw InvalidArgument(fmt::format("backward of {}: expected a gradient of shape {}, found {}",
                                      node.operation, input.shape().to_string(),
                                      gradient.shape().to_string()));
  }
}

void check_count(const Node& node, const std::vector<Tensor>& gradients) {
  if (gradients.size() != node.inputs.size()) {
    throw InvalidArgument(
        fmt::format("backward of {}: expected {} gradients, one per input, found {}; one that is "
                    "not wanted is Tensor()",
                    node.operation, node.inputs.size(), gradients.size()));
  }
}

}  // namespace

detail::Node::~Node() {
  // Long chains are taken apart in a loop: the destructors' recursion would overflow the stack.
  std::vector<std::shared_ptr<Node>> pending;
  const auto take_inputs = [&pending](Node& node) {
    node.backward = nullptr;
    node.add_gradient = nullptr;
    for (Tensor& input : node.inputs) {
      if (!input.defined() || TensorAccess::node(input) == nullptr) continue;
      pending.push_back(TensorAccess::node(input));
      input = Tensor();
    }
  };
  take_inputs(*this);
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    if (node.use_count() == 1) take_inputs(*node);
  }
}

NoGrad::NoGrad() : previous_(tape_is_on) { tape_is_on = false; }
NoGrad::~NoGrad() { tape_is_on = previous_; }

bool records_gradient(const std::vector<Tensor>& inputs) {
  return tape_is_on &&
         std::ranges::any_of(inputs, [](const Tensor& input) { return input.requires_grad(); });
}

namespace {

void save_versions(Node& node, const Tensor& result, BackwardReads reads) {
  if (reads == BackwardReads::inputs || reads == BackwardReads::inputs_and_result) {
    node.input_versions.reserve(node.inputs.size());
    for (const Tensor& input : node.inputs) {
      node.input_versions.push_back(input.defined() ? TensorAccess::version(input) : 0);
    }
  }
  if (reads == BackwardReads::result || reads == BackwardReads::inputs_and_result) {
    node.result = {result.detach(), TensorAccess::version(result)};
  }
}

[[noreturn]] void throw_changed(const Node& node, std::string_view role, const Tensor& values) {
  throw InvalidArgument(fmt::format(
      "backward of {}: expected {} of shape {} to be as it was when the op ran, found that it has "
      "been written to since; the non-const data(), span() and at() count as writes. Write to a "
      "clone(), write after backward(), or read through a const handle",
      node.operation, role, values.shape().to_string()));
}

void check_saved_values(const Node& node) {
  for (std::size_t i = 0; i < node.input_versions.size(); ++i) {
    const Tensor& input = node.inputs[i];
    if (input.defined() && TensorAccess::version(input) != node.input_versions[i]) {
      throw_changed(node, fmt::format("input {}", i), input);
    }
  }
  const auto& result = node.result;
  if (result && TensorAccess::version(result->values) != result->version) {
    throw_changed(node, "its result", result->values);
  }
}

}  // namespace

namespace {

/// A node for an op on these inputs, which want a gradient.
std::shared_ptr<Node> make_node(std::string_view operation, std::vector<Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (input.defined() && TensorAccess::node(input) != nullptr)
      check_not_freed(*TensorAccess::node(input));
  }
  auto node = std::make_shared<Node>();
  node->operation = operation;
  node->owner = profiled_detail();
  node->inputs = std::move(inputs);
  node->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  return node;
}

}  // namespace

Tensor record(std::string_view operation, Tensor result, std::vector<Tensor> inputs,
              BackwardFn backward, BackwardReads reads) {
  if (!records_gradient(inputs)) return result;
  std::shared_ptr<Node> node = make_node(operation, std::move(inputs));
  node->backward = std::move(backward);
  save_versions(*node, result, reads);
  TensorAccess::set_node(result, std::move(node));
  return result;
}

Tensor detail::record_part(std::string_view operation, Tensor result, const Tensor& x,
                           AddGradient add) {
  if (!records_gradient({x})) return result;
  std::shared_ptr<Node> node = make_node(operation, {x});
  node->add_gradient = std::move(add);
  TensorAccess::set_node(result, std::move(node));
  return result;
}

namespace {

/// One run of the tape backwards, and the gradients that are under way.
class BackwardPass {
 public:
  explicit BackwardPass(const std::shared_ptr<Node>& root)
      : nodes_(nodes_latest_first(root)), sums_(nodes_.size()) {
    for (const auto& node : nodes_) check_not_freed(*node);
  }

  void run(const Tensor& seed, detail::LeafReady ready) {
    sums_.front().add(seed);
    std::vector<std::vector<Tensor>> leaves;
    if (ready) leaves = leaves_by_last_use();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto& node = nodes_[i];
      if (Tensor gradient = std::move(sums_[i].value); gradient.defined()) {
        const ProfileScope scope("backward", node->owner);
        check_saved_values(*node);
        if (node->add_gradient) {
          add_part(*node, gradient);
        } else {
          std::vector<Tensor> gradients = node->backward(gradient);
          // What was written over it is then held by nobody else.
          gradient = Tensor();
          pass_on(*node, std::move(gradients));
        }
      }
      node->freed = true;
      node->backward = nullptr;
      node->add_gradient = nullptr;
      node->result.reset();
      if (!ready) continue;
      for (const Tensor& leaf : leaves[i]) ready(leaf);
    }
    for (const auto& node : nodes_) node->inputs.clear();
  }

 private:
  /// By node, the leaves that no later node adds to.
  std::vector<std::vector<Tensor>> leaves_by_last_use() const {
    std::vector<std::vector<Tensor>> result(nodes_.size());
    std::set<const float*> seen;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      for (const Tensor& input : nodes_[i]->inputs) {
        if (!input.defined() || !input.requires_grad() || TensorAccess::node(input) != nullptr) {
          continue;
        }
        if (seen.insert(input.data()).second) result[i].push_back(input);
      }
    }
    return result;
  }

  void add_part(const Node& node, const Tensor& gradient) {
    const Tensor& input = node.inputs.front();
    if (const auto& source = TensorAccess::node(input)) {
      node.add_gradient(gradient, sums_[source->position].writable(input.shape()));
      return;
    }
    Tensor whole = Tensor::zeros(input.shape());
    node.add_gradient(gradient, whole);
    add_to_leaf(input, std::move(whole));
  }

  void pass_on(const Node& node, std::vector<Tensor> gradients) {
    check_count(node, gradients);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Tensor& input = node.inputs[i];
      if (!gradients[i].defined() || !input.requires_grad()) continue;
      check_gradient(node, input, gradients[i]);
      if (const auto& source = TensorAccess::node(input)) {
        sums_[source->position].add(std::move(gradients[i]));
      } else {
        add_to_leaf(input, std::move(gradients[i]));
      }
    }
  }

  std::vector<std::shared_ptr<Node>> nodes_;
  /// One per node.
  std::vector<Sum> sums_;
};

void check_seed(const Tensor& output, const Tensor& seed) {
  if (!output.defined()) {
    throw InvalidArgument("backward: expected a tensor on the tape, found a default-made handle");
  }
  if (!output.requires_grad()) {
    throw InvalidArgument(
        "backward: expected a tensor on the tape, found one that needs no gradient; "
        "was it computed under no_grad, or from leaves without set_requires_grad(true)?");
  }
  if (!seed.defined() && output.size() != 1) {
    throw InvalidArgument(fmt::format(
        "backward: expected a scalar or an upstream gradient, found shape {}; sum() or mean() it",
        output.shape().to_string()));
  }
  if (seed.defined() && seed.shape() != output.shape()) {
    throw InvalidArgument(
        fmt::format("backward: expected an upstream gradient of shape {}, found {}",
                    output.shape().to_string(), seed.shape().to_string()));
  }
}

}  // namespace

void Tensor::backward(const Tensor& seed) { TensorAccess::backward(*this, seed, {}); }

void TensorAccess::backward(const Tensor& from, const Tensor& seed, detail::LeafReady ready) {
  check_seed(from, seed);
  const NoGrad guard;
  const Tensor start = seed.defined() ? seed : Tensor::ones(from.shape());
  if (const auto& node = TensorAccess::node(from)) {
    BackwardPass(node).run(start, ready);
  } else {
    add_to_leaf(from, start);
    if (ready) ready(from);
  }
}

}  // namespace octet
