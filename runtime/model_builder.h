#pragma once

#include <octet/core/shape.h>
#include <octet/runtime/integer_model.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// Puts an IntegerModel together, tensor by tensor. Used by the lowerings.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name) { model_.name = std::move(name); }
  /// Goes on with a model.
  explicit ModelBuilder(IntegerModel model) : model_(std::move(model)) {}

  std::int32_t add(ModelTensor tensor);

  /// A value that is computed: [batch, example_shape...], the batch unknown.
  std::int32_t activation(std::string name, DType dtype, const Shape& example_shape,
                          QuantParams quantization = no_quantization());

  template <class T>
  std::int32_t constant(std::string name, DType dtype, std::vector<std::int32_t> shape,
                        std::span<const T> values, QuantParams quantization = no_quantization()) {
    ModelTensor tensor;
    tensor.name = std::move(name);
    tensor.dtype = dtype;
    tensor.shape = std::move(shape);
    tensor.quantization = std::move(quantization);
    tensor.data.resize(values.size_bytes());
    if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), values.size_bytes());
    return add(std::move(tensor));
  }

  /// Appends an operator that reads `inputs` and writes `output`.
  Operator& op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output,
               OperatorAttributes attributes);
  /// @overload
  /// The attributes are the code's defaults.
  Operator& op(OpCode code, std::vector<std::int32_t> inputs, std::int32_t output);

  /// RESHAPE of `input` to [batch, example_shape...].
  void reshape(std::string name, std::int32_t input, std::int32_t output,
               const Shape& example_shape);

  /// RESHAPE of `input` to `target`, in which one extent may be -1.
  void reshape_to(std::string name, std::int32_t input, std::int32_t output,
                  const std::vector<std::int32_t>& target);

  IntegerModel& model() { return model_; }
  const ModelTensor& tensor(std::int32_t index) const {
    return model_.tensors[static_cast<std::size_t>(index)];
  }

  static QuantParams no_quantization() {
    QuantParams none;
    none.scales.clear();
    none.zero_points.clear();
    return none;
  }

 private:
  IntegerModel model_;
};

}  // namespace octet
