#pragma once

#include <octet/layers/model.h>
#include <octet/layers/program/program.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// Runs a program of a model, one of the model's layers after the other, and keeps every value
/// until its last reader has run.
class ProgramRun {
 public:
  /// `inputs` are the model's, in their order, and are checked when their layers run. What is
  /// referred to has to live as long as the run.
  ProgramRun(const Program& program, const Model& model, std::span<const Tensor> inputs,
             const ForwardContext& context);

  /// What layer `i` reads first; valid until it has run.
  const Tensor& input_of(std::size_t i) const;
  /// Runs the layers' steps in their order: the next call is for the next layer. What the operators
  /// of layer `i` give, its result last, goes to `seen` unless that is null.
  void run_layer(std::size_t i, std::vector<Tensor>* seen = nullptr);
  std::vector<Tensor> outputs() const;

 private:
  void run_step(const Step& step, std::vector<Tensor>* seen);
  /// Weights that the steps of a scan have in common, and their integers.
  struct SharedWeights {
    LayerWeights weights;
    std::shared_ptr<IntegerWeights> integers;
  };
  const SharedWeights* weights_for(const Step& step);

  const Program& program_;
  const Model& model_;
  std::span<const Tensor> inputs_;
  const ForwardContext& context_;
  std::vector<Tensor> values_;
  /// By value: readers that have not run.
  std::vector<std::size_t> waiting_;
  /// By their name in the layer.
  std::map<std::pair<const Layer*, std::string>, SharedWeights> weights_;
  std::size_t next_step_ = 0;
  std::size_t next_input_ = 0;
};

/// The model's outputs; `visit`, where given, is called after every layer.
std::vector<Tensor> run(const Program& program, const Model& model, std::span<const Tensor> inputs,
                        const ForwardContext& context, const Model::Visit& visit);

/// The result of the program of one layer. What a Concatenate joins has no scale in common there.
Tensor run_alone(Program program, std::span<const Tensor> inputs, const ForwardContext& context);

}  // namespace octet
