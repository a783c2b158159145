#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <octet/core/printable.h>
#include <octet/import/onnx/tensor_reader.h>

#include <algorithm>
#include <climits>

#include "octet_onnx.pb.h"

namespace octet::detail::onnx_import {
namespace {

constexpr std::int64_t kOldestOpset = 1;
constexpr std::int64_t kNewestOpset = 24;
/// What looks at every node for every other stays quick.
constexpr int kMostNodes = 10000;
constexpr int kMostInputs = 100;
/// Inputs or outputs of a node.
constexpr int kMostOperands = 1000;
/// Elements that any file may make, and of ConstantOfShape, which stands for weights in files that
/// are for tests of speed.
constexpr std::size_t kLeastBudget = 65536;
constexpr std::size_t kFilled = std::size_t{1} << 25U;

/// What protobuf's objects take: those of an empty part, which is 2 bytes of a file, are hundreds.
constexpr std::size_t kBytesOfByte = 32;
constexpr std::size_t kLeastBytes = std::size_t{1} << 20U;
/// What is left of that while this thread parses.
thread_local std::size_t bytes_left = 0;

void* take_block(std::size_t bytes) {
  if (bytes > bytes_left) {
    fail_format("its parts would take more than {} times its bytes in memory: they are empty",
                kBytesOfByte);
  }
  bytes_left -= bytes;
  return ::operator new(bytes);
}

void free_block(void* block, std::size_t /*bytes*/) { ::operator delete(block); }

google::protobuf::ArenaOptions options_for(std::size_t file_bytes) {
  bytes_left = kBytesOfByte * file_bytes + kLeastBytes;
  google::protobuf::ArenaOptions options;
  options.block_alloc = take_block;
  options.block_dealloc = free_block;
  return options;
}

/// Empty, or "ai.onnx", is ONNX's own set of operators.
bool is_own(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::int64_t opset_of(const onnx::ModelProto& model) {
  for (const auto& set : model.opset_import()) {
    if (!is_own(set.domain())) continue;
    if (set.version() >= kOldestOpset && set.version() <= kNewestOpset) return set.version();
    refuse(
        "import_onnx: expected opset {} to {}, found {}: export the model again with "
        "opset_version=17",
        kOldestOpset, kNewestOpset, set.version());
  }
  // Before IR version 3 files do not say.
  constexpr std::int64_t kFirstWithOpsets = 3;
  if (model.has_ir_version() && model.ir_version() < kFirstWithOpsets) return kOldestOpset;
  fail_format("expected the opset of ONNX's operators, found none: is this an ONNX file?");
}

/// The type of an attribute; by what it has in files before IR version 2, which do not say.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& attribute) {
  using Proto = onnx::AttributeProto;
  if (attribute.type() != Proto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return Proto::FLOAT;
  if (attribute.has_i()) return Proto::INT;
  if (attribute.has_s()) return Proto::STRING;
  if (attribute.has_t()) return Proto::TENSOR;
  if (attribute.floats_size() > 0) return Proto::FLOATS;
  return attribute.ints_size() > 0 ? Proto::INTS : Proto::UNDEFINED;
}

Attribute attribute_of(const onnx::AttributeProto& attribute, TensorReader& tensors) {
  using Proto = onnx::AttributeProto;
  switch (type_of(attribute)) {
    case Proto::FLOAT:
      return attribute.f();
    case Proto::INT:
      return attribute.i();
    case Proto::STRING:
      return attribute.s();
    case Proto::TENSOR:
      return tensors.read(attribute.t());
    case Proto::FLOATS:
      return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
    case Proto::INTS:
      return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
    case Proto::STRINGS:
      return fmt::format("{}", fmt::join(attribute.strings(), ","));
    default:
      // A graph, or a list of tensors: no operator that is imported has one.
      return std::string();
  }
}

Node node_of(const onnx::NodeProto& proto, TensorReader& tensors) {
  Node node = outline_of(proto);
  if (node.outputs.empty()) fail_format("node \"{}\" has no output", printable(node.name));
  if (proto.input_size() > kMostOperands || proto.output_size() > kMostOperands) {
    refuse("import_onnx: {}: expected at most {} inputs and outputs, found {} and {}",
           describe(node), kMostOperands, proto.input_size(), proto.output_size());
  }
  for (const auto& attribute : proto.attribute()) {
    node.attributes.insert_or_assign(attribute.name(), attribute_of(attribute, tensors));
  }
  return node;
}

GraphInput input_of(const onnx::ValueInfoProto& proto) {
  const auto& type = proto.type().tensor_type();
  GraphInput input{proto.name(), {}, type_name(type.elem_type())};
  for (const auto& dim : type.shape().dim()) {
    input.extents.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
  }
  return input;
}

/// Every value is given once, by something in front of what reads it.
void check_values(const Graph& graph) {
  std::set<std::string, std::less<>> known;
  for (const auto& [name, constant] : graph.constants) known.insert(name);
  const auto give = [&](const std::string& name) {
    if (!known.insert(name).second) fail_format("value \"{}\" is given twice", printable(name));
  };
  const auto read = [&](const std::string& name, std::string_view by) {
    if (known.contains(name)) return;
    fail_format("{} reads \"{}\", which nothing in front of it gives", printable(by),
                printable(name));
  };
  for (const GraphInput& input : graph.inputs) give(input.name);
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.inputs) {
      if (!name.empty()) read(name, node.name);
    }
    for (const std::string& name : node.outputs) {
      if (!name.empty()) give(name);
    }
  }
  for (const std::string& name : graph.outputs) read(name, "the graph");
}

Graph graph_of(const onnx::ModelProto& model, std::size_t file_bytes,
               const std::optional<std::filesystem::path>& folder) {
  Graph graph;
  graph.opset = opset_of(model);
  const onnx::GraphProto& proto = model.graph();
  if (proto.node_size() > kMostNodes) {
    refuse("import_onnx: expected at most {} nodes, found {}", kMostNodes, proto.node_size());
  }
  const int ends = proto.input_size() + proto.output_size();
  if (ends > kMostInputs + proto.initializer_size()) {
    refuse("import_onnx: expected at most {} inputs and outputs, found {}", kMostInputs, ends);
  }
  graph.name = proto.name();
  TensorReader tensors(folder);
  for (const auto& tensor : proto.initializer()) {
    if (!graph.define(tensor.name(), tensors.read(tensor))) {
      fail_format("value \"{}\" is given twice", printable(tensor.name()));
    }
  }
  for (const auto& node : proto.node()) graph.nodes.push_back(node_of(node, tensors));
  // Before IR version 4 initializers are inputs, too.
  for (const auto& input : proto.input()) {
    if (!graph.constants.contains(input.name())) graph.inputs.push_back(input_of(input));
  }
  for (const auto& output : proto.output()) graph.outputs.push_back(output.name());
  for (const auto& value : proto.value_info()) {
    if (value.type().tensor_type().has_shape()) {
      graph.extents.insert_or_assign(value.name(), input_of(value).extents);
    }
  }
  if (graph.inputs.empty() || graph.outputs.empty()) {
    fail_format("expected a graph with inputs and outputs, found {} and {}", graph.inputs.size(),
                graph.outputs.size());
  }
  check_values(graph);
  graph.budget = file_bytes + tensors.external_bytes() + kLeastBudget;
  graph.filled_budget = kFilled;
  for (const auto& [name, constant] : graph.constants) graph.names.insert(name);
  for (const GraphInput& input : graph.inputs) graph.names.insert(input.name);
  for (const Node& node : graph.nodes) {
    graph.names.insert(node.outputs.begin(), node.outputs.end());
  }
  renew(graph);
  return graph;
}

}  // namespace

void with_model(std::span<const std::uint8_t> bytes,
                FunctionRef<void(const onnx::ModelProto&)> read) {
  // Where memory runs out while protobuf parses, it loses what an arena keeps.
  google::protobuf::Arena arena(options_for(bytes.size()));
  auto& model = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  if (bytes.empty() || bytes.size() > INT_MAX ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail_format("expected an ONNX file, found {} bytes that are none: is the file cut off?",
                bytes.size());
  }
  read(model);
}

Node outline_of(const onnx::NodeProto& proto) {
  Node node;
  node.op = is_own(proto.domain()) ? proto.op_type() : proto.domain() + "." + proto.op_type();
  node.name = proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  return node;
}

Graph parse(std::span<const std::uint8_t> bytes,
            const std::optional<std::filesystem::path>& folder) {
  Graph graph;
  with_model(bytes,
             [&](const onnx::ModelProto& model) { graph = graph_of(model, bytes.size(), folder); });
  return graph;
}

}  // namespace octet::detail::onnx_import
