#pragma once

#include <octet/runtime/kernel.h>

#include <cstdint>
#include <memory>

namespace octet::detail {

/// UNIDIRECTIONAL_SEQUENCE_LSTM, which also tells what it has computed of each step: training makes
/// gradients of it.
class SequenceLstmKernel : public Kernel {
 public:
  /// Numbers of a unit in a step: the functions of its gates i, f, c and o, in units of 2^-15, the
  /// cell state and its tanh, each of them for all units behind one another.
  static constexpr Index kTraced = 6;

  /// Runs as run() does. `trace` is [samples, steps, kTraced, units], for a batch of 1 in the
  /// model; null for none.
  virtual void run_traced(const KernelArguments& arguments, std::int16_t* trace) const = 0;
  void run(const KernelArguments& arguments) const override { run_traced(arguments, nullptr); }
};

std::unique_ptr<SequenceLstmKernel> make_sequence_lstm(const KernelSource& source);

}  // namespace octet::detail
