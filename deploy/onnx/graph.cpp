#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/graph.h>

#include <bit>
#include <utility>

#include "octet_onnx.pb.h"

namespace octet::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "constants are written as they lie");

void describe(onnx::ValueInfoProto& value, const std::string& name, OnnxType type,
              std::span<const std::int32_t> shape) {
  value.set_name(name);
  auto* tensor = value.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<std::int32_t>(type));
  auto* dimensions = tensor->mutable_shape();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto* dimension = dimensions->add_dim();
    if (shape[i] >= 0) {
      dimension->set_dim_value(shape[i]);
    } else {
      dimension->set_dim_param(i == 0 ? "batch" : fmt::format("dim_{}", i));
    }
  }
}

struct SetValue {
  onnx::AttributeProto& attribute;

  void operator()(std::int64_t value) const {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  void operator()(float value) const {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }
  void operator()(const std::string& text) const {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(text);
  }
};

void set(onnx::AttributeProto& attribute, const OnnxAttribute& from) {
  attribute.set_name(from.name);
  std::visit(SetValue{attribute}, from.value);
}

}  // namespace

OnnxGraph::OnnxGraph(const IntegerModel& model, OnnxVersion version)
    : opset_(version.opset), model_(std::make_unique<onnx::ModelProto>()), size_(model, "to_onnx") {
  model_->set_ir_version(version.ir);
  model_->set_producer_name("octet");
  model_->set_producer_version(OCTET_VERSION);
  auto* opset = model_->add_opset_import();
  opset->set_domain("");
  opset->set_version(version.opset);
  graph().set_name(model.name);
}

OnnxGraph::~OnnxGraph() = default;

onnx::GraphProto& OnnxGraph::graph() { return *model_->mutable_graph(); }

std::string OnnxGraph::unique(std::string_view wanted) {
  size_.add(wanted.size());
  return names_.take(std::string(wanted));
}

std::string OnnxGraph::constant(std::string_view name, OnnxType type,
                                std::span<const std::int64_t> shape,
                                std::span<const std::byte> data) {
  size_.add(data.size());
  auto* tensor = graph().add_initializer();
  tensor->set_name(unique(name));
  tensor->set_data_type(static_cast<std::int32_t>(type));
  for (const std::int64_t extent : shape) tensor->add_dims(extent);
  tensor->set_raw_data(data.data(), data.size());
  return tensor->name();
}

std::string OnnxGraph::node(std::string_view op, std::span<const std::string> inputs,
                            std::string output, std::span<const OnnxAttribute> attributes) {
  auto* node = graph().add_node();
  node->set_op_type(std::string(op));
  node->set_name(fmt::format("{}:{}", output, op));
  size_.add(2 * output.size());
  for (const std::string& input : inputs) {
    size_.add(input.size());
    node->add_input(input);
  }
  node->add_output(output);
  for (const OnnxAttribute& attribute : attributes) set(*node->add_attribute(), attribute);
  return output;
}

void OnnxGraph::input(const std::string& name, OnnxType type, std::span<const std::int32_t> shape) {
  describe(*graph().add_input(), name, type, shape);
}

void OnnxGraph::output(const std::string& name, OnnxType type,
                       std::span<const std::int32_t> shape) {
  describe(*graph().add_output(), name, type, shape);
}

void OnnxGraph::metadata(const std::string& key, const std::string& value) {
  auto* entry = model_->add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

void OnnxGraph::description(const std::string& text) { model_->set_doc_string(text); }

std::vector<std::uint8_t> OnnxGraph::bytes() const {
  std::vector<std::uint8_t> result(model_->ByteSizeLong());
  if (!model_->SerializeToArray(result.data(), static_cast<int>(result.size()))) {
    throw FormatError(
        fmt::format("an ONNX file holds at most 2 GiB, this model is {} bytes", result.size()));
  }
  return result;
}

}  // namespace octet::detail
