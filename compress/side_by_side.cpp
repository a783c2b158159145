#include <fmt/core.h>
#include <octet/compress/side_by_side.h>
#include <octet/core/autograd.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/layers/folded_batch_norm.h>
#include <octet/layers/program/program_run.h>
#include <octet/layers/quantize/calibration_internal.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/layers/quantize/quantize_wrapper.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace octet {
namespace {

void check_model(std::string_view operation, const Model& model) {
  if (!is_quantized(model)) {
    throw InvalidArgument(
        fmt::format("{}: expected a quantized model, found \"{}\", which is in float; give it what "
                    "quantize_post_training() returns",
                    operation, model.name()));
  }
  if (!has_ranges(model)) {
    throw InvalidArgument(
        fmt::format("{}: expected a model whose quantizers have ranges, found \"{}\" without; call "
                    "calibrate() first",
                    operation, model.name()));
  }
}

void check_reference(std::string_view operation, const Model& model, const Model& reference) {
  const auto same = [&](std::size_t i) {
    const Layer& a = *model.layers()[i];
    const Layer& b = *reference.layers()[i];
    return a.name() == b.name() && a.output_shape() == b.output_shape() &&
           model.inputs_of(i) == reference.inputs_of(i) &&
           a.weights().has_value() == b.weights().has_value();
  };
  const std::size_t count = model.layers().size();
  if (reference.layers().size() != count) {
    throw InvalidArgument(
        fmt::format("{}: expected a reference of {} layers, as \"{}\" has, found {}; take a copy "
                    "of the quantized model",
                    operation, count, model.name(), reference.layers().size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (same(i)) continue;
    throw InvalidArgument(fmt::format(
        "{}: expected a reference whose layer {} is \"{}\" too, found \"{}\", of another graph or "
        "shape; take a copy of the quantized model",
        operation, i, model.layers()[i]->name(), reference.layers()[i]->name()));
  }
}

}  // namespace

Model in_floats(const Model& quantized) {
  Model copy(quantized);
  enable_quantization(copy, false);
  return copy;
}

void run_side_by_side(std::string_view operation, Model& quantized, const Model& reference,
                      std::span<const Tensor> inputs, VisitBoth visit) {
  check_model(operation, quantized);
  check_reference(operation, quantized, reference);
  detail::require_samples(operation, quantized, inputs);
  refresh_kernel_ranges(quantized);
  const ForwardContext context;
  ProgramRun integers(quantized.program(), quantized, inputs, context);
  ProgramRun floats(reference.program(), reference, inputs, context);
  for (std::size_t i = 0; i < quantized.layers().size(); ++i) {
    if (quantized.layers()[i]->weights()) visit(i, integers.input_of(i), floats.input_of(i));
    no_grad([&] {
      integers.run_layer(i);
      floats.run_layer(i);
    });
  }
}

Tensor kernel_on_grid(const Layer& layer) {
  Tensor kernel = layer.weights()->kernel.detach();
  const Quantizer* quantizer = layer.kernel_quantizer();
  if (quantizer == nullptr || !quantizer->enabled()) return kernel;
  const QuantParams params = quantizer->params();
  if (params.qmin < -128 || params.qmax > 127) return quantizer->fake_quant(kernel);
  std::vector<std::int8_t> codes(static_cast<std::size_t>(kernel.size()));
  Tensor result(kernel.shape());
  const std::span<const std::int64_t> shape = kernel.shape().dims();
  quantize(kernel.span(), shape, params, codes);
  dequantize(codes, shape, params, result.mutable_span());
  return result;
}

Tensor linear_with(const Layer& layer, const Tensor& x, const Tensor& kernel) {
  const auto* wrapper = as_quantize_wrapper(layer);
  const Layer& own = wrapper != nullptr ? wrapper->wrapped() : layer;
  const Tensor bias = own.weights()->bias;
  return own.linear(x, kernel, bias.defined() ? bias.detach() : bias);
}

bool is_parameter(const Layer& layer, const Tensor& tensor) {
  const float* place = tensor.data();
  return std::ranges::any_of(layer.parameters(), [&](const NamedTensor& parameter) {
    return parameter.tensor.data() == place;
  });
}

Tensor own_bias(Layer& layer) {
  if (FoldedBatchNorm* folded = folded_batch_norm(layer)) return folded->batch_norm().beta();
  const Tensor bias = layer.weights()->bias;
  return bias.defined() && is_parameter(layer, bias) ? bias : Tensor();
}

}  // namespace octet
