#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/onnx/images.h>

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

Filters in_order(const ModelTensor& t, const std::array<std::size_t, 4>& order) {
  std::array<std::size_t, 4> strides{};
  std::size_t stride = t.data.size() / static_cast<std::size_t>(t.size());
  const std::size_t bytes = stride;
  for (std::size_t axis = 4; axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(t.shape[axis]);
  }
  Filters filters;
  filters.data.reserve(t.data.size());
  for (const std::size_t axis : order) filters.shape.push_back(t.shape[axis]);
  const auto extent = [&](std::size_t k) { return static_cast<std::size_t>(filters.shape[k]); };
  for (std::size_t u = 0; u < extent(0); ++u) {
    for (std::size_t c = 0; c < extent(1); ++c) {
      for (std::size_t y = 0; y < extent(2); ++y) {
        for (std::size_t x = 0; x < extent(3); ++x) {
          const auto from = t.data.begin() + static_cast<std::ptrdiff_t>(
                                                 u * strides[order[0]] + c * strides[order[1]] +
                                                 y * strides[order[2]] + x * strides[order[3]]);
          filters.data.insert(filters.data.end(), from, from + static_cast<std::ptrdiff_t>(bytes));
        }
      }
    }
  }
  return filters;
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
