#include <fmt/format.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/profile.h>
#include <octet/layers/architecture.h>
#include <octet/layers/sequential.h>

#include <algorithm>
#include <cctype>

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

}  // namespace

Sequential::Sequential(const Sequential& other) : name_(other.name_) {
  for (const auto& layer : other.layers_) layers_.push_back(layer->clone());
}

Sequential& Sequential::operator=(const Sequential& other) {
  Sequential copy(other);
  return *this = std::move(copy);
}

Sequential& Sequential::add(std::unique_ptr<Layer> layer) {
  if (layer == nullptr) {
    throw InvalidArgument(
        fmt::format("Sequential \"{}\": expected a layer to add, found null", name_));
  }
  if (layer->name().empty()) layer->set_name(automatic_name(layer->type()));
  const auto same_name = [&](const auto& other) { return other->name() == layer->name(); };
  if (std::ranges::any_of(layers_, same_name)) {
    throw InvalidArgument(
        fmt::format("Sequential \"{}\": expected layers of different names, "
                    "found \"{}\" twice",
                    name_, layer->name()));
  }
  layers_.push_back(std::move(layer));
  return *this;
}

std::string Sequential::automatic_name(std::string_view type) const {
  const std::string stem = snake_case(type);
  // As in Keras, the first input is input_1, the first of any other kind has no number.
  for (int number = stem == "input" ? 1 : 0;; ++number) {
    std::string name = number == 0 ? stem : fmt::format("{}_{}", stem, number);
    const auto taken = [&](const auto& layer) { return layer->name() == name; };
    if (std::ranges::none_of(layers_, taken)) return name;
  }
}

void Sequential::build(std::uint64_t seed) {
  const auto* input =
      layers_.empty() ? nullptr : dynamic_cast<const InputLayer*>(layers_.front().get());
  if (input == nullptr) {
    throw InvalidArgument(
        fmt::format("Sequential \"{}\": expected an Input as the first layer, found {}", name_,
                    layers_.empty() ? "no layer" : layers_.front()->type()));
  }
  const Random random(seed);
  Shape shape = input->example_shape();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i]->build(shape, random.fork(i));
    shape = layers_[i]->output_shape();
  }
}

bool Sequential::built() const {
  return !layers_.empty() &&
         std::ranges::all_of(layers_, [](const auto& layer) { return layer->built(); });
}

void Sequential::require_built(std::string_view operation) const {
  if (!built()) {
    throw InvalidArgument(
        fmt::format("{}: model \"{}\" has no tensors yet; call build() first", operation, name_));
  }
}

const Shape& Sequential::input_shape() const {
  require_built("input_shape");
  return layers_.front()->output_shape();
}

const Shape& Sequential::output_shape() const {
  require_built("output_shape");
  return layers_.back()->output_shape();
}

Tensor Sequential::forward(const Tensor& x, const ForwardContext& context) const {
  require_built("forward");
  Tensor value = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const ProfileScope scope("forward", layers_[i]->name());
    value = layers_[i]->forward(value, {context.mode, context.random.fork(i)});
  }
  return value;
}

Tensor Sequential::forward_logits(const Tensor& x, const ForwardContext& context) const {
  require_built("forward_logits");
  Tensor value = x;
  const std::size_t last = layers_.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    const ProfileScope scope("forward", layers_[i]->name());
    value = layers_[i]->forward(value, {context.mode, context.random.fork(i)});
  }
  const ProfileScope scope("forward", layers_[last]->name());
  return layers_[last]->forward_logits(value, {context.mode, context.random.fork(last)});
}

bool Sequential::ends_in_softmax() const {
  return !layers_.empty() && layers_.back()->ends_in_softmax();
}

Layer& Sequential::layer(std::string_view name) const {
  for (const auto& layer : layers_) {
    if (layer->name() == name) return *layer;
  }
  throw InvalidArgument(fmt::format("model \"{}\" has no layer named \"{}\"", name_, name));
}

std::vector<NamedTensor> Sequential::gather(std::vector<NamedTensor> (Layer::*list)() const) const {
  std::vector<NamedTensor> all;
  for (const auto& layer : layers_) {
    for (auto& [name, tensor] : (layer.get()->*list)()) {
      all.push_back({layer->name() + "/" + name, tensor});
    }
  }
  return all;
}

std::vector<NamedTensor> Sequential::parameters() const { return gather(&Layer::parameters); }
std::vector<NamedTensor> Sequential::state() const { return gather(&Layer::state); }
std::vector<NamedTensor> Sequential::counters() const { return gather(&Layer::counters); }

void Sequential::zero_grad() const {
  for (auto& [name, tensor] : parameters()) tensor.zero_grad();
}

void Sequential::save(const std::filesystem::path& path) const {
  require_built("save");
  Archive archive;
  for (const auto& [name, tensor] : saved_tensors()) archive.add(name, tensor);
  add_architecture(archive, *this);
  archive.write(path);
}

void Sequential::load(const std::filesystem::path& path) {
  require_built("load");
  restore(Archive::read(path));
}

std::vector<NamedTensor> Sequential::saved_tensors() const {
  std::vector<NamedTensor> all = parameters();
  append(all, state());
  append(all, counters());
  return all;
}

void Sequential::restore(const Archive& archive) {
  // Checked as a whole before anything is changed.
  const std::vector<NamedTensor> targets = saved_tensors();
  for (const auto& [name, tensor] : targets) archive.check_shape(name, tensor.shape());
  if (archive.tensors().size() != targets.size()) {
    throw FormatError(
        fmt::format("load: model \"{}\" has {} tensors, the archive {}; was it saved "
                    "from a model of more layers?",
                    name_, targets.size(), archive.tensors().size()));
  }
  for (const auto& [name, tensor] : targets) archive.copy_to(name, tensor);
}

}  // namespace octet
