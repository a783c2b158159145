#include <octet/core/printable.h>
#include <octet/import/onnx/builder.h>
#include <octet/import/onnx/outline_internal.h>
#include <octet/import/onnx/tensor_reader.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "octet_onnx.pb.h"

namespace octet::detail {
namespace {

namespace oi = onnx_import;
using onnx::TensorProto;

/// Where nodes say what the codes of a value stand for: their input or output `value`, its scale in
/// input `scale` and its zero point in the next.
struct GridOfNode {
  std::string_view op;
  bool of_output;
  int value;
  int scale;
};
constexpr std::array kGrids = {
    GridOfNode{"QuantizeLinear", true, 0, 1}, GridOfNode{"DequantizeLinear", false, 0, 1},
    GridOfNode{"QLinearConv", false, 0, 1},   GridOfNode{"QLinearConv", false, 3, 4},
    GridOfNode{"QLinearConv", true, 0, 6},    GridOfNode{"QLinearMatMul", false, 0, 1},
    GridOfNode{"QLinearMatMul", false, 3, 4}, GridOfNode{"QLinearMatMul", true, 0, 6}};

/// The whole numbers of a tensor of zero points, in whichever field they lie.
template <class T>
std::vector<std::int64_t> numbers_in(const std::string& raw) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i + sizeof(T) <= raw.size(); i += sizeof(T)) {
    T value{};
    std::memcpy(&value, raw.data() + i, sizeof(T));
    result.push_back(value);
  }
  return result;
}

std::vector<std::int64_t> zero_points_of(const TensorProto& tensor) {
  if (!tensor.has_raw_data()) return {tensor.int32_data().begin(), tensor.int32_data().end()};
  switch (tensor.data_type()) {
    case TensorProto::INT8:
      return numbers_in<std::int8_t>(tensor.raw_data());
    case TensorProto::UINT8:
      return numbers_in<std::uint8_t>(tensor.raw_data());
    case TensorProto::INT16:
      return numbers_in<std::int16_t>(tensor.raw_data());
    case TensorProto::UINT16:
      return numbers_in<std::uint16_t>(tensor.raw_data());
    case TensorProto::INT32:
      return numbers_in<std::int32_t>(tensor.raw_data());
    default:
      return {};
  }
}

std::vector<float> scales_of(const TensorProto& tensor) {
  if (tensor.data_type() != TensorProto::FLOAT) return {};
  if (!tensor.has_raw_data()) return {tensor.float_data().begin(), tensor.float_data().end()};
  std::vector<float> result(tensor.raw_data().size() / sizeof(float));
  if (!result.empty()) {
    std::memcpy(result.data(), tensor.raw_data().data(), result.size() * sizeof(float));
  }
  return result;
}

std::size_t bytes_in(const TensorProto& tensor) {
  return tensor.raw_data().size() +
         sizeof(float) * static_cast<std::size_t>(tensor.float_data_size()) +
         sizeof(std::int32_t) * static_cast<std::size_t>(tensor.int32_data_size()) +
         sizeof(std::int64_t) * static_cast<std::size_t>(tensor.int64_data_size()) +
         sizeof(double) * static_cast<std::size_t>(tensor.double_data_size());
}

class OnnxOutline {
 public:
  OnnxOutline(const onnx::GraphProto& source, std::string_view refusal, std::size_t file_bytes)
      : source_(source), refusal_(refusal), left_(16 * file_bytes) {}

  OutlinedGraph read() {
    graph_.name = printable(source_.name(), kMostOfOutlinedName);
    for (const TensorProto& tensor : source_.initializer()) add_constant(tensor.name(), tensor);
    for (const auto& input : source_.input()) {
      const std::size_t before = graph_.tensors.size();
      const std::int32_t index = describe_value(input);
      // Before IR version 4 initializers are inputs, too.
      if (static_cast<std::size_t>(index) == before) graph_.inputs.push_back(index);
    }
    for (const auto& value : source_.value_info()) describe_value(value);
    for (const onnx::NodeProto& node : source_.node()) add_node(node);
    for (const auto& output : source_.output()) graph_.outputs.push_back(describe_value(output));
    for (const onnx::NodeProto& node : source_.node()) add_grids(node);
    return std::move(graph_);
  }

 private:
  /// The tensor of that name, made where it is new; -1 for an operand that is left out.
  std::int32_t index_of(const std::string& name) {
    if (name.empty()) return -1;
    const auto [at, is_new] = indices_.try_emplace(name, graph_.tensors.size());
    if (is_new) graph_.tensors.emplace_back().name = printable(name, kMostOfOutlinedName);
    return static_cast<std::int32_t>(at->second);
  }
  OutlinedTensor& tensor_at(std::int32_t index) {
    return graph_.tensors[static_cast<std::size_t>(index)];
  }

  void add_constant(const std::string& name, const TensorProto& source) {
    if (name.empty()) return;
    OutlinedTensor& tensor = tensor_at(index_of(name));
    tensor.type = oi::type_name(source.data_type());
    tensor.shape = {source.dims().begin(), source.dims().end()};
    tensor.constant_bytes = bytes_in(source);
    constants_.insert_or_assign(name, &source);
    known_.insert(name);
  }

  std::int32_t describe_value(const onnx::ValueInfoProto& source) {
    const std::int32_t index = index_of(source.name());
    if (index == -1 || constants_.contains(source.name())) return index;
    OutlinedTensor& tensor = tensor_at(index);
    const auto& type = source.type().tensor_type();
    if (type.has_elem_type()) tensor.type = oi::type_name(type.elem_type());
    if (!type.has_shape()) return index;
    std::vector<std::int64_t> shape;
    for (const auto& dim : type.shape().dim()) {
      shape.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
    }
    tensor.shape = std::move(shape);
    return index;
  }

  void add_node(const onnx::NodeProto& source) {
    OutlinedOperator op;
    const oi::Node node = oi::outline_of(source);
    op.name = printable(node.op, kMostOfOutlinedName);
    for (const std::string& name : node.inputs) op.inputs.push_back(index_of(name));
    for (const std::string& name : node.outputs) op.outputs.push_back(index_of(name));
    for (const auto& attribute : source.attribute()) {
      if (node.op == "Constant" && attribute.has_t() && !node.outputs.empty()) {
        add_constant(node.outputs[0], attribute.t());
      }
    }
    op.refusal = refusal_of(node);
    graph_.operators.push_back(std::move(op));
  }

  std::string refusal_of(const oi::Node& node) {
    const std::string who = oi::describe(node) + ": ";
    const std::size_t named = refusal_.find(who);
    const bool is_known = std::ranges::all_of(
        node.inputs, [&](const auto& name) { return name.empty() || known_.contains(name); });
    // What computes with constants and shapes alone becomes no layer.
    if (node.op == "Shape" || node.op == "Constant" || (!node.inputs.empty() && is_known)) {
      known_.insert(node.outputs.begin(), node.outputs.end());
    } else if (node.op != "Identity" && node.op != "Dropout" &&
               oi::find_operator(node.op) == nullptr) {
      return "Octet has no such operator";
    }
    return std::string(named == std::string_view::npos ? std::string_view()
                                                       : refusal_.substr(named + who.size()));
  }

  void add_grids(const onnx::NodeProto& node) {
    for (const GridOfNode& grid : kGrids) {
      const auto& values = grid.of_output ? node.output() : node.input();
      if (node.op_type() != grid.op || grid.value >= values.size()) continue;
      const auto constant = [&](int i) -> const TensorProto* {
        const auto found =
            i < node.input_size() ? constants_.find(node.input(i)) : constants_.end();
        return found == constants_.end() ? nullptr : found->second;
      };
      const std::int32_t index = index_of(values[grid.value]);
      const TensorProto* scale = constant(grid.scale);
      if (index == -1 || scale == nullptr) continue;
      OutlinedTensor& tensor = tensor_at(index);
      spend(bytes_in(*scale));
      tensor.scales = scales_of(*scale);
      if (const TensorProto* zero = constant(grid.scale + 1)) {
        spend(sizeof(std::int64_t) * bytes_in(*zero));
        tensor.zero_points = zero_points_of(*zero);
        if (tensor.type.empty()) tensor.type = oi::type_name(zero->data_type());
      }
      tensor.quantized_dimension = tensor.scales.size() > 1 ? 1 : 0;
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() == "axis") tensor.quantized_dimension = attribute.i();
      }
    }
  }

  /// Nodes may share scales: what is copied of them may not be much more than the file.
  void spend(std::size_t bytes) {
    if (bytes > left_) {
      throw FormatError("ONNX: its nodes share scales and add up to much more than the file");
    }
    left_ -= bytes;
  }

  const onnx::GraphProto& source_;
  std::string_view refusal_;
  std::size_t left_;
  OutlinedGraph graph_;
  std::map<std::string, std::size_t, std::less<>> indices_;
  std::map<std::string, const TensorProto*, std::less<>> constants_;
  /// Constants, shapes, and what is computed of them alone.
  std::set<std::string, std::less<>> known_;
};

}  // namespace

FileOutline outline_onnx(std::span<const std::uint8_t> bytes, std::string_view refusal) {
  FileOutline outline;
  oi::with_model(bytes, [&](const onnx::ModelProto& model) {
    outline.description = printable(
        fmt::format("{} {}", model.producer_name(), model.producer_version()), kMostOfOutlinedName);
    for (const auto& set : model.opset_import()) {
      outline.description += fmt::format(", opset {} of {}", set.version(),
                                         set.domain().empty() ? "ONNX" : printable(set.domain()));
    }
    outline.graphs.push_back(OnnxOutline(model.graph(), refusal, bytes.size()).read());
  });
  return outline;
}

}  // namespace octet::detail
