#include <fmt/format.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/train/data/idx.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "show.h"

namespace octet::tools {
namespace {

void check_sizes(const Interpreter& interpreter, const Dataset& images) {
  const ModelTensor& input =
      interpreter.model().tensors[static_cast<std::size_t>(interpreter.model().inputs[0])];
  if (input.size() != images.example_shape().size()) {
    throw InvalidArgument(fmt::format("eval: the model takes samples [{}], the images are {}",
                                      fmt::join(input.shape, ", "),
                                      images.example_shape().to_string()));
  }
  if (images.empty()) throw InvalidArgument("eval: the data set has no test images");
}

}  // namespace

void eval(const EvalOptions& options) {
  Interpreter interpreter = options.model.open(1);
  Dataset images = load_idx_test(options.data);
  if (options.limit > 0) images = images.head(options.limit);
  check_sizes(interpreter, images);
  resize_for(interpreter, images.size());

  const double start = detail::clock_seconds();
  const double accuracy = evaluate(interpreter, images).accuracy;
  const double seconds = detail::clock_seconds() - start;
  const auto correct = std::llround(accuracy * static_cast<double>(images.size()));
  if (options.json) {
    const nlohmann::ordered_json json{
        {"file", options.model.file}, {"data", images.name()},
        {"images", images.size()},    {"correct", correct},
        {"accuracy", accuracy},       {"rounding", to_string(interpreter.rounding())},
        {"threads", num_threads()},   {"seconds", seconds}};
    show_json(json);
    return;
  }
  show("accuracy {:.2f} % ({} of {} images), rounding {}, {:.3f} s\n", 100 * accuracy, correct,
       images.size(), to_string(interpreter.rounding()), seconds);
}

}  // namespace octet::tools
