// How a model is compiled and run.

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/layers/graph.h>
#include <octet/layers/input.h>
#include <octet/layers/model.h>
#include <octet/layers/program/program_run.h>
#include <octet/layers/quantize/program_passes.h>

#include <mutex>
#include <vector>

namespace octet {
namespace {

/// The steps of all layers of a built model, ready to run.
Program compile(const Model& model) {
  Program program;
  Graph graph(program);
  for (std::size_t i = 0; i < model.layers().size(); ++i) {
    Layer& layer = *model.layers()[i];
    graph.set_node(i);
    if (is_input(layer)) {
      program.result_of_layer.push_back(graph.input(&layer, layer.output_shape()).index);
      continue;
    }
    std::vector<GraphValue> inputs;
    for (const std::size_t input : model.inputs_of(i)) {
      inputs.push_back({program.result_of_layer[input]});
    }
    program.result_of_layer.push_back(graph.emit(layer, inputs).front().index);
  }
  for (const std::size_t output : model.output_layers()) {
    program.outputs.push_back(program.result_of_layer[output]);
  }
  count_readers(program);
  prepare_quantized(program);
  return program;
}

}  // namespace

void Model::require_inputs(std::string_view operation, std::span<const Tensor> inputs) const {
  const std::vector<std::size_t> layers = input_layers();
  if (inputs.size() != layers.size()) {
    throw InvalidArgument(fmt::format(
        "{}: model \"{}\": expected {} inputs, found {}; give one tensor for each, in the order of "
        "Model::input()",
        operation, name_, layers.size(), inputs.size()));
  }
  // Layers would broadcast a batch of another size, or read past its end.
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    // A tensor without axes is refused by its InputLayer.
    const auto has_rows = [](const Tensor& x) { return x.defined() && x.rank() > 0; };
    if (!has_rows(inputs[0]) || !has_rows(inputs[i])) return;
    if (inputs[i].dim(0) == inputs[0].dim(0)) continue;
    throw InvalidArgument(fmt::format(
        "{}: model \"{}\": expected inputs of one batch size, found {} for \"{}\" and {} for "
        "\"{}\"",
        operation, name_, inputs[0].dim(0), layers_[layers[0]]->name(), inputs[i].dim(0),
        layers_[layers[i]]->name()));
  }
}

/// What run() runs: made once, and anew where a layer was added or built.
struct Model::Compiled {
  Program as_emitted;
  Program fused;
};

const Program& Model::program() const {
  require_built("program");
  return compiled()->as_emitted;
}

std::shared_ptr<const Model::Compiled> Model::compiled() const {
  // Several threads may run one model.
  static std::recursive_mutex mutex;
  const std::lock_guard guard(mutex);
  if (compiled_ == nullptr) {
    Program program = compile(*this);
    Program fused = with_fused_clamps(program);
    compiled_ = std::make_shared<const Compiled>(Compiled{std::move(program), std::move(fused)});
  }
  return compiled_;
}

std::vector<Tensor> Model::run(std::span<const Tensor> inputs, const ForwardContext& context,
                               const Visit& visit) const {
  require_built("forward");
  require_inputs("forward", inputs);
  const std::shared_ptr<const Compiled> compiled = this->compiled();
  // A clamp that is part of another layer's step has no result to be seen.
  const Program& program = visit ? compiled->as_emitted : compiled->fused;
  return octet::run(program, *this, inputs, context, visit);
}

Tensor Model::run_one(std::string_view operation, const Tensor& x,
                      const ForwardContext& context) const {
  require_built(operation);
  require_one_end(operation);
  return run({&x, 1}, context, {}).front();
}

}  // namespace octet
