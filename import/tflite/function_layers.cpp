#include <octet/core/error.h>
#include <octet/import/tflite/operator_layers.h>
#include <octet/layers/layers.h>

namespace octet::detail {

std::unique_ptr<Layer> function_layer(const Operator& op) {
  switch (op.code) {
    case OpCode::relu:
      return std::make_unique<ReLU>();
    case OpCode::relu6:
      return std::make_unique<ReLU6>();
    case OpCode::softmax:
      if (op.as<SoftmaxAttributes>().beta != 1.0F) throw FormatError("its beta is not 1");
      return std::make_unique<Softmax>();
    case OpCode::logistic:
      return std::make_unique<ActivationLayer>(Activation::sigmoid);
    case OpCode::tanh:
      return std::make_unique<ActivationLayer>(Activation::tanh);
    case OpCode::leaky_relu:
      return std::make_unique<LeakyReLU>(op.as<LeakyReluAttributes>().alpha);
    case OpCode::hard_swish:
      return std::make_unique<HardSwish>();
    case OpCode::exp:
      return std::make_unique<MathFunction>(UnaryFunction::exp);
    case OpCode::log:
      return std::make_unique<MathFunction>(UnaryFunction::log);
    case OpCode::sqrt:
      return std::make_unique<MathFunction>(UnaryFunction::sqrt);
    case OpCode::elu:
      return std::make_unique<ELU>();
    case OpCode::gelu:
      return std::make_unique<GELU>(
          GELUOptions{.approximate = op.as<GeluAttributes>().approximate});
    default:
      throw FormatError("no layer computes it");
  }
}

}  // namespace octet::detail
