#pragma once

#include <octet/core/tensor.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/kernel_ranges.h>
#include <octet/runtime/interpreter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace octet {

/// One value of a network of int8 or int16 values: its input, or the result of an operator.
struct CodeLayer {
  std::string name;
  /// Quantized values of one sample.
  Index size = 0;
  float scale = 1.0F;
  std::int32_t zero_point = 0;
  DType type = DType::int8;
};

/// The output of a network that ends in layers in float.
struct FloatOutput {
  std::string name;
  /// Values of one sample.
  Index size = 0;
};

/// A network that shows the quantized results of its layers, whatever computes them.
class LayerCodes {
 public:
  virtual ~LayerCodes() = default;

  /// The quantized values of the inputs first, then every operator's result in order; floats, a
  /// QUANTIZE to bytes at the end, and a RESHAPE to or from an image of one pixel that a CONV_2D of
  /// 1 x 1 reads or makes are none of them.
  const std::vector<CodeLayer>& layers() const { return layers_; }
  /// Which of layers() each of the model's inputs is, or is quantized to.
  const std::vector<std::size_t>& input_layers() const { return input_layers_; }
  /// Which of layers() each of the model's outputs is made of: operators behind them need not be
  /// read.
  const std::vector<std::size_t>& output_layers() const { return output_layers_; }
  /// The output of a model of one if layers in float compute it; none if it is quantized, or
  /// dequantized by a DEQUANTIZE at the end.
  const std::optional<FloatOutput>& float_output() const { return float_output_; }
  /// The rounding mode that it computes by.
  Rounding rounding() const { return rounding_; }

  /// Runs samples [n, ...] of real values for each input, row-major; the network quantizes them
  /// itself. Throws InvalidArgument for another number of inputs and for samples of another size or
  /// number.
  void run(std::span<const Tensor> inputs);
  /// @overload
  void run(const Tensor& samples) { run({&samples, 1}); }

  /// The quantized values of layer i, the samples of the last run end to end; those of a layer that
  /// no input reaches are the same for each. Values of int8 are widened.
  virtual std::span<const std::int16_t> codes(std::size_t layer) const = 0;
  /// The values of float_output(), the samples of the last run end to end; empty where there is
  /// none.
  virtual std::span<const float> floats() const { return {}; }

 protected:
  LayerCodes() = default;
  LayerCodes(const LayerCodes&) = default;
  LayerCodes& operator=(const LayerCodes&) = default;

  virtual void run_samples(std::span<const Tensor> inputs) = 0;

  std::vector<CodeLayer> layers_;
  std::vector<std::size_t> input_layers_;
  std::vector<std::size_t> output_layers_;
  std::optional<FloatOutput> float_output_;
  Rounding rounding_ = Rounding::fp32;
};

/// The quantized values of a model that runs in the Interpreter.
class InterpretedCodes : public LayerCodes {
 public:
  /// Throws InvalidArgument where the model computes a layer on other quantized values than int8
  /// and int16, or one of several outputs in float, and as the Interpreter's constructor.
  explicit InterpretedCodes(IntegerModel model, InterpreterOptions options = {});
  std::span<const std::int16_t> codes(std::size_t layer) const override { return codes_[layer]; }
  std::span<const float> floats() const override;

 protected:
  void run_samples(std::span<const Tensor> inputs) override;

 private:
  Interpreter interpreter_;
  std::vector<std::int32_t> tensors_;
  /// By layer.
  std::vector<std::vector<std::int16_t>> codes_;
};

/// The integers that a quantized model simulates: its forward pass, layer by layer. Under
/// Simulation::integer they are its own; under Simulation::fake_quant, the integers nearest to its
/// real values. The layers are those of lower(model).
class SimulatedCodes : public LayerCodes {
 public:
  /// Keeps a reference to `model`, which must not be trained meanwhile, and runs it with the ranges
  /// of its kernels as they are now. Throws as lower().
  explicit SimulatedCodes(const Model& model);
  std::span<const std::int16_t> codes(std::size_t layer) const override { return codes_[layer]; }
  std::span<const float> floats() const override { return floats_; }

 protected:
  void run_samples(std::span<const Tensor> inputs) override;

 private:
  WithCurrentKernelRanges current_;
  /// By layer of the model and operator: the number in layers() of what it gives.
  std::vector<std::vector<std::size_t>> numbers_;
  std::vector<std::vector<std::int16_t>> codes_;
  std::vector<float> floats_;
};

}  // namespace octet
