#include <octet/deploy/tflite/composites.h>
#include <octet/deploy/tflite/file_access.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace octet::detail {
namespace {

using Code = tflite::BuiltinOperator;
using Indices = std::vector<std::int32_t>;

/// One operator of a graph. Its code is CUSTOM where it has none of one result.
struct Part {
  Code code = Code::CUSTOM;
  Indices inputs;
  std::int32_t result = -1;
};

template <class Options>
bool clamps(const tflite::Operator& source) {
  const auto* options = source.builtin_options_as<Options>();
  return options != nullptr && options->activation() != tflite::ActivationFunctionType::NONE;
}

/// The operators of a graph by what they compute, and the operators that read a tensor.
class Parts {
 public:
  Parts(const tflite::Model& file, const tflite::SubGraph& graph, Budget& budget)
      : file_(file), graph_(graph) {
    constexpr std::size_t kMost = 2 * kMostInputs;
    for (std::size_t i = 0; i < size_or_zero(graph.operators()); ++i) {
      const tflite::Operator& source =
          *graph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i));
      Part part{code_of(source), {}, -1};
      if (size_or_zero(source.inputs()) > kMost || size_or_zero(source.outputs()) != 1) {
        part.code = Code::CUSTOM;
      } else {
        part.inputs = read_operands(source.inputs(), budget);
        part.result = source.outputs()->Get(0);
        made_by_.emplace(part.result, i);
      }
      parts_.push_back(std::move(part));
    }
    count_readers();
  }

  std::size_t size() const { return parts_.size(); }
  const Part& operator[](std::size_t i) const { return parts_[i]; }

  /// The operator of this code and so many inputs that makes `tensor`, which nothing reads beside
  /// `readers` inputs.
  std::optional<std::size_t> maker(std::int32_t tensor, Code code, std::size_t inputs,
                                   std::size_t readers) const {
    const auto found = made_by_.find(tensor);
    const auto read = readers_.find(tensor);
    if (found == made_by_.end() || read == readers_.end() || read->second != readers) return {};
    const Part& part = parts_[found->second];
    if (part.code != code || part.inputs.size() != inputs) return {};
    return found->second;
  }

  const tflite::Tensor* tensor(std::int32_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= size_or_zero(graph_.tensors())) {
      return nullptr;
    }
    return graph_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  }

  bool is_float(std::int32_t index) const {
    return tensor(index) != nullptr && tensor(index)->type() == tflite::TensorType::FLOAT32;
  }

  bool is_constant(std::int32_t index) const {
    const tflite::Tensor* found = tensor(index);
    return found != nullptr && found->buffer() < size_or_zero(file_.buffers()) &&
           size_or_zero(file_.buffers()->Get(found->buffer())->data()) > 0;
  }

  /// Whether `reduced` has the shape of `x` but for one element along the last axis, of which `x`
  /// has more: whatever axes of one element were reduced besides.
  bool reduces_last_axis(std::int32_t x, std::int32_t reduced) const {
    const auto* from = tensor(x) == nullptr ? nullptr : tensor(x)->shape();
    const auto* to = tensor(reduced) == nullptr ? nullptr : tensor(reduced)->shape();
    if (size_or_zero(from) == 0 || size_or_zero(from) != size_or_zero(to)) return false;
    const flatbuffers::uoffset_t last = from->size() - 1;
    for (flatbuffers::uoffset_t i = 0; i < last; ++i) {
      if (from->Get(i) != to->Get(i)) return false;
    }
    return from->Get(last) > 1 && to->Get(last) == 1;
  }

 private:
  Code code_of(const tflite::Operator& source) const {
    if (source.opcode_index() >= size_or_zero(file_.operator_codes())) return Code::CUSTOM;
    const tflite::OperatorCode& entry = *file_.operator_codes()->Get(source.opcode_index());
    const bool is_clamped =
        clamps<tflite::AddOptions>(source) || clamps<tflite::SubOptions>(source) ||
        clamps<tflite::MulOptions>(source) || clamps<tflite::DivOptions>(source);
    if (is_clamped) return Code::CUSTOM;
    return builtin_of(entry);
  }

  void count_readers() {
    for (const Part& part : parts_) {
      for (const std::int32_t input : part.inputs) ++readers_[input];
    }
    // A result of the graph is read by whoever runs it.
    for (flatbuffers::uoffset_t i = 0; i < size_or_zero(graph_.outputs()); ++i) {
      ++readers_[graph_.outputs()->Get(i)];
    }
  }

  const tflite::Model& file_;
  const tflite::SubGraph& graph_;
  std::vector<Part> parts_;
  std::map<std::int32_t, std::size_t> made_by_;
  std::map<std::int32_t, std::size_t> readers_;
};

struct Composite {
  octet::Operator op;
  std::vector<std::size_t> parts;
};

octet::Operator operator_of(OpCode code, Indices inputs, std::int32_t result) {
  return {.code = code,
          .inputs = std::move(inputs),
          .outputs = {result},
          .attributes = default_attributes(code)};
}

/// The softmax whose DIV is operator `last`.
std::optional<Composite> softmax_at(const Parts& parts, std::size_t last) {
  const Part& quotient = parts[last];
  if (quotient.code != Code::DIV || quotient.inputs.size() != 2) return {};
  const auto sum = parts.maker(quotient.inputs[1], Code::SUM, 2, 1);
  const auto power = parts.maker(quotient.inputs[0], Code::EXP, 1, 2);
  if (!sum || !power || parts[*sum].inputs[0] != quotient.inputs[0]) return {};
  const auto apart = parts.maker(parts[*power].inputs[0], Code::SUB, 2, 1);
  if (!apart) return {};
  const std::int32_t x = parts[*apart].inputs[0];
  const auto largest = parts.maker(parts[*apart].inputs[1], Code::REDUCE_MAX, 2, 1);
  if (!largest || parts[*largest].inputs[0] != x || !parts.is_float(x) ||
      !parts.is_float(quotient.result) || !parts.reduces_last_axis(x, parts[*largest].result) ||
      !parts.reduces_last_axis(x, parts[*sum].result)) {
    return {};
  }
  return Composite{operator_of(OpCode::softmax, {x}, quotient.result),
                   {*largest, *apart, *power, *sum, last}};
}

/// The PReLU whose ADD is operator `last`, with input `above` of it the RELU of x.
std::optional<Composite> prelu_at(const Parts& parts, std::size_t last, std::size_t above) {
  const Part& sum = parts[last];
  if (sum.code != Code::ADD || sum.inputs.size() != 2) return {};
  const auto kept = parts.maker(sum.inputs[above], Code::RELU, 1, 1);
  const auto product = parts.maker(sum.inputs[1 - above], Code::MUL, 2, 1);
  if (!kept || !product) return {};
  const std::int32_t x = parts[*kept].inputs[0];
  const std::size_t constant = parts.is_constant(parts[*product].inputs[0]) ? 0 : 1;
  const std::int32_t alpha = parts[*product].inputs[constant];
  const auto negative = parts.maker(parts[*product].inputs[1 - constant], Code::NEG, 1, 1);
  const auto clamped = negative ? parts.maker(parts[*negative].inputs[0], Code::RELU, 1, 1)
                                : std::optional<std::size_t>();
  const auto mirrored = clamped ? parts.maker(parts[*clamped].inputs[0], Code::NEG, 1, 1)
                                : std::optional<std::size_t>();
  if (!mirrored || parts[*mirrored].inputs[0] != x || !parts.is_constant(alpha) ||
      !parts.is_float(alpha) || !parts.is_float(x) || !parts.is_float(sum.result)) {
    return {};
  }
  return Composite{operator_of(OpCode::prelu, {x, alpha}, sum.result),
                   {*kept, *mirrored, *clamped, *negative, *product, last}};
}

}  // namespace

Composites::Composites(const tflite::Model& file, const tflite::SubGraph& graph, Budget& budget) {
  const Parts parts(file, graph, budget);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::optional<Composite> found = softmax_at(parts, i);
    for (const std::size_t above : {0U, 1U}) {
      if (!found) found = prelu_at(parts, i, above);
    }
    if (!found || std::ranges::max(found->parts) != i) continue;
    parts_.insert(found->parts.begin(), found->parts.end());
    by_last_.emplace(i, std::move(found->op));
  }
}

const octet::Operator* Composites::ending_at(std::size_t index) const {
  const auto found = by_last_.find(index);
  return found == by_last_.end() ? nullptr : &found->second;
}

}  // namespace octet::detail
