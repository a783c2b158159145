#pragma once

#include <octet/core/quant/round.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/shape.h>
#include <octet/runtime/operators/operands.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace octet::detail {

/// The most operands and the most results of any operator.
inline constexpr std::size_t kMostInputs = 16;
inline constexpr std::size_t kMostOutputs = 16;

/// An operand of a running kernel.
struct KernelInput {
  /// The first sample; null where the operand is absent.
  const std::byte* data = nullptr;
  /// Bytes from one sample to the next; 0 where all samples read the same, as of a constant.
  std::size_t stride = 0;
};

/// What a kernel runs on.
struct KernelArguments {
  /// Samples of the model's own shapes, laid end to end.
  Index samples = 1;
  /// One for each input of the operator.
  std::span<const KernelInput> inputs{};
  /// The first sample of each output of the operator.
  std::span<std::byte* const> outputs{};
  /// Memory that will be read next: a kernel may fetch it into a cache.
  std::span<const std::byte> prefetch{};

  template <class T>
  const T* input(std::size_t i = 0) const {
    return reinterpret_cast<const T*>(inputs[i].data);
  }
  std::byte* output() const { return outputs[0]; }
  template <class T>
  T* to(std::size_t i = 0) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
};

/// An operator made ready to run: constants packed, factors computed, nothing left to check.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Bytes that the kernel keeps of its constants; at most what the operator's definition says
  /// before the kernel is made.
  virtual std::size_t bytes() const { return 0; }
  /// Bytes that each thread keeps at most for run() of so many samples.
  virtual std::size_t thread_bytes(Index /*samples*/) const { return 0; }

  /// Computes the output of every sample. Throws InvalidArgument for an index outside of a table
  /// and nothing else, and allocates only what a thread keeps for the next call.
  virtual void run(const KernelArguments& arguments) const = 0;
};

/// An operator of a validated model, and the contract to compute by.
struct KernelSource : Operands {
  Rounding rounding;

  KernelSource(const IntegerModel& of_model, const Operator& of_op, Rounding by)
      : Operands(of_model, of_op), rounding(by) {}
};

/// A tensor's quantization with the limits of its stored type: a file knows no narrower ones, and
/// a model gives the same numbers before and after it was a file.
QuantParams stored_params(const ModelTensor& tensor);

/// Bytes of one sample of a tensor.
std::size_t sample_bytes(const ModelTensor& tensor);

/// Elements of one chunk of an elementwise parallel loop, and rows of one of a loop over rows.
inline constexpr std::size_t kElementsPerChunk = 16384;
inline constexpr std::size_t kRowsPerChunk = 32;

/// The kernel of any operator. Throws Octet's errors where factors are out of bounds.
std::unique_ptr<Kernel> make_kernel(const KernelSource& source);

/// The kernel of operator `index` of a validated model. Throws FormatError that names the operator
/// where factors are out of bounds.
std::unique_ptr<Kernel> make_kernel(const IntegerModel& model, std::size_t index,
                                    Rounding rounding);

/// The kernels of all operators of a validated model, in their order. Throws as make_kernel().
std::vector<std::unique_ptr<Kernel>> make_kernels(const IntegerModel& model, Rounding rounding);

/// By tensor: whether its value comes from a model input, so that every sample has its own. What
/// constants alone give is there once.
std::vector<bool> find_batched(const IntegerModel& model);

/// Fills in one input per operand of an operator; null where it is absent. `read(tensor)` is where
/// the first sample of an operand lies.
template <class Read>
void fill_inputs(const Operands& of, const std::vector<bool>& batched,
                 std::span<KernelInput> inputs, Read&& read) {
  for (std::size_t i = 0; i < of.op.inputs.size(); ++i) {
    inputs[i] = {};
    if (!of.has_input(i)) continue;
    const bool per_sample = batched[static_cast<std::size_t>(of.op.inputs[i])];
    inputs[i] = {read(of.op.inputs[i]), per_sample ? sample_bytes(of.input(i)) : 0};
  }
}

/// Runs one operator's kernel. `read(tensor)` is where the first sample of an operand lies,
/// `write(tensor)` where that of a result goes.
template <class Read, class Write>
void run_kernel(const Kernel& kernel, const Operands& of, const std::vector<bool>& batched,
                KernelArguments arguments, Read&& read, Write&& write) {
  KernelInput inputs[kMostInputs];
  fill_inputs(of, batched, inputs, read);
  arguments.inputs = {inputs, of.op.inputs.size()};
  std::byte* outputs[kMostOutputs];
  std::ranges::transform(of.op.outputs, outputs, write);
  arguments.outputs = {outputs, of.op.outputs.size()};
  kernel.run(arguments);
}

}  // namespace octet::detail
