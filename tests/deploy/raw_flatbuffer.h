#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet::test {

/// A FlatBuffer read by hand, field by position: checks the file against the format's description
/// without any schema.
class RawTable {
 public:
  RawTable(std::span<const std::uint8_t> file, std::size_t position)
      : file_(file), position_(position) {}

  static RawTable root(std::span<const std::uint8_t> file) {
    return {file, read<std::uint32_t>(file, 0)};
  }

  std::size_t position() const { return position_; }
  bool has(int field) const { return offset_of(field) != 0; }

  template <class T>
  T scalar(int field, T otherwise = {}) const {
    const std::size_t offset = offset_of(field);
    return offset == 0 ? otherwise : read<T>(file_, position_ + offset);
  }

  /// Where in the file a scalar lies, to change it there.
  std::size_t place(int field) const {
    const std::size_t offset = offset_of(field);
    if (offset == 0) throw std::out_of_range("raw flatbuffer: field is absent");
    return position_ + offset;
  }

  /// Where the vtable says that the field is there: two zero bytes make it absent.
  std::size_t vtable_slot(int field) const {
    const auto back = read<std::int32_t>(file_, position_);
    return static_cast<std::size_t>(static_cast<std::int64_t>(position_) - std::int64_t{back} + 4 +
                                    2 * field);
  }

  RawTable table(int field) const { return {file_, target(field)}; }

  std::string text(int field) const {
    const std::size_t start = target(field);
    const auto size = read<std::uint32_t>(file_, start);
    return {reinterpret_cast<const char*>(file_.data()) + start + 4, size};
  }

  template <class T>
  std::vector<T> values(int field) const {
    if (!has(field)) return {};
    const std::size_t start = target(field);
    std::vector<T> result(read<std::uint32_t>(file_, start));
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = read<T>(file_, start + 4 + i * sizeof(T));
    }
    return result;
  }

  /// Where the elements of a vector start in the file.
  std::size_t start_of_values(int field) const { return target(field) + 4; }

  std::vector<RawTable> tables(int field) const {
    std::vector<RawTable> result;
    if (!has(field)) return result;
    const std::size_t start = target(field);
    for (std::uint32_t i = 0; i < read<std::uint32_t>(file_, start); ++i) {
      const std::size_t entry = start + 4 + 4 * std::size_t{i};
      result.emplace_back(file_, entry + read<std::uint32_t>(file_, entry));
    }
    return result;
  }

 private:
  template <class T>
  static T read(std::span<const std::uint8_t> file, std::size_t position) {
    if (position + sizeof(T) > file.size()) throw std::out_of_range("raw flatbuffer");
    T value;
    std::memcpy(&value, file.data() + position, sizeof(T));
    return value;
  }

  std::size_t offset_of(int field) const {
    const std::size_t slot = vtable_slot(field);
    const std::size_t vtable = vtable_slot(-2);
    if (slot + 2 > vtable + read<std::uint16_t>(file_, vtable)) return 0;
    return read<std::uint16_t>(file_, slot);
  }

  std::size_t target(int field) const {
    const std::size_t offset = offset_of(field);
    if (offset == 0) throw std::out_of_range("raw flatbuffer: field is absent");
    return position_ + offset + read<std::uint32_t>(file_, position_ + offset);
  }

  std::span<const std::uint8_t> file_;
  std::size_t position_;
};

// Positions of fields, as the format's description gives them.
namespace model_field {
enum {
  version,
  operator_codes,
  subgraphs,
  description,
  buffers,
  metadata_buffer,
  metadata,
  signature_defs
};
}
namespace graph_field {
enum { tensors, inputs, outputs, operators, name };
}
namespace tensor_field {
enum { shape, type, buffer, name, quantization, is_variable, sparsity, shape_signature, has_rank };
}
namespace quantization_field {
enum { min, max, scale, zero_point, details_type, details, quantized_dimension };
}
namespace operator_field {
enum { opcode_index, inputs, outputs, options_type, options };
}
namespace code_field {
enum { deprecated_builtin_code, custom_code, version, builtin_code };
}

}  // namespace octet::test
