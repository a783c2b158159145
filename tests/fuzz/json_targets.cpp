#include <octet/core/error.h>
#include <octet/deploy/example_metadata.h>
#include <octet/train/data/augmentation.h>
#include <octet/train/data/data_description.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "draw_bytes.h"
#include "targets.h"

namespace octet::fuzz {
namespace {

/// A model with three classes of six values, whose metadata has one entry.
IntegerModel model_with(const char* key, const std::string& text) {
  IntegerModel model;
  ModelTensor input;
  input.shape = {1, 2, 3};
  ModelTensor output;
  output.shape = {1, 3};
  model.tensors = {input, output};
  model.inputs = {0};
  model.outputs = {1};
  model.metadata[key] = text;
  return model;
}

/// What is read is what its text is read as.
void read_metadata(const char* key, const std::string& text) {
  const IntegerModel model = model_with(key, text);
  const std::vector<std::string> classes = class_names_of(model);
  require(classes.empty() || classes.size() == 3, "every class has a name");
  const std::vector<std::string> normal = normal_classes_of(model);
  require(normal_classes_of(model_with(kNormalClassesKey, metadata_text(normal))) == normal,
          "names of classes are read again");
  const Normalization normalization = normalization_of(model, {2, 3});
  require(std::ranges::all_of(normalization.deviation, [](float one) { return one > 0.0F; }),
          "values can be divided by deviations");
  require(normalization_of(model_with(kNormalizationKey, metadata_text(normalization))) ==
              normalization,
          "a normalization is read again");
  const std::optional<float> threshold = anomaly_threshold_of(model);
  require(!threshold || (*threshold >= 0.0F && std::isfinite(*threshold)), "a threshold divides");
  static_cast<void>(reconstructs(model));
}

void read_description(const std::string& text) {
  const DataDescription description = parse_data_description(text);
  const std::string again = to_text(description);
  require(to_text(parse_data_description(again)) == again, "a description is read again");
  require(example_shape_of(model_with(kDataKey, text)).size() == 6, "examples fill the input");
}

}  // namespace

void augmentation(Data input) {
  try {
    const Augmentation found = parse_augmentation(text_of(input));
    require(parse_augmentation(to_text(found)) == found, "an augmentation is read again");
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    // Another name, or a number outside its range.
    return;
  }
}

void example_metadata(Data input) {
  static constexpr std::array kKeys = {kTaskKey, kNormalClassesKey, kAnomalyThresholdKey,
                                       kClassesKey, kNormalizationKey};
  DrawBytes draw(input);
  const auto choice = static_cast<std::size_t>(draw.between(0, static_cast<int>(kKeys.size())));
  try {
    if (choice == kKeys.size()) {
      read_description(std::string(text_of(draw.rest())));
    } else {
      read_metadata(kKeys[choice], std::string(text_of(draw.rest())));
    }
  } catch (const FormatError&) {
    return;
  }
}

}  // namespace octet::fuzz
