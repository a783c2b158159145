#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/runtime/operators/definitions.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tflite_schema_generated.h"

// The options of operators in .tflite files.

namespace octet::detail {

/// Copies a vector of a FlatBuffer of at most `most` elements; null is empty. As bytes: the
/// verifier lets elements of 8 bytes lie at any multiple of 4.
template <class T>
std::vector<T> read_values(const flatbuffers::Vector<T>* values, std::size_t most,
                           std::string_view who, Budget& budget) {
  const std::size_t count = values == nullptr ? 0 : values->size();
  if (count > most) fail_tflite("{}: {} values, more than {}", who, count, most);
  budget.take(count * sizeof(T));
  std::vector<T> result(count);
  if (count > 0) std::memcpy(result.data(), values->Data(), count * sizeof(T));
  return result;
}

/// The inputs, or the outputs, of an operator of a file.
inline std::vector<std::int32_t> read_operands(const flatbuffers::Vector<std::int32_t>* operands,
                                               Budget& budget) {
  return read_values(operands, 2 * kMostInputs, "operands", budget);
}

/// Returns the number of an operator, which files have in two fields for older readers.
tflite::BuiltinOperator builtin_of(const tflite::OperatorCode& code);

/// The operator of that number or that name; none where Octet has no such.
std::optional<OpCode> known_code(const tflite::OperatorCode& code);
/// "CONV_2D", or "custom operator 'NAME'".
std::string operator_name(const tflite::OperatorCode& code);
/// "float16": numpy's name, where numpy has the type.
std::string type_name(tflite::TensorType type);

/// An operator of a file whose options are being read.
struct TfliteOptions {
  const tflite::Operator& source;
  /// "operator 3 (SOFTMAX)".
  std::string_view who;
  Budget& budget;

  /// The options; null where there are none. Throws FormatError for those of another operator.
  template <class Options>
  const Options* as() const {
    constexpr auto expected = tflite::BuiltinOptionsTraits<Options>::enum_value;
    const auto found = source.builtin_options_type();
    if (found != tflite::BuiltinOptions::NONE && found != expected) {
      const std::string_view name = tflite::EnumNameBuiltinOptions(found);
      fail_tflite("{}: expected {}, found {}", who, tflite::EnumNameBuiltinOptions(expected),
                  name.empty() ? "the options of another operator" : name);
    }
    return source.builtin_options_as<Options>();
  }

  /// The options. Throws FormatError where there are none, or those of another operator.
  template <class Options>
  const Options& require() const {
    const auto* options = as<Options>();
    if (options == nullptr) fail_tflite("{}: its options are missing", who);
    return *options;
  }

  /// A field of the options as attributes have it. Throws FormatError for what Octet has no word
  /// for.
  FusedActivation value(tflite::ActivationFunctionType type) const;
  octet::Padding value(tflite::Padding type) const;
  std::vector<std::int32_t> value(const flatbuffers::Vector<std::int32_t>* values) const;
  std::int32_t value(std::int32_t number) const { return number; }
  float value(float number) const { return number; }
  bool value(bool flag) const { return flag; }

  /// Throws FormatError for a field that Octet takes for 0 and that is another number.
  void require_zero(std::string_view field, int number) const;
};

/// A field of attributes as options have it; values in a vector are written to `builder`.
tflite::ActivationFunctionType written_field(flatbuffers::FlatBufferBuilder& builder,
                                             FusedActivation activation);
tflite::Padding written_field(flatbuffers::FlatBufferBuilder& builder, octet::Padding padding);
flatbuffers::Offset<flatbuffers::Vector<std::int32_t>> written_field(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<std::int32_t>& values);
template <class Number>
requires std::is_arithmetic_v<Number> Number
written_field(flatbuffers::FlatBufferBuilder& /*builder*/, Number number) {
  return number;
}

/// The options of an operator in a file; those of a custom operator are bytes.
struct WrittenOptions {
  tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE;
  flatbuffers::Offset<void> options{};
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> custom{};
};

/// The field of attributes that has the name of field I of a table of options; nullptr where the
/// attributes lack it.
template <class Options, std::size_t I, class Attributes>
auto field_of(Attributes& attributes) {
  constexpr const auto& names = kFieldNames<std::remove_const_t<Attributes>>;
  constexpr std::string_view name = Options::Traits::field_names[I];
  constexpr auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  if constexpr (at < names.size()) {
    return &std::get<at>(attributes.fields());
  } else {
    return nullptr;
  }
}

/// The attributes that the options of a file are, field by field of the same name.
template <class Options, class Attributes>
OperatorAttributes attributes_of(const TfliteOptions& from, const Options& options) {
  Attributes attributes;
  const auto read = [&]<std::size_t I>() {
    const auto field = field_of<Options, I>(attributes);
    if constexpr (std::is_null_pointer_v<std::remove_const_t<decltype(field)>>) {
      from.require_zero(Options::Traits::field_names[I], options.template get_field<I>());
    } else {
      *field = from.value(options.template get_field<I>());
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (read.template operator()<I>(), ...); }
  (std::make_index_sequence<Options::Traits::fields_number>());
  return attributes;
}

/// Attributes as the options of a file, field by field of the same name.
template <class Options, class Attributes>
WrittenOptions options_of(flatbuffers::FlatBufferBuilder& builder, const Attributes& attributes) {
  const auto written = [&]<std::size_t I>() {
    const auto field = field_of<Options, I>(attributes);
    if constexpr (std::is_null_pointer_v<std::remove_const_t<decltype(field)>>) {
      return std::int8_t{0};
    } else {
      return written_field(builder, *field);
    }
  };
  const auto options = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return Options::Traits::Create(builder, written.template operator()<I>()...);
  }
  (std::make_index_sequence<Options::Traits::fields_number>());
  // A copy, since the traits' constant has no definition that a reference could be bound to.
  constexpr auto type = tflite::BuiltinOptionsTraits<Options>::enum_value;
  return {type, options.Union()};
}

class Draft;

/// How a file holds the attributes of an operator.
struct TfliteForm {
  /// The attributes that a file's options are.
  OperatorAttributes (*read)(const TfliteOptions& options);
  WrittenOptions (*write)(flatbuffers::FlatBufferBuilder& builder, const Operands& operands);
  /// Gives an operator that has been read what files leave to the runtime: shapes of results, or
  /// operators in front, which are appended to the draft. Returns the tensors that this operator
  /// reads no more. Operands may not exist. Null where files say all.
  std::vector<std::int32_t> (*complete)(Operator& op, Draft draft) = nullptr;
};

/// The attributes and the options of an operator that has none.
OperatorAttributes read_none(const TfliteOptions& options);
WrittenOptions write_none(flatbuffers::FlatBufferBuilder& builder, const Operands& operands);

template <class Options, class Attributes>
OperatorAttributes read_optional(const TfliteOptions& from) {
  const auto* options = from.as<Options>();
  return options == nullptr ? Attributes{} : attributes_of<Options, Attributes>(from, *options);
}
template <class Options, class Attributes>
OperatorAttributes read_required(const TfliteOptions& from) {
  return attributes_of<Options, Attributes>(from, from.require<Options>());
}
template <class Options, class Attributes>
WrittenOptions write_options(flatbuffers::FlatBufferBuilder& builder, const Operands& o) {
  return options_of<Options>(builder, o.op.as<Attributes>());
}

/// Whether a table of options has a field of the name of each attribute.
template <class Options, class Attributes>
concept Holds = std::ranges::all_of(kFieldNames<Attributes>, [](std::string_view name) {
  return std::ranges::find(Options::Traits::field_names, name) !=
         std::ranges::end(Options::Traits::field_names);
});

// What rows of operators.def say of options: how a file holds attributes of some type.

/// Attributes in a table of options, which has their defaults where a file lacks it.
template <class Options>
struct Optional {
  template <class Attributes>
  requires Holds<Options, Attributes>
  static constexpr TfliteForm kForm = {.read = read_optional<Options, Attributes>,
                                       .write = write_options<Options, Attributes>};
};

/// Attributes in a table of options that a file may not lack.
template <class Options>
struct Required {
  template <class Attributes>
  requires Holds<Options, Attributes>
  static constexpr TfliteForm kForm = {.read = read_required<Options, Attributes>,
                                       .write = write_options<Options, Attributes>};
};

/// No attributes, and a table of options that says nothing: a file may hold another.
template <class Options>
struct Empty {
  template <std::same_as<NoAttributes> Attributes>
  static constexpr TfliteForm kForm = {.read = read_none,
                                       .write = write_options<Options, Attributes>};
};

/// No attributes and no options.
struct NoOptions {
  template <std::same_as<NoAttributes> Attributes>
  static constexpr TfliteForm kForm = {.read = read_none, .write = write_none};
};

/// The operators whose options do not follow from attributes field by field, in operators/.
namespace tflite_forms {
#define OCTET_ROW(...)
#define OCTET_ROW_BY_HAND(name, ...) TfliteForm name();
#include <octet/runtime/operators.def>
}  // namespace tflite_forms

/// The inputs of an Operator from those of a file. Throws FormatError where the file has more.
std::vector<std::int32_t> inputs_from_file(OpCode code, const std::vector<std::int32_t>& in_file,
                                           std::string_view who);
/// The inputs as a file has them.
std::vector<std::int32_t> inputs_for_file(const Operator& op);

/// Throws FormatError for an unknown code.
const TfliteForm& tflite_form(OpCode code);

}  // namespace octet::detail
