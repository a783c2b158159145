#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

// .tflite files with operators that Octet does not write, put together field by field as the
// format's description has them, without any schema.

namespace octet::test {

/// A file in the making; every add_* returns the index of the new tensor.
class TfliteFile {
 public:
  enum Type : std::int8_t {
    float32 = 0,
    int32 = 2,
    uint8 = 3,
    boolean = 6,
    int8 = 9,
    resource = 13
  };
  using Extents = std::vector<std::int32_t>;

  /// A tensor that is computed, or an input; an extent of -1 is open, and 1 in the shape.
  std::int32_t add(Type type, const Extents& signature) {
    return tensor(type, signature, 0, {middle(type)});
  }

  template <class T>
  std::int32_t add_constant(Type type, const Extents& shape, const std::vector<T>& values) {
    return add_constant(type, shape, values, {middle(type)});
  }
  /// Several zero points are those of the indices along axis 0; the scales are 0.5.
  template <class T>
  std::int32_t add_constant(Type type, const Extents& shape, const std::vector<T>& values,
                            const std::vector<std::int64_t>& zero_points) {
    b_.ForceVectorAlignment(values.size() * sizeof(T), 1, 16);
    const auto bytes = b_.CreateVector(reinterpret_cast<const std::uint8_t*>(values.data()),
                                       values.size() * sizeof(T));
    buffers_.push_back(table({{0, bytes.o}}));
    return tensor(type, shape, static_cast<std::uint32_t>(buffers_.size()), zero_points);
  }
  std::int32_t add_numbers(const Extents& values) {
    return add_constant(int32, {static_cast<std::int32_t>(values.size())}, values);
  }

  /// An operator by its number in the format, whose table of options, number `union_type`, has the
  /// int32 fields `options`.
  void op(std::int32_t code, const Extents& inputs, const Extents& outputs,
          std::uint8_t union_type = 0, const Extents& options = {}) {
    add_code(code);
    const auto read = b_.CreateVector(inputs);
    const auto written = b_.CreateVector(outputs);
    const auto fields = b_.StartTable();
    for (std::size_t i = 0; i < options.size(); ++i) {
      b_.AddElement<std::int32_t>(at(static_cast<int>(i)), options[i], 0);
    }
    add_operator(read, written, union_type, Table(b_.EndTable(fields)));
  }

  /// A custom operator by its name, with options that are bytes.
  void custom_op(const std::string& name, const Extents& inputs, const Extents& outputs,
                 const std::vector<std::uint8_t>& options) {
    constexpr std::int32_t kCustom = 32;
    add_code(kCustom, b_.CreateString(name).o);
    const auto read = b_.CreateVector(inputs);
    const auto written = b_.CreateVector(outputs);
    const auto bytes = b_.CreateVector(options);
    const auto place = b_.StartTable();
    b_.AddElement<std::uint32_t>(at(0), static_cast<std::uint32_t>(codes_.size() - 1), 77);
    b_.AddOffset(at(1), read);
    b_.AddOffset(at(2), written);
    b_.AddOffset(at(5), bytes);
    operators_.emplace_back(b_.EndTable(place));
  }

  /// The handle that a VAR_HANDLE gives of the variable of that name.
  std::int32_t handle(const std::string& variable) {
    const auto result = add(resource, {});
    add_code(142);
    const auto read = b_.CreateVector(Extents());
    const auto written = b_.CreateVector(Extents{result});
    const auto name = b_.CreateString(variable);
    add_operator(read, written, 111, table({{1, name.o}}));
    return result;
  }

  /// Ends a graph; what is added then belongs to the next.
  void end_graph(const Extents& inputs, const Extents& outputs) {
    const auto read = b_.CreateVector(inputs);
    const auto written = b_.CreateVector(outputs);
    const auto tensors = b_.CreateVector(tensors_);
    const auto operators = b_.CreateVector(operators_);
    graphs_.push_back(table({{0, tensors.o}, {1, read.o}, {2, written.o}, {3, operators.o}}));
    tensors_.clear();
    operators_.clear();
  }

  /// The file, whose last graph ends.
  std::vector<std::uint8_t> bytes(const Extents& inputs, const Extents& outputs) {
    end_graph(inputs, outputs);
    const auto graphs = b_.CreateVector(graphs_);
    const auto codes = b_.CreateVector(codes_);
    buffers_.insert(buffers_.begin(), table({}));
    const auto buffers = b_.CreateVector(buffers_);
    const auto start = b_.StartTable();
    b_.AddElement<std::uint32_t>(at(0), 3, 0);
    b_.AddOffset(at(1), codes);
    b_.AddOffset(at(2), graphs);
    b_.AddOffset(at(4), buffers);
    b_.Finish(flatbuffers::Offset<void>(b_.EndTable(start)), "TFL3");
    return {b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize()};
  }

 private:
  using Table = flatbuffers::Offset<void>;

  static flatbuffers::voffset_t at(int field) {
    return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
  }

  /// A table of fields that are offsets alone.
  Table table(const std::vector<std::pair<int, flatbuffers::uoffset_t>>& fields) {
    const auto start = b_.StartTable();
    for (const auto& [field, offset] : fields) b_.AddOffset(at(field), Table(offset));
    return b_.EndTable(start);
  }

  void add_code(std::int32_t code, flatbuffers::uoffset_t name = 0) {
    const auto start = b_.StartTable();
    b_.AddElement<std::int8_t>(at(0), static_cast<std::int8_t>(std::min(code, 127)), 0);
    if (name != 0) b_.AddOffset(at(1), Table(name));
    b_.AddElement<std::int32_t>(at(2), 1, 0);
    b_.AddElement<std::int32_t>(at(3), code, 0);
    codes_.emplace_back(b_.EndTable(start));
  }

  using Vector = flatbuffers::Offset<flatbuffers::Vector<std::int32_t>>;
  void add_operator(Vector read, Vector written, std::uint8_t union_type, Table options) {
    const auto place = b_.StartTable();
    b_.AddElement<std::uint32_t>(at(0), static_cast<std::uint32_t>(codes_.size() - 1), 77);
    b_.AddOffset(at(1), read);
    b_.AddOffset(at(2), written);
    if (union_type != 0) {
      b_.AddElement<std::uint8_t>(at(3), union_type, 0);
      b_.AddOffset(at(4), options);
    }
    operators_.emplace_back(b_.EndTable(place));
  }

  /// The zero point of codes, whose scale is 0.5.
  static std::int64_t middle(Type type) { return type == uint8 ? 128 : 0; }

  std::int32_t tensor(Type type, const Extents& signature, std::uint32_t buffer,
                      const std::vector<std::int64_t>& zero_points) {
    Extents shape = signature;
    for (std::int32_t& extent : shape) extent = extent < 0 ? 1 : extent;
    const auto extents = b_.CreateVector(shape);
    const auto open = b_.CreateVector(signature);
    const auto name = b_.CreateString("t" + std::to_string(tensors_.size()));
    flatbuffers::uoffset_t grid = 0;
    if (type == int8 || type == uint8) {
      const auto scales = b_.CreateVector(std::vector<float>(zero_points.size(), 0.5F));
      const auto zeros = b_.CreateVector(zero_points);
      grid = table({{2, scales.o}, {3, zeros.o}}).o;
    }
    const auto start = b_.StartTable();
    b_.AddOffset(at(0), extents);
    b_.AddElement<std::int8_t>(at(1), type, 0);
    b_.AddElement<std::uint32_t>(at(2), buffer, 0);
    b_.AddOffset(at(3), name);
    if (grid != 0) b_.AddOffset(at(4), Table(grid));
    if (signature != shape) b_.AddOffset(at(7), open);
    tensors_.emplace_back(b_.EndTable(start));
    return static_cast<std::int32_t>(tensors_.size() - 1);
  }

  flatbuffers::FlatBufferBuilder b_;
  std::vector<Table> tensors_;
  std::vector<Table> operators_;
  std::vector<Table> codes_;
  std::vector<Table> buffers_;
  std::vector<Table> graphs_;
};

}  // namespace octet::test
