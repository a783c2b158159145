#pragma once

#include <octet/runtime/kernel.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace octet::detail {

/// The gates of an LSTM: i, f, c and o.
inline constexpr std::size_t kLstmGates = 4;

/// Computes UNIDIRECTIONAL_SEQUENCE_LSTM, and also tells what it has computed of each step:
/// training makes gradients of it.
class SequenceLstmKernel : public Kernel {
 public:
  /// Kinds of numbers of a unit in a step: the functions of its gates, in units of 2^-15, the cell
  /// state behind the step and its tanh. Those of one kind lie behind one another, for all units.
  enum Traced : Index { kInput, kForget, kCandidate, kOutput, kCell, kTanhOfCell, kTraced };

  /// Runs as run() does. `trace` is [samples, steps, kTraced, units], for a batch of 1 in the
  /// model; null for none.
  virtual void run_traced(const KernelArguments& arguments, std::int16_t* trace) const = 0;
  void run(const KernelArguments& arguments) const override { run_traced(arguments, nullptr); }
};

std::unique_ptr<SequenceLstmKernel> make_sequence_lstm(const KernelSource& source);

}  // namespace octet::detail
