#include <fmt/core.h>
#include <octet/deploy/c/equal_layers.h>

#include <map>
#include <string>

namespace octet::detail {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// The constants without the number of their layer.
std::string unnumbered(std::string constants, const std::string& layer) {
  replace_all(constants, layer + "_", "@_");
  return constants;
}

/// A function without its name and the comment in front of it, which names the layer. The names of
/// the constants stay: they are part of what it computes.
std::string unnamed(const std::string& function, const std::string& layer) {
  std::string text =
      function.starts_with("/*") ? function.substr(function.find('\n') + 1) : function;
  replace_all(text, layer + "(", "@(");
  return text;
}

}  // namespace

void share_equal_layers(CPlan& plan, std::vector<CLayer>& layers) {
  std::map<std::string, std::string> constants;
  std::map<std::string, std::string> functions;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CLayer& layer = layers[i];
    const std::string name = plan.steps[i].function;
    if (!layer.constants.empty()) {
      const auto [first, is_new] = constants.try_emplace(unnumbered(layer.constants, name), name);
      if (!is_new) {
        layer.constants.clear();
        layer.flash_bytes = 0;
        layer.weight_bytes = layer.weight_count = 0;
        replace_all(layer.function, name + "_", first->second + "_");
      }
    }
    const auto [first, is_new] = functions.try_emplace(unnamed(layer.function, name), name);
    if (is_new || layer.function.empty()) continue;
    layer.function.clear();
    plan.steps[i].function = first->second;
  }
}

}  // namespace octet::detail
