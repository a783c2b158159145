#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/deploy/onnx/operators.h>
#include <octet/deploy/onnx/writer.h>

namespace octet {

namespace {

/// The first that has the operators and types of the weights.
detail::OnnxVersion version_of(OnnxWeights weights) {
  switch (weights) {
    case OnnxWeights::planes:
      return {.opset = 18, .ir = 8};
    case OnnxWeights::int4:
      return {.opset = 21, .ir = 10};
    case OnnxWeights::int8:
      return {.opset = 13, .ir = 7};
  }
  throw InvalidArgument("to_onnx: an OnnxWeights outside the enumeration");
}

}  // namespace

std::vector<std::uint8_t> to_onnx(const IntegerModel& model, const OnnxOptions& options) {
  if (options.style != OnnxStyle::exact && options.style != OnnxStyle::standard) {
    throw InvalidArgument("to_onnx: an OnnxStyle outside the enumeration");
  }
  model.validate();
  detail::OnnxGraph graph(model, version_of(options.weights));
  detail::OnnxValues values(model, options, graph);
  detail::OnnxNodes nodes(model, options.style == OnnxStyle::exact, graph, values);
  for (std::size_t i = 0; i < model.operators.size(); ++i) {
    const Operator& op = model.operators[i];
    try {
      detail::write_operator(nodes, {model, op});
    } catch (const InvalidArgument& error) {
      const std::string& result = model.tensors[static_cast<std::size_t>(op.outputs[0])].name;
      throw InvalidArgument(fmt::format("to_onnx: operator {} ({}) '{}': {}", i, to_string(op.code),
                                        result, error.what()));
    }
  }
  values.add_outputs();
  graph.description(model.description);
  for (const auto& [key, value] : model.metadata) graph.metadata(key, value);
  return graph.bytes();
}

void write_onnx(const IntegerModel& model, const std::filesystem::path& path,
                const OnnxOptions& options) {
  write_file_atomic(path, to_onnx(model, options));
}

}  // namespace octet
