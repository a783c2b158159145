#include <octet/application/network.h>
#include <octet/application/run.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/train/data/idx.h>
#include <octet/train/qat_recipe.h>

#include <optional>

#include "commands.h"
#include "float_model.h"

namespace octet::tools {

int train(application::Options options, int argc, char** argv) {
  std::optional<Model> given;
  const application::Program program{
      .name = "octet",
      .stem = "model",
      .writes_onnx = true,
      .load_data = [](const application::Options& o) { return load_idx(o.data); },
      .make_model =
          [&given](const application::Options& o, const Dataset& data) {
            return given ? *given : application::make_network(o, data, "model");
          }};
  return application::run(program, argc, argv, [&] {
    if (!options.file.empty()) given = read_float_model(options.file);
    // Scales that no step moves stay measured.
    if (given && options.qat_epochs > 0) {
      take_recipe(qat_recipe(*given, options.quantize), options);
    }
    return application::ParsedOptions{options};
  });
}

}  // namespace octet::tools
