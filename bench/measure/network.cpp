#include <fmt/core.h>
#include <octet/bench/measure/measure.h>
#include <octet/bench/measure/reference.h>
#include <octet/layers/architecture.h>

#include <array>
#include <map>

namespace octet::bench {
namespace {

using nlohmann::json;

/// [height, width, channels]; of a vector [1, 1, values].
json image_of(const Shape& shape) {
  if (shape.rank() == 3) return {shape[0], shape[1], shape[2]};
  return {1, 1, shape.size()};
}

/// Kernel, stride and padding of a window over images, as a peer wants them.
void add_window(json& entry, const json& layer, const char* size, const char* stride) {
  const Padding padding = parse_padding(layer.at("padding").get<std::string>());
  std::array<WindowAxis, 2> axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i] = slide_window(entry.at("in").at(i), layer.at(size).at(i), layer.at(stride).at(i),
                           /*dilation=*/1, padding);
  }
  entry["kernel"] = layer.at(size);
  entry["stride"] = layer.at(stride);
  entry["pad"] = {axes[0].before, axes[0].after(), axes[1].before, axes[1].after()};
}

/// Puts a network's layers together as every library has them: an operation, a normalization and a
/// clamp behind it.
class Listing {
 public:
  explicit Listing(const Model& model)
      : model_(model), architecture_(json::parse(architecture_json(model))) {
    for (std::size_t i = 0; i < model.layers().size(); ++i) entry_of_.push_back(place(i));
  }

  json take() { return std::move(entries_); }

 private:
  /// The entry that holds the result of layer `i`.
  std::size_t place(std::size_t i) {
    const json& layer = architecture_.at("layers").at(i);
    const auto type = layer.at("type").get<std::string>();
    if (type == Flatten::kType) return entry_of_.at(model_.inputs_of(i).front());
    if (type == BatchNorm::kType) return attach(i, "norm");
    if (type == ReLU::kType) return attach(i, "relu");
    entries_.push_back(entry(i, layer, type));
    return entries_.size() - 1;
  }

  std::size_t attach(std::size_t i, const char* what) {
    const std::size_t source = model_.inputs_of(i).front();
    json& entry = entries_.at(entry_of_.at(source));
    if (model_.readers(source).size() != 1 || entry.at("relu").get<bool>()) {
      throw InvalidArgument(
          fmt::format("octet_measure network: expected layer \"{}\" alone behind "
                      "an operation, found another reader or a clamp",
                      model_.layers()[i]->name()));
    }
    entry[what] = true;
    return entry_of_.at(source);
  }

  json entry(std::size_t i, const json& layer, const std::string& type) const {
    json from = json::array();
    for (const std::size_t source : model_.inputs_of(i)) from.push_back(entry_of_.at(source));
    json result = {{"name", layer.at("name")},
                   {"op", operation(type)},
                   {"from", from},
                   {"out", image_of(model_.layers()[i]->output_shape())},
                   {"norm", false},
                   {"relu", layer.value("activation", "") == "relu"}};
    if (from.empty()) return result;
    result["in"] = entries_.at(from.front().get<std::size_t>()).at("out");
    if (type == MaxPool2D::kType) {
      add_window(result, layer, "size", "stride");
    } else if (layer.contains("kernel_size")) {
      add_window(result, layer, "kernel_size", "strides");
    }
    return result;
  }

  static std::string operation(const std::string& type) {
    static const std::map<std::string, std::string, std::less<>> names = {
        {std::string(InputLayer::kType), "input"},
        {std::string(Conv2D::kType), "conv"},
        {std::string(DepthwiseConv2D::kType), "depthwise"},
        {std::string(Dense::kType), "dense"},
        {std::string(MaxPool2D::kType), "maxpool"},
        {std::string(GlobalAveragePool2D::kType), "mean"},
        {std::string(Add::kType), "add"}};
    const auto found = names.find(type);
    if (found != names.end()) return found->second;
    throw InvalidArgument("octet_measure network: no peer has a name for layer type " + type);
  }

  const Model& model_;
  json architecture_;
  json entries_ = json::array();
  /// By layer of the model.
  std::vector<std::size_t> entry_of_;
};

}  // namespace

nlohmann::json describe_network(const NetworkRequest& request) {
  const Reference& of = reference(request.network);
  if (!request.tflite.empty()) write_tflite(integers_of(of), request.tflite);
  return {
      {"network", of.name}, {"classes", of.classes}, {"layers", Listing(make_network(of)).take()}};
}

}  // namespace octet::bench
