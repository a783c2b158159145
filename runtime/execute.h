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

/// Operators made ready to run, constants packed and factors computed: what training keeps of an
/// operator while its scales stay as they are. Several threads may run one.
class PreparedOperators {
 public:
  /// Throws FormatError where the model is not valid.
  PreparedOperators(IntegerModel model, Rounding rounding);
  ~PreparedOperators();
  PreparedOperators(const PreparedOperators&) = delete;
  PreparedOperators& operator=(const PreparedOperators&) = delete;

  const IntegerModel& model() const { return model_; }
  /// Runs them on the memory of the model's inputs and outputs; throws as run_operators().
  void run(Index samples, std::span<const std::byte* const> inputs,
           std::span<std::byte* const> outputs) const;

 private:
  IntegerModel model_;
  std::vector<bool> batched_;
  std::vector<std::unique_ptr<detail::Kernel>> kernels_;
};

/// Runs the operators of a model once, on `samples` samples of its own shapes laid end to end:
/// `inputs` and `outputs` are the memory of the model's inputs and outputs, in their order. What
/// training runs to compute on codes with the very kernels of the interpreter. Every value between
/// has memory of its own while the call lasts; use Interpreter to run a model more than once.
/// Throws FormatError where the model is not valid, InvalidArgument where the number of inputs
/// or outputs differs, one is null, an output is a constant or an input, or samples is below 1.
void run_operators(const IntegerModel& model, Rounding rounding, Index samples,
                   std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs);

}  // namespace octet
