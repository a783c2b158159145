#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/parse_number.h>
#include <octet/layers/input.h>
#include <octet/layers/model.h>
#include <octet/layers/reused_layer.h>
#include <octet/layers/slice.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>

namespace octet {
namespace {

/// "QuantizeLayer" -> "quantize_layer", "ReLU6" -> "re_lu6" as Keras names them; "InputLayer" is
/// "input".
std::string snake_case(std::string_view type) {
  if (type == "InputLayer") return "input";
  std::string result;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const char c = type[i];
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    const bool after_lower = i > 0 && std::islower(static_cast<unsigned char>(type[i - 1])) != 0;
    if (upper && after_lower) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// The number of an automatic name: 0 of "dense", 2 of "dense_2"; none of other names.
std::optional<std::size_t> number_behind(std::string_view stem, std::string_view name) {
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  if (name.empty()) return 0;
  if (name.size() < 2 || name[0] != '_' || name[1] == '0') return std::nullopt;
  std::size_t number = 0;
  if (parse_number(name.substr(1), number) != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

Model::Model(const Model& other)
    : name_(other.name_), edges_(other.edges_), outputs_(other.outputs_) {
  for (const auto& layer : other.layers_) {
    layers_.push_back(clone_of(*layer, layer->name()));
    join(*layers_.back());
  }
  // Inputs of a concatenation are tied to one another when it is compiled.
  const auto is_quantized = [](const auto& layer) { return layer->is_quantized(); };
  if (built() && std::ranges::any_of(layers_, is_quantized)) static_cast<void>(compiled());
}

Model& Model::operator=(const Model& other) {
  Model copy(other);
  return *this = std::move(copy);
}

Model& Model::operator=(Model&& other) noexcept {
  if (this == &other) return *this;
  name_ = std::move(other.name_);
  owner_ = std::move(other.owner_);
  layers_ = std::move(other.layers_);
  edges_ = std::move(other.edges_);
  outputs_ = std::move(other.outputs_);
  compiled_ = std::move(other.compiled_);
  return *this;
}

Value Model::input(Shape example_shape, std::string name) {
  auto layer = std::make_unique<InputLayer>(std::move(example_shape), std::move(name));
  return value(add_node(std::move(layer), {}));
}

Value Model::add(std::unique_ptr<Layer> layer, const std::vector<Value>& inputs) {
  std::vector<std::size_t> nodes;
  nodes.reserve(inputs.size());
  for (const Value& input : inputs) nodes.push_back(node_of(input));
  if (nodes.empty() && layer != nullptr && !is_input(*layer)) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected layer \"{}\" ({}) to read a value, found no inputs",
                    kind(), name_, layer->name(), layer->type()));
  }
  return value(add_node(std::move(layer), std::move(nodes)));
}

Value Model::add_built(std::unique_ptr<Layer> layer, const std::vector<Value>& inputs) {
  Layer& added = *layer;
  Value value = add(std::move(layer), inputs);
  if (!added.built()) added.build_all(shapes_read_by(layers_.size() - 1), Random());
  return value;
}

Value Model::add(LayerChain chain, const Value& input) {
  Value last = input;
  for (auto& layer : std::move(chain).layers()) last = add(std::move(layer), {last});
  return last;
}

std::vector<Value> Model::split(const Value& x, Index parts, Index axis, const std::string& name) {
  if (parts < 1) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": split: expected at least 1 part, found {}", kind(), name_, parts));
  }
  std::vector<Value> values;
  for (Index part = 0; part < parts; ++part) {
    const std::string of_part = name.empty() ? "" : fmt::format("{}_{}", name, part);
    values.push_back(add(SplitPart(parts, part, axis, of_part), x));
  }
  return values;
}

std::size_t Model::add_node(std::unique_ptr<Layer> layer, std::vector<std::size_t> inputs) {
  if (layer == nullptr) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected a layer to add, found null", kind(), name_));
  }
  if (is_input(*layer) && !inputs.empty()) {
    throw InvalidArgument(fmt::format(
        "{} \"{}\": expected an Input that reads no layer, found {}one behind \"{}\"; an "
        "Input is the first layer, and there is one",
        kind(), name_, layer->name().empty() ? "" : "\"" + layer->name() + "\", ",
        layers_[inputs.front()]->name()));
  }
  const ReusedLayer* reused = as_reused_layer(*layer);
  if (layer->name().empty()) {
    layer->set_name(automatic_name(reused != nullptr ? reused->of() : layer->type()));
  }
  const auto same_name = [&](const auto& other) { return other->name() == layer->name(); };
  if (std::ranges::any_of(layers_, same_name)) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected layers of different names, found \"{}\" twice", kind(),
                    name_, layer->name()));
  }
  join(*layer);
  edges_.reserve(edges_.size() + 1);
  layers_.push_back(std::move(layer));
  edges_.push_back(std::move(inputs));
  compiled_ = nullptr;
  return layers_.size() - 1;
}

/// A layer that is used once more is one of this model.
void Model::join(Layer& layer) const {
  ReusedLayer* reused = as_reused_layer(layer);
  if (reused == nullptr) return;
  Layer* used = &this->layer(reused->of());
  if (const ReusedLayer* again = as_reused_layer(*used)) used = &again->layer();
  if (is_input(*used)) {
    throw InvalidArgument(fmt::format("model \"{}\": expected a layer to reuse, found input \"{}\"",
                                      name_, used->name()));
  }
  reused->use(*used);
}

Value Model::reuse(const Value& of, const std::vector<Value>& inputs) {
  const Layer& layer = *layers_[used_layer(node_of(of))];
  return add(std::make_unique<ReusedLayer>(layer.name()), inputs);
}

std::size_t Model::used_layer(std::size_t i) const {
  const ReusedLayer* reused = as_reused_layer(*layers_[i]);
  if (reused == nullptr) return i;
  const auto is_used = [&](const auto& layer) { return layer.get() == &reused->layer(); };
  return static_cast<std::size_t>(std::ranges::find_if(layers_, is_used) - layers_.begin());
}

bool Model::is_reused(std::size_t i) const {
  for (std::size_t other = i + 1; other < layers_.size(); ++other) {
    if (used_layer(other) == i) return true;
  }
  return false;
}

void Model::output(const Value& value) {
  const std::size_t node = node_of(value);
  if (is_output(node)) {
    throw InvalidArgument(fmt::format("{} \"{}\": layer \"{}\" is an output already", kind(), name_,
                                      layers_[node]->name()));
  }
  outputs_.push_back(node);
  compiled_ = nullptr;
}

std::size_t Model::node_of(const Value& value) const {
  if (value.owner_ != owner_ || value.node_ >= layers_.size()) {
    throw InvalidArgument(fmt::format("{} \"{}\": expected a value of this model, found {}", kind(),
                                      name_,
                                      value.owner_ == nullptr ? "none" : "one of another model"));
  }
  return value.node_;
}

std::string Model::automatic_name(std::string_view type) const {
  const std::string stem = snake_case(type);
  // One of so many is free.
  std::vector<bool> taken(layers_.size() + 2);
  for (const auto& layer : layers_) {
    const std::optional<std::size_t> number = number_behind(stem, layer->name());
    if (number.has_value() && *number < taken.size()) taken[*number] = true;
  }
  // As in Keras, the first input is input_1, the first of any other kind has no number.
  std::size_t number = stem == "input" ? 1 : 0;
  while (taken[number]) ++number;
  return number == 0 ? stem : fmt::format("{}_{}", stem, number);
}

std::vector<std::size_t> Model::readers(std::size_t i) const {
  std::vector<std::size_t> result;
  for (std::size_t reader = i + 1; reader < edges_.size(); ++reader) {
    if (std::ranges::count(edges_[reader], i) > 0) result.push_back(reader);
  }
  return result;
}

std::vector<std::size_t> Model::input_layers() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].empty()) result.push_back(i);
  }
  return result;
}

bool Model::is_output(std::size_t i) const { return std::ranges::count(outputs_, i) > 0; }

bool Model::is_chain() const {
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i] != (i == 0 ? std::vector<std::size_t>{} : std::vector{i - 1})) return false;
  }
  return layers_.empty() || outputs_ == std::vector{layers_.size() - 1};
}

void Model::check_graph() const {
  const std::vector<std::size_t> inputs = input_layers();
  for (const std::size_t i : inputs) {
    if (!is_input(*layers_[i])) {
      throw InvalidArgument(fmt::format("{} \"{}\": expected an Input as the first layer, found {}",
                                        kind(), name_, layers_[i]->type()));
    }
  }
  if (inputs.empty()) {
    throw InvalidArgument(fmt::format(
        "{} \"{}\": expected an Input as the first layer, found no layer", kind(), name_));
  }
  if (outputs_.empty()) {
    throw InvalidArgument(
        fmt::format("{} \"{}\": expected an output, found none; name the results with output()",
                    kind(), name_));
  }
  const std::vector<std::size_t> last = last_readers();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    if (last[i] == i && !is_output(i)) {
      throw InvalidArgument(
          fmt::format("{} \"{}\": the result of layer \"{}\" ({}) is read by no layer and is no "
                      "output; use it, or leave the layer out",
                      kind(), name_, layers_[i]->name(), layers_[i]->type()));
    }
  }
}

/// By layer: the last layer that reads it; itself where none does.
std::vector<std::size_t> Model::last_readers() const {
  std::vector<std::size_t> last(layers_.size());
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    for (const std::size_t input : edges_[i]) last[input] = i;
  }
  return last;
}

void Model::build(std::uint64_t seed) {
  check_graph();
  const Random random(seed);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->build_all(shapes_read_by(i), random.fork(i));
  }
  compiled_ = nullptr;
  static_cast<void>(compiled());
}

std::vector<Shape> Model::shapes_read_by(std::size_t i) const {
  // An input is built with the shape of its own examples.
  if (const InputLayer* input = as_input(*layers_[i])) return {input->example_shape()};
  std::vector<Shape> shapes;
  for (const std::size_t input : edges_[i]) shapes.push_back(layers_[input]->output_shape());
  return shapes;
}

bool Model::built() const {
  return !layers_.empty() &&
         std::ranges::all_of(layers_, [](const auto& layer) { return layer->built(); });
}

void Model::require_built(std::string_view operation) const {
  if (!built()) {
    throw InvalidArgument(
        fmt::format("{}: model \"{}\" has no tensors yet; call build() first", operation, name_));
  }
}

void Model::require_one_end(std::string_view operation) const {
  const std::size_t inputs = input_layers().size();
  if (inputs != 1 || outputs_.size() != 1) {
    throw InvalidArgument(
        fmt::format("{}: expected a model of one input and one output, found \"{}\" with {} and "
                    "{}; use forward_all()",
                    operation, name_, inputs, outputs_.size()));
  }
}

const Shape& Model::input_shape() const {
  require_built("input_shape");
  const std::vector<std::size_t> inputs = input_layers();
  if (inputs.size() == 1) return layers_[inputs.front()]->output_shape();
  throw InvalidArgument(
      fmt::format("input_shape: expected a model of one input, found \"{}\" with {}; ask each of "
                  "input_layers() for its output_shape()",
                  name_, inputs.size()));
}

const Shape& Model::output_shape() const {
  require_built("output_shape");
  if (outputs_.size() == 1) return layers_[outputs_.front()]->output_shape();
  throw InvalidArgument(
      fmt::format("output_shape: expected a model of one output, found \"{}\" with {}; ask each of "
                  "output_layers() for its output_shape()",
                  name_, outputs_.size()));
}

bool Model::ends_in_softmax() const {
  return outputs_.size() == 1 && layers_[outputs_.front()]->ends_in_softmax();
}

Layer& Model::layer(std::string_view name) const {
  for (const auto& layer : layers_) {
    if (layer->name() == name) return *layer;
  }
  throw InvalidArgument(fmt::format("model \"{}\" has no layer named \"{}\"", name_, name));
}

Layer& Model::part(std::string_view name) const {
  for (const auto& layer : layers_) {
    if (Layer* part = find_part(*layer, name)) return *part;
  }
  return layer(name);
}

std::vector<NamedTensor> Model::gather(std::vector<NamedTensor> (Layer::*list)() const) const {
  std::vector<NamedTensor> all;
  for (const auto& layer : layers_) {
    for (auto& [name, tensor] : (layer.get()->*list)()) {
      all.push_back({layer->name() + "/" + name, tensor});
    }
  }
  return all;
}

std::vector<NamedTensor> Model::parameters() const { return gather(&Layer::parameters); }
std::vector<NamedTensor> Model::state() const { return gather(&Layer::state); }
std::vector<NamedTensor> Model::counters() const { return gather(&Layer::counters); }

void Model::zero_grad() const {
  for (auto& [name, tensor] : parameters()) tensor.zero_grad();
}

std::vector<NamedTensor> Model::saved_tensors() const {
  std::vector<NamedTensor> all = parameters();
  append(all, state());
  append(all, counters());
  return all;
}

}  // namespace octet
