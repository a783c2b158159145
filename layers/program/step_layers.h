#pragma once

#include <octet/layers/model.h>
#include <octet/layers/program/program.h>
#include <octet/layers/quantize/quantizer.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace octet {

/// The layers that step_model() adds to a model of one step beside copies of those of the source.
/// Each belongs to a layer `i` of the source, after which it is named, and is quantized as that is.
class StepLayers {
 public:
  struct State {
    /// The name of its input.
    std::string input;
    /// What is the state in front of the next piece.
    Value next;
    /// The name of the layer that `next` is the result of.
    std::string output;
  };

  StepLayers(const Model& source, Model& step) : source_(source), step_(step) {}

  /// The name of the layer that quantization wraps.
  std::string name_of(std::size_t i) const;
  /// Whether layer `i` is quantized, and what it reads is.
  bool reads_integers(std::size_t i) const;
  /// The position in the source's program of the result of layer `i`.
  std::size_t result_of(std::size_t i) const { return source_.program().result_of_layer[i]; }
  const ValueForm& form_of(std::size_t value) const { return source_.program().values[value].form; }

  /// Adds a layer, its result quantized by `quantizer` where that is not null.
  Value add(std::size_t i, std::unique_ptr<Layer> layer, const std::vector<Value>& inputs,
            std::unique_ptr<Quantizer> quantizer = nullptr);
  /// The input of a state with the scale and zero point of a value of the source.
  Value state_input(std::size_t i, const std::string& name, const Shape& shape, std::size_t of);
  /// The input of the cell state of a fused LSTM.
  Value cell_input(std::size_t i, const std::string& name, const Shape& shape);
  /// x in the scale and zero point of a value of the source.
  Value quantized(std::size_t i, const Value& x, const std::string& name, std::size_t of);
  /// Steps [begin, begin + count) of a sequence.
  Value part(std::size_t i, const std::string& name, const Value& sequence, Index begin,
             Index count);
  /// Flags [count, 1] of the steps of each call: 0 for the first `zeros` of all, then 1. A state
  /// [zeros, 1] holds those to come.
  Value begun(std::size_t i, Index zeros, Index count);
  /// x where `flags` are 1, and 0 where they are 0, in the scale and zero point of a value of the
  /// source.
  Value product(std::size_t i, const std::string& name, const Value& x, const Value& flags,
                std::size_t of);
  /// Carries on the result of the layer that was added last, `next`, as a state.
  void carry(const std::string& state, const Value& next);

  const std::vector<State>& states() const { return states_; }
  /// Gives the model of one step the tensors of the source, and the added layers theirs.
  void restore();

 private:
  /// Tensors that the source does not have, by what their names begin with: those of a quantizer,
  /// and the value of the source's program whose scale it has; none where they stay as they are.
  struct Added {
    std::string prefix;
    std::optional<std::size_t> of{};
  };

  Value input(std::size_t i, const std::string& name, const Shape& shape,
              std::unique_ptr<Quantizer> quantizer, std::optional<std::size_t> of);
  Value quantized(std::size_t i, const Value& x, const std::string& name,
                  std::unique_ptr<Quantizer> quantizer, std::optional<std::size_t> of);
  std::unique_ptr<Quantizer> quantizer_of(std::size_t i, std::size_t of) const;
  std::unique_ptr<Quantizer> flag_quantizer(std::size_t i) const;
  const QuantizeOptions& options_of(std::size_t i) const;

  const Model& source_;
  Model& step_;
  std::vector<State> states_;
  std::vector<Added> added_;
};

}  // namespace octet
