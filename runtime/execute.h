#pragma once

#include <octet/core/quant/rounding.h>
#include <octet/core/shape.h>
#include <octet/runtime/integer_model.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace octet {

namespace detail {
class Kernel;
}

/// The operators of a model made ready to run, constants packed and factors computed. Training runs
/// by them the very kernels of the interpreter, and keeps them while scales stay as they are.
/// Several threads may run one. Use Interpreter for whole models: here every value between has
/// memory of its own while a call lasts.
class PreparedOperators {
 public:
  /// Throws FormatError where the model is not valid.
  PreparedOperators(IntegerModel model, Rounding rounding);
  ~PreparedOperators();
  PreparedOperators(const PreparedOperators&) = delete;
  PreparedOperators& operator=(const PreparedOperators&) = delete;

  const IntegerModel& model() const { return model_; }
  /// Runs the operators on `samples` samples of the model's own shapes laid end to end; `inputs`
  /// and `outputs` are the memory of its inputs and outputs, in their order. Throws InvalidArgument
  /// where the number of inputs or outputs differs, one is null, an output is a constant or an
  /// input, or samples is below 1.
  void run(Index samples, std::span<const std::byte* const> inputs,
           std::span<std::byte* const> outputs) const;

 private:
  IntegerModel model_;
  std::vector<bool> batched_;
  std::vector<std::unique_ptr<detail::Kernel>> kernels_;
};

}  // namespace octet
