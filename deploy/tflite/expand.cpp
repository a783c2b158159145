#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/deploy/tflite/expand.h>
#include <octet/runtime/operators/strided_slice.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace octet::detail {
namespace {

using Extents = std::vector<std::int32_t>;

/// An operator being expanded.
class Expansion {
 public:
  Expansion(const TfliteOptions& source, Draft draft)
      : source_(source),
        draft_(draft),
        inputs_(indices(source.source.inputs())),
        outputs_(indices(source.source.outputs())) {}

  void shape() {
    require(1, 1);
    const ModelTensor& x = input(0);
    const Extents& extents = x.shape_signature.empty() ? x.shape : x.shape_signature;
    make_constant(outputs_[0], extents);
  }

  void pack() {
    const auto* options = source_.as<tflite::PackOptions>();
    require(options == nullptr ? 0 : static_cast<std::size_t>(options->values_count()), 1);
    const Extents target = output(0).shape;
    const std::size_t axis = counted(options->axis(), target.size());
    if (target.size() == 1 && is_constant_of_integers()) return join_constants();
    if (inputs_.size() == 1) return draft_.reshape(inputs_[0], outputs_[0]);
    Extents part = target;
    part[axis] = 1;
    Extents parts;
    for (const std::int32_t x : inputs_) {
      parts.push_back(draft_.add_tensor(x, part, parts.size()));
      draft_.reshape(x, parts.back());
    }
    draft_.add(OpCode::concatenation, std::move(parts), outputs_[0],
               ConcatenationAttributes{.axis = static_cast<std::int32_t>(axis)});
  }

  void unpack() {
    const auto* options = source_.as<tflite::UnpackOptions>();
    require(1, options == nullptr ? 0 : static_cast<std::size_t>(options->num()));
    const std::size_t axis = counted(options->axis(), input(0).shape.size());
    if (outputs_.size() == 1) return draft_.reshape(inputs_[0], outputs_[0]);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto begin = static_cast<std::int32_t>(i);
      slice(axis, begin, begin + 1, outputs_[i], true);
    }
  }

  void embedding_lookup() {
    require(2, 1);
    draft_.add(OpCode::gather, {inputs_[0], inputs_[1]}, outputs_[0],
               default_attributes(OpCode::gather));
  }

  void expand_dims() {
    require(2, 1);
    draft_.reshape(inputs_[0], outputs_[0]);
  }

  void slice() {
    require(3, 1);
    const Extents begins = integers(1);
    const Extents sizes = integers(2);
    const Extents from = input(0).shape;
    if (begins.size() != from.size() || sizes.size() != from.size()) {
      fail_tflite(
          "{}: expected where each of {} axes begins, and its size, found {} and {} numbers",
          source_.who, from.size(), begins.size(), sizes.size());
    }
    Extents ends;
    std::int32_t whole = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::int64_t end = std::int64_t{begins[i]} + sizes[i];
      const bool fits = begins[i] >= 0 && sizes[i] >= -1 && begins[i] <= from[i] && end <= from[i];
      if (!fits) {
        fail_tflite("{}: [{}] of [{}] begins at [{}] outside of it", source_.who,
                    fmt::join(sizes, ", "), fmt::join(from, ", "), fmt::join(begins, ", "));
      }
      ends.push_back(sizes[i] == -1 ? from[i] : static_cast<std::int32_t>(end));
      if (begins[i] == 0 && ends[i] == from[i]) whole |= 1 << i;
    }
    add_slice(begins, ends, whole, outputs_[0], 0);
  }

  void split_v() {
    const auto* options = source_.as<tflite::SplitVOptions>();
    require(3, options == nullptr ? 0 : static_cast<std::size_t>(options->num_splits()));
    const Extents sizes = integers(1);
    const Extents axes = integers(2);
    if (sizes.size() != outputs_.size() || axes.size() != 1) {
      fail_tflite("{}: expected {} sizes and an axis, found {} and {} numbers", source_.who,
                  outputs_.size(), sizes.size(), axes.size());
    }
    const std::size_t axis = counted(axes[0], input(0).shape.size());
    // One may be -1: what is left.
    std::int64_t rest = input(0).shape[axis];
    for (const std::int32_t size : sizes) rest -= std::max(size, 0);
    std::int32_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t end = std::int64_t{begin} + (sizes[i] == -1 ? rest : sizes[i]);
      if (sizes[i] < -1 || rest < 0 || end > input(0).shape[axis]) {
        fail_tflite("{}: [{}] are no parts of an axis of {}", source_.who, fmt::join(sizes, ", "),
                    input(0).shape[axis]);
      }
      slice(axis, begin, static_cast<std::int32_t>(end), outputs_[i], false);
      begin = static_cast<std::int32_t>(end);
    }
  }

  /// x / c for a constant c, in floats alone.
  void divide() {
    require(2, 1);
    const auto* options = source_.as<tflite::DivOptions>();
    if (options != nullptr && options->activation() != tflite::ActivationFunctionType::NONE) {
      fail_tflite("{}: a fused activation is not supported", source_.who);
    }
    const ModelTensor& divisor = input(1);
    if (input(0).dtype != DType::float32 || divisor.dtype != DType::float32 ||
        !divisor.is_constant()) {
      fail_tflite("{}: expected float32 and a constant to divide by, found {} and '{}'",
                  source_.who, to_string(input(0).dtype), printable(divisor.name));
    }
    std::vector<float> factors = values_of<float>(divisor);
    for (float& factor : factors) factor = 1.0F / factor;
    const Extents shape = divisor.shape;
    const std::int32_t factor = draft_.add_constant(outputs_[0], DType::float32, shape, factors);
    draft_.add(OpCode::mul, {inputs_[0], factor}, outputs_[0], default_attributes(OpCode::mul));
  }

  /// Channels [block, block, c] as blocks of pixels.
  void depth_to_space() {
    const auto* options = source_.as<tflite::DepthToSpaceOptions>();
    const std::int32_t block = block_size(options == nullptr ? 0 : options->block_size());
    const Extents from = input(0).shape;
    if (from[3] % (block * block) != 0) {
      fail_tflite("{}: {} channels are no blocks of {} x {}", source_.who, from[3], block, block);
    }
    move_blocks({from[0], from[1], from[2], block, from[3] / block});
  }

  /// Blocks of pixels as channels [block, block, c].
  void space_to_depth() {
    const auto* options = source_.as<tflite::SpaceToDepthOptions>();
    const std::int32_t block = block_size(options == nullptr ? 0 : options->block_size());
    const Extents from = input(0).shape;
    if (from[1] % block != 0 || from[2] % block != 0) {
      fail_tflite("{}: {} x {} pixels are no blocks of {} x {}", source_.who, from[1], from[2],
                  block, block);
    }
    move_blocks({from[0], from[1] / block, block, from[2] / block, block * from[3]});
  }

  /// (a - b)^2, in floats alone: codes of int8 are rounded once in a kernel of its own.
  void squared_difference() {
    require(2, 1);
    if (input(0).dtype != DType::float32) {
      fail_tflite("{}: expected float32, found {}", source_.who, to_string(input(0).dtype));
    }
    const std::int32_t difference = draft_.add_tensor(outputs_[0], output(0).shape, 0);
    draft_.add(OpCode::sub, {inputs_[0], inputs_[1]}, difference, default_attributes(OpCode::sub));
    draft_.add(OpCode::mul, {difference, difference}, outputs_[0], default_attributes(OpCode::mul));
  }

 private:
  Extents indices(const flatbuffers::Vector<std::int32_t>* values) {
    return read_values(values, kMostInputs, source_.who, source_.budget);
  }

  ModelTensor& tensor(std::int32_t index) {
    if (!draft_.exists(index)) {
      fail_tflite("{}: tensor {} outside the {} tensors", source_.who, index,
                  draft_.model().tensors.size());
    }
    return draft_.tensor(index);
  }
  ModelTensor& input(std::size_t i) { return tensor(inputs_[i]); }
  ModelTensor& output(std::size_t i) { return tensor(outputs_[i]); }

  void require(std::size_t inputs, std::size_t outputs) {
    if (inputs_.size() != inputs || outputs_.size() != outputs || inputs == 0 || outputs == 0) {
      fail_tflite("{}: expected {} inputs and {} outputs, found {} and {}", source_.who, inputs,
                  outputs, inputs_.size(), outputs_.size());
    }
    for (const std::int32_t index : inputs_) tensor(index);
    for (const std::int32_t index : outputs_) {
      if (tensor(index).is_constant()) {
        fail_tflite("{}: its output {} is a constant", source_.who, index);
      }
    }
  }

  std::int32_t block_size(std::int32_t found) {
    constexpr std::int32_t kMost = 1 << 12;
    require(1, 1);
    if (input(0).shape.size() != 4 || found < 1 || found > kMost) {
      fail_tflite("{}: expected images [n, height, width, channels] and a block, found [{}] and {}",
                  source_.who, fmt::join(input(0).shape, ", "), found);
    }
    return found;
  }

  /// The input as `parts` of five axes, whose axes 2 and 3 change places.
  void move_blocks(Extents parts) {
    const std::int32_t apart = draft_.add_tensor(inputs_[0], parts, 0);
    std::swap(parts[2], parts[3]);
    const std::int32_t moved = draft_.add_tensor(inputs_[0], parts, 1);
    draft_.reshape(inputs_[0], apart);
    const Extents order{0, 1, 3, 2, 4};
    draft_.add(OpCode::transpose, {apart, add_numbers(order)}, moved,
               default_attributes(OpCode::transpose));
    draft_.reshape(moved, outputs_[0]);
  }

  std::size_t counted(std::int32_t axis, std::size_t rank) const {
    const auto most = static_cast<std::int32_t>(rank);
    if (axis < -most || axis >= most) {
      fail_tflite("{}: axis {} of {} axes", source_.who, axis, rank);
    }
    return static_cast<std::size_t>(axis < 0 ? axis + most : axis);
  }

  /// Input `i` as numbers.
  Extents integers(std::size_t i) {
    const ModelTensor& found = input(i);
    if (found.dtype != DType::int32 || !found.is_constant()) {
      fail_tflite("{}: expected input {} as an int32 constant, found '{}'", source_.who, i,
                  printable(found.name));
    }
    return values_of<std::int32_t>(found);
  }

  bool is_constant_of_integers() {
    return std::ranges::all_of(inputs_, [&](std::int32_t i) {
      return tensor(i).is_constant() && tensor(i).dtype == DType::int32;
    });
  }

  void join_constants() {
    Extents all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Extents values = integers(i);
      all.insert(all.end(), values.begin(), values.end());
    }
    make_constant(outputs_[0], all);
  }

  void make_constant(std::int32_t index, const Extents& values) {
    ModelTensor& made = tensor(index);
    if (made.dtype != DType::int32 || made.size() != std::ssize(values)) {
      fail_tflite("{}: expected {} numbers of int32, found {} of {}", source_.who, values.size(),
                  made.size(), to_string(made.dtype));
    }
    draft_.set_data(made, values);
  }

  /// From `begin` to `end` along one axis of input 0, all of the others.
  void slice(std::size_t axis, std::int32_t begin, std::int32_t end, std::int32_t to, bool drops) {
    Extents begins(input(0).shape.size(), 0);
    Extents ends = input(0).shape;
    begins[axis] = begin;
    ends[axis] = end;
    const auto all = static_cast<std::int32_t>((std::int64_t{1} << begins.size()) - 1);
    const std::int32_t bit = 1 << axis;
    add_slice(begins, ends, all & ~bit, to, drops ? bit : 0);
  }

  void add_slice(const Extents& begins, const Extents& ends, std::int32_t whole, std::int32_t to,
                 std::int32_t dropped) {
    const std::int32_t begin = add_numbers(begins);
    const std::int32_t end = add_numbers(ends);
    const std::int32_t step = add_numbers(Extents(begins.size(), 1));
    draft_.add(OpCode::strided_slice, {inputs_[0], begin, end, step}, to,
               StridedSliceAttributes{
                   .begin_mask = whole, .end_mask = whole, .shrink_axis_mask = dropped});
  }

  std::int32_t add_numbers(const Extents& values) {
    return draft_.add_constant(outputs_[0], DType::int32,
                               {static_cast<std::int32_t>(values.size())}, values);
  }

  const TfliteOptions& source_;
  Draft draft_;
  Extents inputs_;
  Extents outputs_;
};

/// What expands an operator of that kind; null where Octet has it itself, or not at all.
void (Expansion::*expansion_of(tflite::BuiltinOperator code))() {
  switch (code) {
    case tflite::BuiltinOperator::DEPTH_TO_SPACE:
      return &Expansion::depth_to_space;
    case tflite::BuiltinOperator::DIV:
      return &Expansion::divide;
    case tflite::BuiltinOperator::EMBEDDING_LOOKUP:
      return &Expansion::embedding_lookup;
    case tflite::BuiltinOperator::EXPAND_DIMS:
      return &Expansion::expand_dims;
    case tflite::BuiltinOperator::PACK:
      return &Expansion::pack;
    case tflite::BuiltinOperator::SHAPE:
      return &Expansion::shape;
    case tflite::BuiltinOperator::SLICE:
      return &Expansion::slice;
    case tflite::BuiltinOperator::SPACE_TO_DEPTH:
      return &Expansion::space_to_depth;
    case tflite::BuiltinOperator::SPLIT_V:
      return &Expansion::split_v;
    case tflite::BuiltinOperator::SQUARED_DIFFERENCE:
      return &Expansion::squared_difference;
    case tflite::BuiltinOperator::UNPACK:
      return &Expansion::unpack;
    default:
      return nullptr;
  }
}

}  // namespace

std::int32_t Draft::append(ModelTensor made) {
  budget_.take(sizeof(ModelTensor) + made.name.size() +
               2 * sizeof(std::int32_t) * made.shape.size());
  model_.tensors.push_back(std::move(made));
  return static_cast<std::int32_t>(model_.tensors.size() - 1);
}

std::int32_t Draft::add_tensor(std::int32_t like, Extents shape, std::size_t part) {
  const ModelTensor& x = tensor(like);
  ModelTensor made;
  made.name = fmt::format("{}/{}", x.name, part);
  made.dtype = x.dtype;
  made.quantization = x.quantization;
  if (!x.shape_signature.empty() && x.shape_signature[0] == -1 && !shape.empty()) {
    made.shape_signature = shape;
    made.shape_signature[0] = -1;
  }
  made.shape = std::move(shape);
  return append(std::move(made));
}

void Draft::add(OpCode code, Extents inputs, std::int32_t output, OperatorAttributes attributes) {
  budget_.take(sizeof(Operator) + sizeof(std::int32_t) * (inputs.size() + 1));
  model_.operators.push_back({.code = code,
                              .inputs = std::move(inputs),
                              .outputs = {output},
                              .attributes = std::move(attributes)});
}

void Draft::reshape(std::int32_t from, std::int32_t to) {
  add(OpCode::reshape, {from}, to, default_attributes(OpCode::reshape));
}

bool is_expanded(tflite::BuiltinOperator code) { return expansion_of(code) != nullptr; }

void expand(tflite::BuiltinOperator code, const TfliteOptions& source, Draft draft) {
  Expansion expansion(source, draft);
  (expansion.*expansion_of(code))();
}

}  // namespace octet::detail
