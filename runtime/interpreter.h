#pragma once

#include <octet/core/language.h>

#include <octet/core/quant/rounding.h>
#include <octet/core/shape.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace octet {

struct InterpreterOptions {
  /// How sums are rescaled. Where not given: the model's metadata "octet.rounding", else fp32.
  std::optional<Rounding> rounding{};
  /// Samples of one invoke().
  Index batch = 1;
  /// Gives every tensor memory of its own, so that all of them can be read after invoke().
  bool keep_tensors = false;
  /// The most memory that the model may ask for beside its own constants: tensors, packed weights,
  /// and the sums that each thread keeps. Where not given: 1 GiB, or 16 times the constants where
  /// that is more.
  std::optional<std::size_t> max_bytes{};
};

/// Scales and zero points along `quantized_dimension`; empty, empty, 0 without quantization.
struct QuantizationDetails {
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  std::int32_t quantized_dimension = 0;
};

/// Details of a tensor, as TensorFlow Lite's interpreter gives them.
struct TensorDetails {
  std::string name;
  std::int32_t index = 0;
  std::vector<std::int32_t> shape;
  /// -1 where an extent is not known.
  std::vector<std::int32_t> shape_signature;
  DType dtype = DType::float32;
  /// (scale, zero point); (0, 0) without quantization or with more than one scale.
  std::pair<float, std::int32_t> quantization{0.0F, 0};
  QuantizationDetails quantization_parameters;
};

/// Details of tensor `index` as the model stores it. Throws InvalidArgument for an index outside.
TensorDetails tensor_details(const IntegerModel& model, std::int32_t index);

/// The real value above which a model whose output number `output` is one number per sample
/// predicts class 1: 0.5 if LOGISTIC computes it, else 0. None for several numbers and after
/// SOFTMAX: the class is then the first of the largest. None for int32 either, which is the class.
std::optional<float> decision_threshold(const IntegerModel& model, std::size_t output = 0);

/// Runs a model. Memory is planned, weights are packed and multipliers computed once, in the
/// constructor; invoke() allocates nothing. A batch of n is n samples of the model's own shapes
/// laid end to end; every sample's result is the same in any batch and on any number of threads.
/// Not safe for concurrent calls on one object; several interpreters may share one model.
class Interpreter {
 public:
  /// Throws FormatError where the model is not valid or holds an operator on types that are not
  /// supported, InvalidArgument for a batch below 1 and where max_bytes is not enough.
  explicit Interpreter(IntegerModel model, InterpreterOptions options = {});
  explicit Interpreter(std::shared_ptr<const IntegerModel> model, InterpreterOptions options = {});
  ~Interpreter();
  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;

  const IntegerModel& model() const;
  Rounding rounding() const;
  Index batch() const;
  /// Plans memory anew for `batch` samples; tensors lose their values. Throws InvalidArgument as
  /// the constructor does, and nothing has changed then.
  void resize_batch(Index batch);
  /// Bytes of the memory plan: tensors, without constants.
  std::size_t arena_bytes() const;

  /// The elements of the i-th input or output, all samples end to end; an output that no input
  /// reaches, computed from constants alone, is there once. Throws InvalidArgument where
  /// i is outside or T is not the tensor's type. Inputs have to be filled before every invoke().
  template <class T>
  std::span<T> input(std::size_t i = 0) {
    return as_span<T>(typed_input(i, dtype_of<T>()));
  }
  template <class T>
  std::span<const T> output(std::size_t i = 0) const {
    return as_span<const T>(typed_output(i, dtype_of<T>()));
  }

  /// The bytes of an input or an output, whatever its type.
  std::span<std::byte> input_bytes(std::size_t i = 0);
  std::span<const std::byte> output_bytes(std::size_t i = 0) const;

  /// The bytes of any tensor, constants included. Throws InvalidArgument for an index outside, and
  /// for an intermediate tensor without InterpreterOptions::keep_tensors.
  std::span<const std::byte> tensor_bytes(std::int32_t index) const;
  /// The bytes of one sample of the batch; those of the whole tensor if no input reaches it. Throws
  /// as tensor_bytes() above, and InvalidArgument for a sample outside the batch.
  std::span<const std::byte> tensor_bytes(std::int32_t index, Index sample) const;

  /// Computes the outputs from the inputs. Allocates nothing. Throws InvalidArgument, naming the
  /// operator, for an index outside of its table.
  void invoke();

  std::vector<TensorDetails> get_input_details() const;
  std::vector<TensorDetails> get_output_details() const;
  /// All named tensors.
  std::vector<TensorDetails> get_tensor_details() const;

  /// Predicts the class of each sample of `values`, samples end to end: quantizes the floats for
  /// the first input, runs batches of batch() samples (the last may be filled up), and takes the
  /// largest element of the first output, the first of equal ones; if the output is one number,
  /// class 1 if it is above decision_threshold(); if it is one number of int32, as ARG_MAX gives
  /// it, that class. Throws InvalidArgument where `values` is no whole number of samples or the
  /// model has several inputs.
  std::vector<std::int32_t> predict(std::span<const float> values);
  /// Predicts the class of each sample of bytes, x = byte / 255, mostly without making floats.
  std::vector<std::int32_t> predict_bytes(std::span<const std::uint8_t> bytes);
  /// Returns the first output of each sample as real values, samples end to end. Otherwise as
  /// predict().
  std::vector<float> run(std::span<const float> values);
  /// Every output as real values, for the values of every input, in the model's order and samples
  /// end to end. An output that no input reaches is repeated for each sample. Throws
  /// InvalidArgument for another number of inputs and where these are no whole samples or unlike
  /// numbers of them.
  std::vector<std::vector<float>> run_all(std::span<const std::span<const float>> inputs);

 private:
  struct Impl;

  template <class T>
  static constexpr DType dtype_of() {
    using Plain = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Plain, float>) return DType::float32;
    if constexpr (std::is_same_v<Plain, std::int8_t>) return DType::int8;
    if constexpr (std::is_same_v<Plain, std::uint8_t>) return DType::uint8;
    if constexpr (std::is_same_v<Plain, std::int16_t>) return DType::int16;
    if constexpr (std::is_same_v<Plain, std::int32_t>) return DType::int32;
    if constexpr (std::is_same_v<Plain, std::int64_t>) return DType::int64;
  }

  template <class T, class Byte>
  static std::span<T> as_span(std::span<Byte> bytes) {
    // The arena is aligned for every element type.
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  std::span<std::byte> typed_input(std::size_t i, DType requested);
  std::span<const std::byte> typed_output(std::size_t i, DType requested) const;

  /// Throws InvalidArgument after the interpreter was moved from.
  Impl& impl() const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
