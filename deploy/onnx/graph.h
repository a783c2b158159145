#pragma once

#include <octet/core/unique_names.h>
#include <octet/deploy/export_size.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace octet::detail {

namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class ValueInfoProto;
}  // namespace onnx

/// Element types, numbered as in an ONNX file.
enum class OnnxType : std::int32_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  int32 = 6,
  int64 = 7,
  int4 = 22
};

/// The version of ONNX's operators that a file is written for, and of the file format.
struct OnnxVersion {
  std::int64_t opset;
  std::int64_t ir;
};

/// An attribute of a node.
struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::vector<std::int64_t>, std::string> value;
};

/// An ONNX file in the making: values have names, and every name is given once. Throws
/// InvalidArgument where it becomes far larger than the model, see ExportSize.
class OnnxGraph {
 public:
  /// A graph of the model's name and size.
  OnnxGraph(const IntegerModel& model, OnnxVersion version);
  ~OnnxGraph();
  OnnxGraph(const OnnxGraph&) = delete;
  OnnxGraph& operator=(const OnnxGraph&) = delete;

  /// `wanted`, or with a number behind it where that name is taken; taken from now on.
  std::string unique(std::string_view wanted);

  std::int64_t opset() const { return opset_; }

  /// A constant of `data`, row-major and little-endian; codes of int4 two in a byte, the first in
  /// its low half. Returns its name.
  std::string constant(std::string_view name, OnnxType type, std::span<const std::int64_t> shape,
                       std::span<const std::byte> data);

  /// A node that computes `output`, a name from unique(), of `inputs`. Returns `output`.
  std::string node(std::string_view op, std::span<const std::string> inputs, std::string output,
                   std::span<const OnnxAttribute> attributes = {});

  /// What the graph reads and what it puts out; an extent of -1 is not known: "batch" in front,
  /// "dim_i" elsewhere.
  void input(const std::string& name, OnnxType type, std::span<const std::int32_t> shape);
  void output(const std::string& name, OnnxType type, std::span<const std::int32_t> shape);

  void metadata(const std::string& key, const std::string& value);
  void description(const std::string& text);

  /// The file.
  std::vector<std::uint8_t> bytes() const;

 private:
  onnx::GraphProto& graph();

  std::int64_t opset_;
  std::unique_ptr<onnx::ModelProto> model_;
  UniqueNames names_;
  ExportSize size_;
};

}  // namespace octet::detail
