#include <fmt/core.h>

#include "networks.h"

namespace octet::networks {

const std::vector<Classifier>& classifiers() {
  static const std::vector<Classifier> all = {
      {"lenet5",
       [](const Shape& image, Index outputs, Activation end) -> Model {
         return lenet5(image, outputs, end);
       },
       2e-3F},
      {"dscnn", dscnn, 1e-3F, 1e-3F},
      {"resnet8", resnet8, 4e-3F, 2e-3F, true},
      {"mobilenet", [](const Shape& image, Index outputs,
                       Activation end) { return mobilenet_v1(image, outputs, end); }},
  };
  return all;
}

const std::vector<Classifier>& sequence_classifiers() {
  static const std::vector<Classifier> all = {
      {"gru", gru, 3e-3F, 1e-3F, true},
      {kMaskedGru, masked_gru, 3e-3F, 1e-3F, true},
      {"tcn", tcn, 3e-3F, 1e-3F, true},
      {"attention", attention, 2e-3F, 5e-4F, true},
  };
  return all;
}

const Classifier& classifier(std::string_view name) {
  std::string names;
  for (const auto* list : {&classifiers(), &sequence_classifiers()}) {
    for (const Classifier& one : *list) {
      if (one.name == name) return one;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
  }
  throw InvalidArgument(fmt::format("network: expected one of {}, found \"{}\"", names, name));
}

}  // namespace octet::networks
