#pragma once

#include <octet/core/quant/round.h>
#include <octet/core/quant/rounding.h>
#include <octet/core/shape.h>
#include <octet/runtime/integer_model.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace octet::detail {

/// An operator made ready to run: constants packed, factors computed, nothing left to check.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Bytes that each thread keeps at most for run() of so many samples.
  virtual std::size_t thread_bytes(Index /*samples*/) const { return 0; }

  /// Computes `samples` samples of the model's own shapes, laid end to end. Does not throw, and
  /// allocates only what a thread keeps for the next call.
  virtual void run(Index samples, const std::byte* in, std::byte* out) const = 0;
  /// The same, while it fetches `soon`, which will be read next, into a cache where it can.
  virtual void run_fetching(Index samples, const std::byte* in, std::byte* out,
                            std::span<const std::byte> soon) const {
    static_cast<void>(soon);
    run(samples, in, out);
  }
};

/// An operator of a validated model and its operands.
struct KernelSource {
  const IntegerModel& model;
  const Operator& op;
  Rounding rounding;

  const ModelTensor& operand(std::size_t i) const {
    return model.tensors[static_cast<std::size_t>(op.inputs[i])];
  }
  const ModelTensor& input() const { return operand(0); }
  const ModelTensor& output() const {
    return model.tensors[static_cast<std::size_t>(op.outputs[0])];
  }
  bool has_operand(std::size_t i) const { return i < op.inputs.size() && op.inputs[i] != -1; }
};

/// A tensor's quantization with the limits of its stored type: a file knows no narrower ones, and
/// a model gives the same numbers before and after it was a file.
QuantParams stored_params(const ModelTensor& tensor);

/// The activation that an operator code or a fused activation names, as a clamp.
FusedActivation activation_of(OpCode code);

/// What an operator on single bytes (RELU, LOGISTIC, QUANTIZE of codes, ...) makes of each, by the
/// code's bits.
std::array<std::uint8_t, 256> byte_table(const KernelSource& source);

/// Elements of one chunk of an elementwise parallel loop, and rows of one of a loop over rows.
inline constexpr std::size_t kElementsPerChunk = 16384;
inline constexpr std::size_t kRowsPerChunk = 32;

/// The kernel of any operator. Throws Octet's errors where factors are out of bounds.
std::unique_ptr<Kernel> make_kernel(const KernelSource& source);

// Families, each in its own file.
std::unique_ptr<Kernel> make_fully_connected(const KernelSource& source);
std::unique_ptr<Kernel> make_softmax(const KernelSource& source);
std::unique_ptr<Kernel> make_byte_table(const KernelSource& source);
std::unique_ptr<Kernel> make_quantize(const KernelSource& source);
std::unique_ptr<Kernel> make_dequantize(const KernelSource& source);
std::unique_ptr<Kernel> make_float(const KernelSource& source);

}  // namespace octet::detail
