#include <octet/runtime/joined_reshapes.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace octet {
namespace {

class ReshapeJoiner {
 public:
  explicit ReshapeJoiner(IntegerModel& model) : model_(model), tensors_(model.tensors.size()) {
    std::iota(tensors_.begin(), tensors_.end(), 0);
  }

  std::vector<std::int32_t> run() {
    std::vector<Operator> before = model_.operators;
    join();
    remove_unread();
    if (left_out_.empty()) {
      model_.operators = std::move(before);
    } else {
      remove_tensors();
    }
    return std::move(tensors_);
  }

 private:
  const ModelTensor& tensor(std::int32_t i) const {
    return model_.tensors[static_cast<std::size_t>(i)];
  }
  std::int32_t& stand_in(std::int32_t i) { return tensors_[static_cast<std::size_t>(i)]; }

  bool is_output(std::int32_t i) const { return std::ranges::count(model_.outputs, i) > 0; }

  bool same(std::int32_t a, std::int32_t b) const {
    return tensor(a).shape == tensor(b).shape &&
           tensor(a).shape_signature == tensor(b).shape_signature &&
           tensor(a).dtype == tensor(b).dtype && tensor(a).quantization == tensor(b).quantization;
  }

  /// Lets each RESHAPE read what the first of its row reads, and leaves out those of no effect.
  void join() {
    std::map<std::int32_t, std::int32_t> first_of_row;
    std::vector<Operator> kept;
    for (Operator& op : std::exchange(model_.operators, {})) {
      for (std::int32_t& input : op.inputs) {
        if (input >= 0) input = stand_in(input);
      }
      if (op.code == OpCode::reshape) {
        const std::int32_t output = op.outputs[0];
        const auto row = first_of_row.find(op.inputs[0]);
        const bool joins = row != first_of_row.end();
        if (joins) op.inputs[0] = row->second;
        if (joins && !is_output(output) && same(op.inputs[0], output)) {
          leave_out(op);
          continue;
        }
        first_of_row[output] = op.inputs[0];
      }
      kept.push_back(std::move(op));
    }
    model_.operators = std::move(kept);
  }

  /// Removes reshapes whose readers now read what is in front of them.
  void remove_unread() {
    std::set<std::int32_t> read(model_.outputs.begin(), model_.outputs.end());
    for (const Operator& op : model_.operators) read.insert(op.inputs.begin(), op.inputs.end());
    std::erase_if(model_.operators, [&](const Operator& op) {
      if (op.code != OpCode::reshape || read.contains(op.outputs[0])) return false;
      leave_out(op);
      return true;
    });
  }

  void leave_out(const Operator& reshape) {
    stand_in(reshape.outputs[0]) = reshape.inputs[0];
    left_out_.push_back(reshape);
  }

  bool is_used(std::int32_t i) const {
    const auto uses = [i](const Operator& op) {
      return std::ranges::count(op.inputs, i) > 0 || std::ranges::count(op.outputs, i) > 0;
    };
    return is_output(i) || std::ranges::count(model_.inputs, i) > 0 ||
           std::ranges::any_of(model_.operators, uses);
  }

  /// Takes away what the RESHAPEs that were left out alone have used, and numbers the rest anew.
  void remove_tensors() {
    std::vector<bool> goes(model_.tensors.size(), false);
    for (const Operator& op : left_out_) {
      for (std::size_t i = 1; i < op.inputs.size(); ++i) mark(op.inputs[i], goes);
      mark(op.outputs[0], goes);
    }
    std::vector<std::int32_t> numbers(goes.size(), -1);
    std::vector<ModelTensor> rest;
    for (std::size_t i = 0; i < goes.size(); ++i) {
      if (goes[i]) continue;
      numbers[i] = static_cast<std::int32_t>(rest.size());
      rest.push_back(std::move(model_.tensors[i]));
    }
    model_.tensors = std::move(rest);
    const auto renumber = [&numbers](std::vector<std::int32_t>& indices) {
      for (std::int32_t& i : indices) i = i < 0 ? i : numbers[static_cast<std::size_t>(i)];
    };
    for (Operator& op : model_.operators) {
      renumber(op.inputs);
      renumber(op.outputs);
    }
    renumber(model_.inputs);
    renumber(model_.outputs);
    renumber(tensors_);
  }

  void mark(std::int32_t i, std::vector<bool>& goes) const {
    if (i >= 0 && !is_used(i)) goes[static_cast<std::size_t>(i)] = true;
  }

  IntegerModel& model_;
  /// By tensor: itself, or the one that has its values.
  std::vector<std::int32_t> tensors_;
  std::vector<Operator> left_out_;
};

}  // namespace

std::vector<std::int32_t> join_reshapes(IntegerModel& model) { return ReshapeJoiner(model).run(); }

}  // namespace octet
