#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/operators/images.h>

namespace octet::detail {
namespace {

const std::vector<OnnxAttribute> kToFront = {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}};
const std::vector<OnnxAttribute> kToBack = {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}};

}  // namespace

std::string channels_first(OnnxNodes& nodes, const std::string& x, const std::string& name) {
  return nodes.values().node("Transpose", {x}, name + "/channels_first", kToFront);
}

std::string channels_last(OnnxNodes& nodes, const std::string& x, const std::string& name) {
  return nodes.values().node("Transpose", {x}, name + "/channels_last", kToBack);
}

void channels_last_to(OnnxNodes& nodes, const std::string& x, std::int32_t out) {
  nodes.node_to("Transpose", {x}, out, kToBack);
}

std::vector<OnnxAttribute> window_attributes(const Window& w) {
  using Numbers = std::vector<std::int64_t>;
  return {{"kernel_shape", Numbers{w.y.kernel, w.x.kernel}},
          {"strides", Numbers{w.y.stride, w.x.stride}},
          {"pads", Numbers{w.y.before, w.x.before, w.y.after(), w.x.after()}}};
}

void require_exact_sums(const Operands& operands, std::int64_t count, std::int64_t most) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  if (count <= kExact / most) return;
  throw InvalidArgument(
      fmt::format("to_onnx: {} '{}': expected sums of at most {}, up to which ONNX's floats are "
                  "exact, found {} terms of up to {}; use style standard",
                  to_string(operands.op.code), operands.output().name, kExact, count, most));
}

}  // namespace octet::detail
