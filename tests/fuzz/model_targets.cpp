#include <octet/core/error.h>
#include <octet/core/kernels/isa.h>
#include <octet/deploy/constant_units.h>
#include <octet/deploy/outline_internal.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/import/tflite/import_tflite.h>
#include <octet/runtime/dense_form.h>
#include <octet/runtime/interpreter.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "draw_bytes.h"
#include "draw_model.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

using Codes = std::vector<std::byte>;

/// Multiplications and values of one run: fuzzing has no time for more.
bool is_small(const IntegerModel& model) {
  constexpr double kMost = 1e6;
  double work = 0.0;
  for (const ModelTensor& tensor : model.tensors) work += static_cast<double>(tensor.size());
  for (const Operator& op : model.operators) {
    if (op.code != OpCode::fully_connected && op.code != OpCode::conv_2d) continue;
    const auto& input = model.tensors[static_cast<std::size_t>(op.inputs[0])];
    const auto& weights = model.tensors[static_cast<std::size_t>(op.inputs[1])];
    work += static_cast<double>(input.size()) * static_cast<double>(weights.shape[0]);
  }
  return work < kMost;
}

bool is_packed(const IntegerModel& model) {
  return std::ranges::any_of(model.tensors,
                             [](const ModelTensor& tensor) { return tensor.stored_bits != 8; });
}

/// NaN has many bit patterns, and which one comes out is the processor's business.
Codes without_nan_bits(Codes bytes, DType dtype) {
  if (dtype != DType::float32) return bytes;
  for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float x = 0.0F;
    std::memcpy(&x, bytes.data() + i, sizeof(x));
    if (!std::isnan(x)) continue;
    x = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + i, &x, sizeof(x));
  }
  return bytes;
}

/// What comes out first of all for `samples`, which are run `batch` at a time.
Codes outputs(const IntegerModel& model, std::span<const std::byte> samples, Index count,
              Index batch, Rounding rounding) {
  Interpreter interpreter(model, {.rounding = rounding, .batch = batch});
  const std::size_t size = samples.size() / static_cast<std::size_t>(count);
  Codes result;
  for (Index i = 0; i < count; i += batch) {
    const auto rows =
        samples.subspan(static_cast<std::size_t>(i) * size, static_cast<std::size_t>(batch) * size);
    std::copy(rows.begin(), rows.end(), interpreter.input_bytes().begin());
    interpreter.invoke();
    const auto out = interpreter.output_bytes();
    result.insert(result.end(), out.begin(), out.end());
  }
  const auto last = static_cast<std::size_t>(model.outputs[0]);
  return without_nan_bits(std::move(result), model.tensors[last].dtype);
}

void run_every_way(const IntegerModel& model, DrawBytes& bytes) {
  constexpr Index kSamples = 4;
  const auto first = static_cast<std::size_t>(model.inputs[0]);
  const auto size =
      static_cast<std::size_t>(model.tensors[first].size()) * size_of(model.tensors[first].dtype);
  const auto rounding = static_cast<Rounding>(bytes.between(0, 2));
  std::vector<std::byte> samples(kSamples * size);
  const Data given = bytes.rest();
  for (std::size_t i = 0; i < samples.size() && !given.empty(); ++i) {
    samples[i] = static_cast<std::byte>(given[i % given.size()] + i / given.size());
  }
  const Codes expected = outputs(model, samples, kSamples, 1, rounding);
  require(outputs(model, samples, kSamples, kSamples, rounding) == expected,
          "a sample's result is the same in any batch");
  for (const KernelTable* table : available_kernels()) {
    force_kernels(table);
    require(outputs(model, samples, kSamples, 2, rounding) == expected,
            "every code path gives the same bytes");
  }
  force_kernels(nullptr);
  require(outputs(from_tflite(to_tflite(model)), samples, kSamples, 1, rounding) == expected,
          "the file computes what the model does");
  // Runtimes rescale packed weights of a convolution otherwise.
  require(is_packed(model) ||
              outputs(per_channel_as_conv_2d(model), samples, kSamples, 1, rounding) == expected,
          "dense layers as convolutions compute the same");
  IntegerModel pruned = model;
  pruned.metadata["octet.rounding"] = to_string(rounding);
  prune_constant_units(pruned);
  require(outputs(pruned, samples, kSamples, 1, rounding) == expected,
          "no output depends on constant units");
}

}  // namespace

/// A float model becomes one of layers, which gives the operators' results where it is small.
void check_import(const IntegerModel& source) {
  const Model model = import_float_model(source);
  if (!is_small(source)) return;
  std::vector<Tensor> inputs;
  for (const std::size_t i : model.input_layers()) {
    inputs.push_back(Tensor::zeros(model.layers()[i]->output_shape().with_batch(1)));
  }
  require(model.forward_all(inputs).size() == source.outputs.size(), "every result is there");
}

/// Indices that the model computes may lie outside of a table.
void run(const IntegerModel& model) {
  Interpreter interpreter(model);
  try {
    interpreter.invoke();
  } catch (const InvalidArgument&) {
    const auto gathers = [](const Operator& op) { return op.code == OpCode::gather; };
    require(std::ranges::any_of(model.operators, gathers), "an index is outside");
  }
}

void tflite(Data input) {
  // A buffer of exactly these bytes, so that reading past them is seen.
  const std::vector<std::uint8_t> file(input.begin(), input.end());
  try {
    detail::outline_tflite(file);
    const IntegerModel model = from_tflite(file);
    const auto written = to_tflite(model);
    require(to_tflite(from_tflite(written)) == written, "a model that was read reads back");
    if (is_small(model)) run(model);
    check_import(model);
  } catch (const FormatError&) {
    return;
  }
}

void interpreter(Data input) {
  DrawBytes bytes(input);
  const IntegerModel model = draw_model(bytes);
  try {
    model.validate();
    if (is_small(model)) run_every_way(model, bytes);
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace octet::fuzz
