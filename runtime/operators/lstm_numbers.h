#pragma once

#include <octet/runtime/operators/fully_connected.h>
#include <octet/runtime/operators/lstm_steps.h>

#include <cstdint>
#include <vector>

// The numbers of a UNIDIRECTIONAL_SEQUENCE_LSTM, for whoever runs it or writes it out.

namespace octet::detail {

struct LstmGeometry {
  Index batch;
  Index steps;
  Index inputs;
  Index cells;
  bool time_major;

  /// How many rows of values lie from one sequence of a batch to the next, and from one step of a
  /// sequence to the next.
  Index rows_apart() const { return time_major ? 1 : steps; }
  Index steps_apart() const { return time_major ? batch : 1; }
};

LstmGeometry lstm_geometry(const Operands& operands);

/// The numbers of one on int8 under rounding mode double.
struct LstmNumbers {
  LstmGeometry geometry;
  /// The sums of each gate over the input and over the hidden state, rescaled and saturated to
  /// int16.
  std::vector<FullyConnectedNumbers> of_input;
  std::vector<FullyConnectedNumbers> of_hidden;
  /// Without units and memory.
  LstmStep step;
};

/// Throws InvalidArgument for other types and rounding modes.
LstmNumbers lstm_numbers(const KernelSource& source);

}  // namespace octet::detail
