#include <octet/core/printable.h>
#include <octet/import/onnx/graph.h>

namespace octet::detail::onnx_import {
namespace {

/// The attribute `key` as a T; null where there is none.
template <class T>
const T* find(const Node& node, std::string_view key, std::string_view type) {
  const auto found = node.attributes.find(key);
  if (found == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) fail_format("expected attribute \"{}\" to be {}", key, type);
  return value;
}

}  // namespace

const std::vector<float>& Constant::floats() const {
  if (!is_float()) refuse("expected a constant of floats, found integers");
  return std::get<0>(data);
}

const std::vector<std::int64_t>& Constant::integers() const {
  if (is_float()) refuse("expected a constant of integers, found floats");
  return std::get<1>(data);
}

float Constant::real() const {
  if (floats().size() != 1) refuse("expected one number, found {}", floats().size());
  return floats().front();
}

std::int64_t Node::integer(std::string_view key, std::int64_t otherwise) const {
  const auto* value = find<std::int64_t>(*this, key, "an integer");
  return value == nullptr ? otherwise : *value;
}

float Node::real(std::string_view key, float otherwise) const {
  const auto* value = find<float>(*this, key, "a float");
  return value == nullptr ? otherwise : *value;
}

std::string Node::text(std::string_view key, const std::string& otherwise) const {
  const auto* value = find<std::string>(*this, key, "a string");
  return value == nullptr ? otherwise : *value;
}

std::vector<std::int64_t> Node::integers(std::string_view key) const {
  const auto* value = find<std::vector<std::int64_t>>(*this, key, "a list of integers");
  return value == nullptr ? std::vector<std::int64_t>{} : *value;
}

const Constant* Graph::constant(const std::string& value) const {
  const auto found = constants.find(value);
  return found == constants.end() ? nullptr : found->second.get();
}

bool Graph::define(const std::string& value, Constant constant) {
  return constants.emplace(value, std::make_shared<const Constant>(std::move(constant))).second;
}

std::string Graph::new_name(std::string wanted) {
  while (!names.insert(wanted).second) wanted += '\'';
  return wanted;
}

std::string Graph::add(std::string wanted, Constant constant) {
  std::string given = new_name(std::move(wanted));
  define(given, std::move(constant));
  return given;
}

void Graph::spend(std::size_t elements) {
  if (elements > budget) {
    fail_format("its weights are shared, or computed, and add up to much more than the file");
  }
  budget -= elements;
}

void Graph::fill(std::size_t elements) {
  if (elements > filled_budget) {
    fail_format("ConstantOfShape and zeros in kernels are more than the {} elements left for them",
                filled_budget);
  }
  filled_budget -= elements;
  // To be put in another order, and to be given to a layer.
  budget += 3 * elements;
}

void require_rank(const Shape& shape) {
  if (shape.rank() > kMostRank) {
    refuse("expected at most {} axes, found {}", kMostRank, shape.rank());
  }
}

std::string describe(const Node& node) {
  return fmt::format("node \"{}\" ({})", printable(node.name), printable(node.op));
}

std::optional<std::vector<std::int64_t>> axes_of(const Node& node, std::size_t i,
                                                 const Constant* input) {
  if (node.has(i)) {
    if (input == nullptr) refuse("expected constant axes, found computed ones");
    return input->integers();
  }
  if (!node.attributes.contains("axes")) return std::nullopt;
  return node.integers("axes");
}

}  // namespace octet::detail::onnx_import
