#include <octet/core/printable.h>
#include <octet/deploy/outline_internal.h>
#include <octet/deploy/tflite/file_access.h>

namespace octet::detail {
namespace {

class TfliteOutline {
 public:
  TfliteOutline(const tflite::Model& file, std::size_t file_bytes)
      : file_(file), budget_(file_bytes) {}

  FileOutline read(const std::vector<std::vector<std::string>>& refusals) {
    FileOutline outline;
    outline.description = name_of(file_.description());
    outline.graphs = parts<OutlinedGraph>(
        file_.subgraphs(), [&](const tflite::SubGraph& graph) { return graph_of(graph); });
    for (std::size_t i = 0; i < refusals.size(); ++i) {
      for (std::size_t k = 0; k < refusals[i].size(); ++k) {
        outline.graphs[i].operators[k].refusal = refusals[i][k];
      }
    }
    return outline;
  }

 private:
  /// What `read` makes of each table of a vector.
  template <class Part, class Table, class Read>
  std::vector<Part> parts(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables,
                          Read&& read) {
    std::vector<Part> result;
    budget_.take(size_or_zero(tables) * sizeof(Part));
    result.reserve(size_or_zero(tables));
    for (flatbuffers::uoffset_t i = 0; i < size_or_zero(tables); ++i) {
      result.push_back(read(*tables->Get(i)));
    }
    return result;
  }

  OutlinedGraph graph_of(const tflite::SubGraph& source) {
    OutlinedGraph graph;
    graph.name = name_of(source.name());
    graph.tensors = parts<OutlinedTensor>(
        source.tensors(), [&](const tflite::Tensor& tensor) { return tensor_of(tensor); });
    const std::size_t tensors = graph.tensors.size();
    graph.operators = parts<OutlinedOperator>(
        source.operators(), [&](const tflite::Operator& op) { return operator_of(op, tensors); });
    graph.inputs = indices(source.inputs(), tensors);
    graph.outputs = indices(source.outputs(), tensors);
    return graph;
  }

  std::string name_of(const flatbuffers::String* text) {
    if (text == nullptr) return {};
    // Many tensors may share one long name: only its beginning is read.
    const std::string_view start = text->string_view().substr(0, 2 * kMostOfOutlinedName);
    std::string name = printable(start.substr(0, start.find('\0')), kMostOfOutlinedName);
    budget_.take(name.size());
    return name;
  }

  template <class T>
  std::vector<T> values(const flatbuffers::Vector<T>* source) {
    return read_values(source, SIZE_MAX, "outline", budget_);
  }

  /// Returns the indices, with -1 in place of those that no tensor has.
  std::vector<std::int32_t> indices(const flatbuffers::Vector<std::int32_t>* source,
                                    std::size_t tensors) {
    std::vector<std::int32_t> result = values(source);
    for (std::int32_t& i : result) {
      if (i < 0 || static_cast<std::size_t>(i) >= tensors) i = -1;
    }
    return result;
  }

  OutlinedTensor tensor_of(const tflite::Tensor& source) {
    OutlinedTensor tensor;
    tensor.name = name_of(source.name());
    tensor.type = type_name(source.type());
    const bool has_signature = size_or_zero(source.shape_signature()) > 0;
    const auto shape = values(has_signature ? source.shape_signature() : source.shape());
    budget_.take(shape.size() * sizeof(std::int64_t));
    tensor.shape = {shape.begin(), shape.end()};
    if (source.buffer() < size_or_zero(file_.buffers())) {
      tensor.constant_bytes = size_or_zero(file_.buffers()->Get(source.buffer())->data());
    }
    if (const auto* q = source.quantization()) {
      tensor.scales = values(q->scale());
      tensor.zero_points = values(q->zero_point());
      tensor.quantized_dimension = q->quantized_dimension();
    }
    return tensor;
  }

  OutlinedOperator operator_of(const tflite::Operator& source, std::size_t tensors) {
    OutlinedOperator op;
    if (source.opcode_index() < size_or_zero(file_.operator_codes())) {
      const tflite::OperatorCode& code = *file_.operator_codes()->Get(source.opcode_index());
      op.name = operator_name(code);
      op.version = code.version();
    }
    op.inputs = indices(source.inputs(), tensors);
    op.outputs = indices(source.outputs(), tensors);
    return op;
  }

  const tflite::Model& file_;
  Budget budget_;
};

}  // namespace

FileOutline outline_tflite(std::span<const std::uint8_t> bytes) {
  FileOutline outline;
  with_tflite(bytes, [&](const tflite::Model& file) {
    outline = TfliteOutline(file, bytes.size()).read(tflite_refusals(file, bytes.size()));
  });
  return outline;
}

}  // namespace octet::detail
