// The commands that read models: their options.

#include <fmt/core.h>
#include <octet/application/option_list.h>
#include <octet/command_line/numbers.h>
#include <octet/core/quant/target.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "command_list.h"
#include "commands.h"

namespace octet::tools {

using namespace command_line;

CLI::Validator named() {
  return {[](const std::string& text) -> std::string {
            return text.empty() ? "expected a name, found an empty one" : "";
          },
          ""};
}

namespace {

constexpr Count kImages{1, 1000000000};
constexpr Count kBytes{1, std::numeric_limits<std::int64_t>::max()};
constexpr Real kPercent{0.0, 100.0};

/// Adds the two options that choose a contract, `suffix` behind their names.
void add_contract(CLI::App& command, ContractOptions& contract, const std::string& suffix,
                  const std::string& help) {
  contract.suffix = suffix;
  command.add_option("--rounding" + suffix, contract.rounding, help)
      ->check(one_of({"fp32", "single", "double", "q15"}));
  std::vector<std::string> names;
  names.reserve(std::size(kTargets));
  for (const Target target : kTargets) names.emplace_back(to_string(target));
  command
      .add_option("--target" + suffix, contract.target,
                  "The runtime whose rounding is used, instead of a rounding mode")
      ->check(one_of(names));
}

void add_threads(CLI::App& command, int& threads) {
  add_number(command, "--threads", threads, kThreads, "Threads; default: what the machine has");
}

/// Adds the option that says where results go.
void add_out(CLI::App& command, std::string& out, const std::string& help) {
  command.add_option("--out,--output", out, help)->required()->check(named());
}

void add_model(CLI::App& command, InterpretOptions& model) {
  command.add_option("FILE", model.file, "A .tflite file")->required()->check(named());
  add_contract(command, model.contract, "", "Rounding mode; default: what the model says");
  add_threads(command, model.threads);
}

void add_cut(CLI::App& command, std::vector<std::string>& from, std::vector<std::string>& to) {
  command
      .add_option("--from", from,
                  "A value of the file to begin at, which becomes an input; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--to", to,
                  "A value of the file to end at, which becomes an output; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace

void add_inspect(CLI::App& app) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect",
                                         "Prints what a model consists of, and marks what Octet "
                                         "does not support: the exit code is then "
                                         "1.");
  command->add_option("FILE", options->file, "A .tflite or .onnx file")->required()->check(named());
  command->add_flag("--json", options->json, "Prints JSON");
  command->callback([options] { inspect(*options); });
}

void add_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Runs samples of raw numbers through a model.");
  add_model(*command, options->model);
  command
      ->add_option("--input", options->input,
                   "Samples end to end, in the input's own type; of several inputs, a sample is "
                   "what each takes, one behind the other, as inspect lists them")
      ->required()
      ->check(named());
  add_out(*command, options->out,
          "The file for the outputs, end to end; of several outputs, a sample is what each gives, "
          "one behind the other");
  add_number(*command, "--samples", options->samples, kImages,
             "How many samples the input holds; default: by its size");
  command->callback([options] { run(*options); });
}

void add_eval(CLI::App& app) {
  const auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval",
                                         "Measures the accuracy of a model on the test examples of "
                                         "data or the arrays of an .npz file.");
  add_model(*command, options->model);
  application::add_data(
      *command, options->data, options->data_options,
      "What octet train takes, whose test examples are used, or an .npz file with an array for "
      "each "
      "input and, as targets, for each output of the model, named as inspect names them")
      ->required();
  add_number(*command, "--limit", options->limit, kImages, "Only the first N examples");
  command
      ->add_option("--metrics", options->metrics,
                   "Further numbers: top_K, precision, recall, f1, iou, dice (means over classes), "
                   "roc_auc, confusion; of targets that are numbers mean_absolute_error, r2")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
  command->add_flag("--json", options->json, "Prints JSON");
  command->callback([options] { eval(*options); });
}

void add_predict(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand(
      "predict",
      "Prints the classes that a model says of pictures, sounds and records, or its numbers. Files "
      "become what the model was trained on: resized, turned into features, normalized.");
  command->add_option("MODEL", options->model.file, "A .tflite file of octet train or quantize")
      ->required()
      ->check(named());
  command
      ->add_option(
          "FILES", options->files,
          "Pictures (.jpg, .png, .bmp), sounds (.wav), records or windows of them (.csv, .tsv), "
          "series (.ts), arrays (.npy, .npz, IDX)")
      ->required()
      ->check(named());
  add_contract(*command, options->model.contract, "",
               "Rounding mode; default: what the model says");
  add_threads(*command, options->model.threads);
  constexpr Count kTop{1, 1000};
  add_number(*command, "--top", options->top, kTop, "Classes that are shown, the likeliest first")
      ->default_str("3");
  command->add_flag("--json", options->json, "Prints JSON, with every class");
  command->callback([options, &exit_code] { exit_code = predict(*options); });
}

void add_export(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Writes a model in another format.");
  command->add_option("FILE", options->file, "A .tflite file")->required()->check(named());
  add_cut(*command, options->from, options->to);
  CLI::Option_group* targets = command->add_option_group("formats");
  targets->require_option(1, 0);
  CLI::Option* onnx =
      targets->add_option("--onnx", options->onnx, "The ONNX file to write (QDQ)")->check(named());
  CLI::Option* c =
      targets->add_option("--c", options->c, "The C source to write, without .h and .c: DIR/NAME")
          ->check(named());
  targets
      ->add_option("--tflm", options->tflm,
                   "A .tflite file whose weights TensorFlow Lite Micro decodes (TFLM_DECODE)")
      ->check(named());
  targets->add_option("--tflite", options->tflite, "A .tflite file")->check(named());
  command->add_flag("--variables", options->variables,
                    "States of FILE become resource variables of the .tflite file, which runtimes "
                    "keep from call to call");
  add_contract(*command, options->contract, "",
               "Rounding mode of a FILE that names none; default: fp32, of int16 q15");
  CLI::Option* prune =
      command->add_flag("--prune-constant", options->prune_constant,
                        "Drops units that no output depends on; default: in C source alone");
  command->add_flag("--no-prune-constant", options->no_prune_constant, "Drops none in C source")
      ->excludes(prune);
  command
      ->add_option("--c-code", options->c_code,
                   "Code of the C source that is fast (default), or small and with smaller buffers")
      ->check(one_of({"fast", "small"}))
      ->needs(c);
  command
      ->add_flag("--c-input-in-arena", options->c_input_in_arena,
                 "The static buffers of the C source have a place for the input too, which is used "
                 "again once it is read")
      ->needs(c);
  command
      ->add_option(
          "--ram", options->ram,
          "Most bytes of RAM of the C source, with input and output: where it takes more, "
          "the input lies in the static buffers, the code is small, or both, and then layers "
          "run by rows")
      ->check(CLI::PositiveNumber)
      ->needs(c);
  command
      ->add_option(
          "--style", options->style,
          "exact (default): equal values in any runtime; standard: every scale at its tensor")
      ->check(one_of({"exact", "standard"}))
      ->needs(onnx);
  command
      ->add_flag("--int8-io", options->int8_io,
                 "Inputs and outputs of the types of FILE, not float32")
      ->needs(onnx);
  command
      ->add_option("--codes", options->codes,
                   "A quantized tensor that becomes a further output; may be repeated")
      ->allow_extra_args(false)
      ->needs(onnx);
  command->callback([options] { export_model(*options); });
}

void add_import(CLI::App& app) {
  const auto options = std::make_shared<ImportCommand>();
  CLI::App* command =
      app.add_subcommand("import", "Converts an .onnx or a .tflite file to a float model.");
  command->add_option("FILE", options->file, "An .onnx or .tflite file")
      ->required()
      ->check(named());
  add_out(*command, options->out, "The file to write, as Model::save() does");
  command
      ->add_option("--shape", options->shapes,
                   "NAME=1,16000: the extents of an input, its batch in front, where an .onnx file "
                   "leaves some open; may be repeated")
      ->allow_extra_args(false);
  add_cut(*command, options->from, options->to);
  command
      ->add_option("--layout", options->layout,
                   "The order of the axes of an .onnx file's inputs, images or sequences: nchw, or "
                   "nhwc; default: what the operators that read them tell")
      ->check(one_of({"nchw", "nhwc"}));
  command->callback([options] { import_model(*options); });
}

void add_search(CLI::App& app) {
  const auto options = std::make_shared<SearchOptions>();
  CLI::App* command = app.add_subcommand(
      "search",
      "Finds the bits of every layer's weights, 2 to 8, for a budget of flash. Accuracy and loss "
      "are those of the integers before any training with quantization.");
  command
      ->add_option("FILE", options->file,
                   "A float model: a file of Model::save(), or a checkpoint of its training")
      ->required()
      ->check(named());
  application::add_data(
      *command, options->data, options->data_options,
      "What octet train takes, whose training examples are used, or an .npz file with an array for "
      "each input and, as targets, for each output of FILE")
      ->required();
  application::add_loss_options(*command, options->losses);
  CLI::Option_group* goals = command->add_option_group("goal");
  goals->require_option(1);
  add_number(*goals, "--flash", options->flash, kBytes,
             "The most bytes of weights, biases and multipliers");
  add_number(*goals, "--max-drop", options->max_drop, kPercent,
             "The fewest bytes that lose at most so many percentage points of accuracy");
  add_number(*command, "--samples", options->samples, kImages,
             "The first N training examples; default: 2000");
  add_contract(*command, options->contract, "", "Rounding mode; default: fp32");
  add_threads(*command, options->threads);
  command->add_option("--csv", options->csv, "A CSV file for bytes against accuracy")
      ->check(named());
  command->add_option("--svg", options->svg, "The same as a picture")->check(named());
  command->add_flag("--json", options->json, "Prints JSON");
  command->callback([options] { search(*options); });
}

void add_report(CLI::App& app) {
  const auto options = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report", "Writes an HTML report about a finished run: accuracies, layers, what to do.");
  command->add_option("FOLDER", options->folder, "The --out of the run")
      ->required()
      ->check(named());
  application::add_data(*command, options->data, options->data_options, "What the run was given")
      ->required();
  add_out(*command, options->out, "The HTML file to write");
  application::add_class_names(*command, options->class_names);
  add_threads(*command, options->threads);
  command->callback([options] { report(*options); });
}

void add_compare(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "Puts finished runs side by side: accuracies, bytes, and the options in which they differ.");
  command->add_option("FOLDERS", options->folders, "The --out of each run")
      ->required()
      ->check(named());
  command->add_flag("--json", options->json, "Prints JSON");
  command->callback([options] { compare(*options); });
}

void add_verify(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify",
      "Counts the outputs in which two models differ: exit code 0 if none does, 1 "
      "else. Each is a .tflite file, a checkpoint or the .c file of an export. A .c file is "
      "compiled and run as you: give it none that you would not run.");
  for (const auto& [i, letter, small] : {std::tuple(0U, "A", "a"), std::tuple(1U, "B", "b")}) {
    command->add_option(letter, options->files[i], "A model")->required()->check(named());
    add_contract(
        *command, options->contracts[i], fmt::format("-{}", small),
        fmt::format("Rounding mode of {}, for a .tflite file; default: what it says", letter));
  }
  auto* data = application::add_data(
      *command, options->data, options->data_options,
      "What octet train takes: the features of its test examples are the samples");
  add_number(*command, "--random", options->random, Count{1, 1000000},
             fmt::format("N samples of random values; the default, with N = {}", kDefaultSamples))
      ->excludes(data);
  command->add_flag("--layers", options->layers, "Compares every layer, not the outputs alone");
  add_threads(*command, options->threads);
  command->add_flag("--json", options->json, "Prints JSON");
  command->callback([options, &exit_code] {
    if (!verify(*options)) exit_code = 1;
  });
}

}  // namespace octet::tools
