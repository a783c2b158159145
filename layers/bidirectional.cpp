#include <fmt/core.h>
#include <octet/core/description.h>
#include <octet/core/error.h>
#include <octet/layers/bidirectional.h>
#include <octet/layers/graph.h>
#include <octet/layers/layer_registry.h>

#include <algorithm>
#include <array>

namespace octet {
namespace {

constexpr std::array<std::pair<MergeMode, std::string_view>, 4> kMergeModes = {
    {{MergeMode::concat, "concat"},
     {MergeMode::sum, "sum"},
     {MergeMode::mul, "mul"},
     {MergeMode::ave, "ave"}}};

/// Throws InvalidArgument unless `layer` is a Recurrent.
std::unique_ptr<Recurrent> as_recurrent(std::unique_ptr<Layer> layer) {
  auto* const recurrent = dynamic_cast<Recurrent*>(layer.get());
  if (recurrent == nullptr) {
    throw InvalidArgument(
        fmt::format("Bidirectional: expected a recurrent layer, GRU, LSTM or SimpleRNN, found {}",
                    layer == nullptr ? "none" : layer->type()));
  }
  static_cast<void>(layer.release());
  return std::unique_ptr<Recurrent>(recurrent);
}

}  // namespace

std::string_view to_string(MergeMode mode) {
  const auto found =
      std::ranges::find(kMergeModes, mode, &decltype(kMergeModes)::value_type::first);
  if (found != kMergeModes.end()) return found->second;
  throw InvalidArgument("to_string: a MergeMode outside the enumeration");
}

MergeMode parse_merge_mode(std::string_view text) {
  const auto found =
      std::ranges::find(kMergeModes, text, &decltype(kMergeModes)::value_type::second);
  if (found != kMergeModes.end()) return found->first;
  throw InvalidArgument(
      fmt::format("merge mode: expected concat, sum, mul or ave, found \"{}\"", text));
}

Bidirectional::Bidirectional(std::unique_ptr<Recurrent> layer, BidirectionalOptions options)
    : Layer(std::move(options.name)),
      merge_mode_(options.merge_mode),
      forward_(as_recurrent(std::move(layer))),
      backward_(as_recurrent(forward_->clone())) {
  static_cast<void>(to_string(merge_mode_));  // Throws outside the enumeration.
  if (forward_->goes_backwards()) {
    throw InvalidArgument(
        "Bidirectional: expected a layer that goes forward, found go_backwards; the other "
        "direction "
        "is a copy that Bidirectional makes");
  }
  backward_->turn_around();
}

Bidirectional::Bidirectional(const Bidirectional& other)
    : Layer(other),
      merge_mode_(other.merge_mode_),
      forward_(as_recurrent(other.forward_->clone())),
      backward_(as_recurrent(other.backward_->clone())) {}

std::vector<GraphValue> Bidirectional::emit(Graph& g, std::span<const GraphValue> inputs) const {
  const std::vector<GraphValue> both = {g.emit_part(*forward_, "forward", inputs),
                                        g.emit_part(*backward_, "backward", inputs)};
  const auto merged = [&](OpCode code) { return g.op(code, both); };
  switch (merge_mode_) {
    case MergeMode::concat: {
      const auto axis = static_cast<std::int32_t>(forward_->output_shape().rank());
      return {g.op(OpCode::concatenation, both, ConcatenationAttributes{.axis = axis})};
    }
    case MergeMode::sum:
      return {merged(OpCode::add)};
    case MergeMode::mul:
      return {merged(OpCode::mul)};
    case MergeMode::ave: {
      const GraphValue sum = g.op(OpCode::add, both, std::nullopt, "/sum");
      return {g.op(OpCode::mul, {sum, g.parameter("half", Tensor::full({1}, 0.5F))})};
    }
  }
  throw InvalidArgument("Bidirectional: a MergeMode outside the enumeration");
}

LayerTensors Bidirectional::tensors() const {
  LayerTensors all;
  const auto add = [&](std::string_view direction, const Layer& layer) {
    for (auto& [name, tensor] : layer.parameters()) {
      all.parameters.push_back({fmt::format("{}_{}", direction, name), tensor});
    }
  };
  add("forward", *forward_);
  add("backward", *backward_);
  return all;
}

void Bidirectional::describe(Description& description) const {
  description.set("layer", describe_layer(*forward_)).set("merge_mode", to_string(merge_mode_));
}

std::unique_ptr<Layer> Bidirectional::make(const Description& d) {
  return std::make_unique<Bidirectional>(
      as_recurrent(make_layer(d.part("layer"))),
      BidirectionalOptions{.merge_mode = parse_merge_mode(d.text("merge_mode"))});
}

void Bidirectional::make_tensors(std::span<const Shape> input_shapes, const Random& random) {
  for (Recurrent* const layer : {forward_.get(), backward_.get()}) {
    layer->set_name(fmt::format("{}_{}", name(), layer == forward_.get() ? "forward" : "backward"));
  }
  forward_->build_all(input_shapes, random.fork(0));
  backward_->build_all(input_shapes, random.fork(1));
}

}  // namespace octet
