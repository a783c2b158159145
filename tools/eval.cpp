#include <fmt/format.h>
#include <octet/application/data.h>
#include <octet/core/clock.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/printable.h>
#include <octet/train/evaluate.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "npz_data.h"
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

/// What each output comes to: the accuracy where its targets are labels, else the mean absolute
/// error.
nlohmann::ordered_json scores_of(Interpreter& interpreter, const Dataset& data) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const OutputEvaluation& result : evaluate_outputs(interpreter, data)) {
    nlohmann::ordered_json output{{"name", interpreter.get_output_details()[outputs.size()].name}};
    if (result.classes) {
      output["correct"] = std::llround(result.score() * static_cast<double>(data.size()));
      output["accuracy"] = result.score();
    } else {
      output["mean_absolute_error"] = result.score();
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Scores every output on the arrays of an .npz file.
void eval_npz(const EvalOptions& options, Interpreter& interpreter) {
  Dataset data = read_npz_split(options.data, options.data_options, interpreter.model()).test;
  if (options.limit > 0) data = data.head(options.limit);
  resize_for(interpreter, data.size());
  const double start = detail::clock_seconds();
  const nlohmann::ordered_json outputs = scores_of(interpreter, data);
  const double seconds = detail::clock_seconds() - start;
  if (options.json) {
    show_json({{"file", options.model.file},
               {"data", data.name()},
               {"samples", data.size()},
               {"outputs", outputs},
               {"rounding", to_string(interpreter.rounding())},
               {"threads", num_threads()},
               {"seconds", seconds}});
    return;
  }
  for (const nlohmann::ordered_json& output : outputs) {
    const std::string name = printable(output.at("name").get<std::string>(), kMostOfName);
    if (output.contains("accuracy")) {
      show("{}: accuracy {:.2f} % ({} of {})\n", name, 100 * output.at("accuracy").get<double>(),
           output.at("correct").get<std::int64_t>(), data.size());
    } else {
      show("{}: mean absolute error {:.6g}\n", name,
           output.at("mean_absolute_error").get<double>());
    }
  }
  show("{} samples, rounding {}, {:.3f} s\n", data.size(), to_string(interpreter.rounding()),
       seconds);
}

}  // namespace

void eval(const EvalOptions& options) {
  Interpreter interpreter = options.model.open(1);
  if (is_npz(options.data)) {
    eval_npz(options, interpreter);
    return;
  }
  const IntegerModel& model = interpreter.model();
  Dataset images = application::normalized_for(
      model, application::load_test(options.data, application::options_for(model, options.data,
                                                                           options.data_options)));
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
