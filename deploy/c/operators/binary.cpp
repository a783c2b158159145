#include <octet/deploy/c/operators/binary.h>
#include <octet/runtime/operators/binary.h>

namespace octet::detail {
namespace {

/// The index of an operand's element: "i0 * 8 + i1".
std::string index_text(const std::vector<BinaryAxis>& axes, std::size_t side,
                       const std::vector<std::string>& counters) {
  std::string text;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t step = axes[k].steps[side];
    if (step == 0) continue;
    if (!text.empty()) text += " + ";
    text += step == 1 ? counters[k] : fmt::format("{} * {}", counters[k], step);
  }
  return text.empty() ? "0" : text;
}

}  // namespace

std::string binary_loops(const Operands& operands, std::string_view body, Fillings fillings) {
  const std::vector<BinaryAxis> axes = binary_axes(operands);
  std::vector<std::string> counters;
  std::string place;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    counters.push_back(axes.size() == 1 ? "i" : fmt::format("i{}", k));
    place =
        k == 0 ? counters[k] : fmt::format("({}) * {} + {}", place, axes[k].extent, counters[k]);
  }
  fillings["first"] = index_text(axes, 0, counters);
  fillings["second"] = index_text(axes, 1, counters);
  fillings["place"] = place;
  std::string text = indented(fill(body, fillings), axes.size() + 1);
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::string head =
        fmt::format("for (int32_t {0} = 0; {0} < {1}; ++{0}) {{\n", counters[k], axes[k].extent);
    text.insert(0, indented(head, k + 1)).append(indented("}\n", k + 1));
  }
  return text;
}

std::string binary_detail(const CStep& step) {
  const FusedActivation activation = step.source.op.activation();
  std::string detail = fmt::format("{} codes", step.source.output().size());
  if (activation != FusedActivation::none) detail += fmt::format(", {}", to_string(activation));
  return detail;
}

}  // namespace octet::detail
