#include <octet/core/autograd.h>
#include <octet/core/buffer.h>
#include <octet/core/ops/matmul.h>
#include <octet/core/ops/quantized_tensor.h>
#include <octet/core/ops/reduce.h>
#include <octet/core/ops/shape_ops.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/activation_range.h>
#include <octet/layers/quantize/integer_lstm.h>
#include <octet/layers/quantize/integer_ops.h>
#include <octet/layers/quantize/quantize_config.h>
#include <octet/layers/quantize/quantize_tensor.h>
#include <octet/layers/quantize/shared_range.h>
#include <octet/runtime/operators/lstm_steps.h>
#include <octet/runtime/operators/sequence_lstm.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace octet {
namespace {

using Kernel = detail::SequenceLstmKernel;
constexpr auto kGates = static_cast<Index>(detail::kLstmGates);
/// The functions of gates, and the tanh of the cell state, are in units of 2^-15.
constexpr float kUnit = 1.0F / 32768;

/// Holds what the kernel has computed of a batch of sequences, and makes gradients of it.
class LstmTrace {
 public:
  LstmTrace(Index batch, Index steps, Index units, float cell_scale)
      : batch_(batch),
        steps_(steps),
        units_(units),
        cell_scale_(cell_scale),
        numbers_(allocate_array<std::int16_t>(
            static_cast<std::size_t>(batch * steps * Kernel::kTraced * units))) {}

  std::int16_t* numbers() { return numbers_.get(); }

  /// h = o tanh(c) in front of its rounding.
  Tensor hidden() const {
    Tensor result(Shape{batch_, steps_, units_});
    float* const to = result.mutable_data();
    for_each_row(batch_ * steps_, [&](Index row) {
      const std::int16_t* const output = at(row, Kernel::kOutput);
      const std::int16_t* const tanh_of_cell = at(row, Kernel::kTanhOfCell);
      for (Index i = 0; i < units_; ++i) {
        to[row * units_ + i] = static_cast<float>(output[i] * tanh_of_cell[i]) * (kUnit * kUnit);
      }
    });
    return result;
  }

  /// The gradients of the sums of all gates, [batch, steps, gates * units], for those of h, of
  /// which what goes back in time by `kernel`, [gates * units, units], passes where h is within the
  /// limits.
  Tensor gradients_of_sums(const Tensor& g, const Tensor& hidden, const Tensor& kernel,
                           const RealLimits& limits) const {
    const Index width = kGates * units_;
    Tensor result(Shape{batch_, steps_, width});
    Tensor of_step(Shape{batch_, width});
    Tensor of_state = Tensor::zeros({batch_, units_});
    Tensor of_cell = Tensor::zeros({batch_, units_});
    float* const to = result.mutable_data();
    float* const sums = of_step.mutable_data();
    float* const cell = of_cell.mutable_data();
    for (Index t = steps_ - 1; t >= 0; --t) {
      const float* const state = of_state.data();
      for_each_row(batch_, [&](Index row) {
        const Index place = (row * steps_ + t) * units_;
        const Step step{g.data() + place, hidden.data() + place, state + row * units_};
        gradients_of_row(row, t, step, limits, cell + row * units_, sums + row * width);
        std::copy_n(sums + row * width, width, to + (row * steps_ + t) * width);
      });
      if (t > 0) of_state = matmul(of_step, kernel);
    }
    return result;
  }

 private:
  /// Gradients of h by the result and by the next step, and h.
  struct Step {
    const float* g;
    const float* hidden;
    const float* state;
  };

  /// Numbers of kind `kind` of a row, one step of one sequence.
  const std::int16_t* at(Index row, Kernel::Traced kind) const {
    return numbers_.get() + (row * Kernel::kTraced + kind) * units_;
  }

  template <class Body>
  void for_each_row(Index rows, Body&& body) const {
    parallel_for(
        static_cast<std::size_t>(rows),
        parallel_grain(Work::map_floats, static_cast<std::size_t>(Kernel::kTraced * units_)),
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t row = begin; row < end; ++row) body(static_cast<Index>(row));
        });
  }

  void gradients_of_row(Index row, Index t, const Step& step, const RealLimits& limits,
                        float* of_cell, float* sums) const {
    const Index place = row * steps_ + t;
    const std::int16_t* const input = at(place, Kernel::kInput);
    const std::int16_t* const forget = at(place, Kernel::kForget);
    const std::int16_t* const candidate = at(place, Kernel::kCandidate);
    const std::int16_t* const output = at(place, Kernel::kOutput);
    const std::int16_t* const tanh_of_cell = at(place, Kernel::kTanhOfCell);
    const std::int16_t* const before = t == 0 ? nullptr : at(place - 1, Kernel::kCell);
    for (Index i = 0; i < units_; ++i) {
      const float in = static_cast<float>(input[i]) * kUnit;
      const float keep = static_cast<float>(forget[i]) * kUnit;
      const float next = static_cast<float>(candidate[i]) * kUnit;
      const float out = static_cast<float>(output[i]) * kUnit;
      const float bent = static_cast<float>(tanh_of_cell[i]) * kUnit;
      const float cell = before == nullptr ? 0.0F : static_cast<float>(before[i]) * cell_scale_;
      const bool passes = step.hidden[i] >= limits.lo && step.hidden[i] <= limits.hi;
      const float h = step.g[i] + (passes ? step.state[i] : 0.0F);
      const float c = of_cell[i] + h * out * (1.0F - bent * bent);
      sums[i] = c * next * in * (1.0F - in);
      sums[units_ + i] = c * cell * keep * (1.0F - keep);
      sums[2 * units_ + i] = c * in * (1.0F - next * next);
      sums[3 * units_ + i] = h * bent * out * (1.0F - out);
      of_cell[i] = c * keep;
    }
  }

  Index batch_;
  Index steps_;
  Index units_;
  float cell_scale_;
  std::shared_ptr<std::int16_t[]> numbers_;
};

/// The quantized hidden states in front of every step, as real values: 0 at first.
Tensor states_before(const Tensor& hidden) {
  const Index steps = hidden.dim(1);
  Tensor first = Tensor::zeros({hidden.dim(0), 1, hidden.dim(2)});
  if (steps == 1) return first;
  return concatenate(
      {first, slice(hidden, {{0, hidden.dim(0)}, {0, steps - 1}, {0, hidden.dim(2)}})}, 1);
}

Tensor stacked_kernels(std::span<const Tensor> kernels) {
  return concatenate({kernels.begin(), kernels.end()});
}

/// The gradients of the sequences, of the eight kernels and of the bias.
std::vector<Tensor> gradients_of_operands(const Tensor& of_sums, const Tensor& x,
                                          const Tensor& states, const Tensor& input_kernel) {
  const Index rows = of_sums.dim(0) * of_sums.dim(1);
  const Tensor sums = of_sums.reshape({rows, of_sums.dim(2)});
  std::vector<Tensor> gradients;
  gradients.push_back(x.requires_grad() ? matmul(sums, input_kernel).reshape(x.shape()) : Tensor());
  for (const Tensor& read : {x.detach(), states}) {
    const Tensor of_kernel =
        matmul(sums, read.reshape({rows, read.dim(2)}), Transpose::yes, Transpose::no);
    const Index units = of_kernel.dim(0) / kGates;
    for (Index gate = 0; gate < kGates; ++gate) {
      gradients.push_back(slice(of_kernel, gate * units, (gate + 1) * units));
    }
  }
  gradients.push_back(sum(sums, {0}));
  return gradients;
}

/// Runs the operator of a model of one: its first result, where `trace` gets the numbers of each
/// step.
Tensor run_traced(const IntegerModel& model, Rounding rounding, const Tensor& x,
                  std::int16_t* trace) {
  const detail::KernelSource source(model, model.operators.front(), rounding);
  const auto kernel = detail::make_sequence_lstm(source);
  const Index batch = x.dim(0);
  const detail::StoredIntegers values = integers_of(x, *x.quantization());
  const auto read = [&](std::int32_t tensor) {
    const ModelTensor& t = model.tensors[static_cast<std::size_t>(tensor)];
    return t.is_constant() ? reinterpret_cast<const std::byte*>(t.data.data()) : values.bytes();
  };
  std::vector<detail::KernelInput> inputs(source.op.inputs.size());
  detail::fill_inputs(source, detail::find_batched(model), inputs, read);
  std::vector<std::shared_ptr<std::byte[]>> made;
  std::vector<std::byte*> outputs;
  for (std::size_t i = 0; i < source.op.outputs.size(); ++i) {
    made.push_back(allocate_array<std::byte>(static_cast<std::size_t>(batch) *
                                             detail::sample_bytes(source.output(i))));
    outputs.push_back(made.back().get());
  }
  kernel->run_traced({.samples = batch, .inputs = inputs, .outputs = outputs}, trace);
  return quantized_tensor(source.output().example_shape().with_batch(batch),
                          std::make_shared<const QuantParams>(source.output().quantization),
                          {source.output().dtype, std::move(made.front())});
}

}  // namespace

bool is_traced_lstm(const Step& step, const StepInputs& in) {
  return step.kind == Step::Kind::op && step.code == OpCode::unidirectional_sequence_lstm &&
         in.context.mode != ForwardContext::Mode::calibration && step.scheme->result->has_range();
}

Tensor integer_lstm(const Step& step, const StepInputs& in) {
  const StepScheme& scheme = *step.scheme;
  const IntegerModel model = single_step_model(step, in);
  const Operator& op = model.operators.front();
  const ModelTensor& cell = model.tensors[static_cast<std::size_t>(op.inputs[detail::kLstmCell])];
  const Tensor& x = in.x[0];
  const Index units = in.x[1].dim(0);
  LstmTrace trace(x.dim(0), x.dim(1), units, cell.quantization.scale());
  const Tensor result = run_traced(model, scheme.options->rounding, x, trace.numbers());
  const Tensor hidden = trace.hidden();
  const LearnedRange learned = scheme.result->learned_range();
  const RealLimits limits = learned.passes_or(real_limits(*result.quantization()));
  std::vector<Tensor> sources(in.x.begin(), in.x.end());
  sources.push_back(step.weights().bias);
  // Without `result` itself, which comes to hold what holds this.
  const auto backward = [trace, limits, hidden = hidden.detach(), states = result.detach(),
                         operands =
                             std::vector<Tensor>(in.x.begin(), in.x.end())](const Tensor& g) {
    const auto kernels = std::span<const Tensor>(operands).subspan(1);
    const Tensor of_sums = trace.gradients_of_sums(
        g, hidden, stacked_kernels(kernels.last(detail::kLstmGates)), limits);
    return gradients_of_operands(of_sums, operands[0], states_before(states),
                                 stacked_kernels(kernels.first(detail::kLstmGates)));
  };
  const Tensor real = record("sequence_lstm", hidden, sources, backward);
  watch_result(step, real, in.context);
  return with_gradients_of(real, result, /*clips=*/true, learned);
}

}  // namespace octet
