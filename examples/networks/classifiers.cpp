#include <fmt/core.h>

#include <algorithm>

#include "networks.h"

namespace octet::networks {

const std::vector<Classifier>& classifiers() {
  static const std::vector<Classifier> all = {
      {"lenet5", [](const Shape& image, Index classes) -> Model { return lenet5(image, classes); },
       2e-3F},
      {"dscnn", dscnn, 1e-3F, 1e-3F},
      {"resnet8", resnet8, 4e-3F, 2e-3F, true},
      {"mobilenet", [](const Shape& image, Index classes) { return mobilenet_v1(image, classes); }},
  };
  return all;
}

const Classifier& classifier(std::string_view name) {
  const auto found = std::ranges::find(classifiers(), name, &Classifier::name);
  if (found != classifiers().end()) return *found;
  std::string names;
  for (const Classifier& one : classifiers()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw InvalidArgument(fmt::format("network: expected one of {}, found \"{}\"", names, name));
}

}  // namespace octet::networks
