#pragma once

#include <octet/deploy/tflite/budget.h>
#include <octet/runtime/operators/definitions.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tflite_schema_generated.h"

// What a .tflite file says of each operator: its options and its versions.

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

  FusedActivation activation(tflite::ActivationFunctionType type) const;
  octet::Padding padding(tflite::Padding type) const;
};

using WrittenOptions = std::pair<tflite::BuiltinOptions, flatbuffers::Offset<void>>;

/// One operator in .tflite files.
struct TfliteOperator {
  /// The highest version that Octet understands.
  int highest_version;
  /// The lowest version that covers the types and options of an operator: what a file has to ask
  /// for, and what loads in the most runtimes.
  int (*required_version)(const Operands& operands);
  /// The first release of TensorFlow Lite with this version, as a sortable number: 1.14.0 is 11400,
  /// 2.3.0 is 20300.
  int (*first_release)(int version);
  /// The attributes that a file's options are.
  OperatorAttributes (*read)(const TfliteOptions& options);
  WrittenOptions (*write)(flatbuffers::FlatBufferBuilder& builder, const Operands& operands);
  /// Where a file has the operands in an order of its own: operand i of the file is input order[i]
  /// of Operator, and the last ones may be left out. Empty where the order is the same.
  std::span<const std::size_t> order{};
};

/// The inputs of an Operator from those of a file. Throws FormatError where the file has more.
std::vector<std::int32_t> inputs_from_file(const TfliteOperator& format,
                                           const std::vector<std::int32_t>& in_file,
                                           std::string_view who);
/// The inputs as a file has them.
std::vector<std::int32_t> inputs_for_file(const TfliteOperator& format,
                                          const std::vector<std::int32_t>& inputs);

/// The operators, by families in operators/.
namespace tflite_forms {
#define OCTET_ROW(name, number) TfliteOperator name();
#include <octet/runtime/operators.def>
}  // namespace tflite_forms

tflite::ActivationFunctionType activation_of(const Operator& op);
tflite::Padding padding_of(octet::Padding padding);

// What several operators share.

/// Operators without options.
OperatorAttributes read_none(const TfliteOptions& options);
WrittenOptions write_none(flatbuffers::FlatBufferBuilder& builder, const Operands& operands);
/// 1 for floats, 2 for int8: most operators.
int version_of_types(const Operands& operands);
int always_first(const Operands& operands);
int release_of_first(int version);
int release_of_types(int version);
/// LOGISTIC and TANH.
int release_of_tables(int version);

/// Throws FormatError for an unknown code.
const TfliteOperator& tflite_operator(OpCode code);

}  // namespace octet::detail
