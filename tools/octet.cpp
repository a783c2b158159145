// The `octet` command line tool. Exit codes: 0 done, 1 failed (verify: or the models
// differ), 2 wrong usage.

#include <octet/application/option_list.h>
#include <octet/command_line/message.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/train/run/file_size_signal.h>
#include <octet/train/run/resume_command.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "command_list.h"
#include "commands.h"
#include "pages.h"
#include "show.h"

namespace {

using namespace octet::tools;
using namespace octet::command_line;

/// Adds a command that trains or quantizes, which sets `exit_code`.
std::shared_ptr<octet::application::Options> add_training(
    CLI::App& command, int argc, char** argv, int& exit_code,
    void (*add_options)(CLI::App&, octet::application::Options&)) {
  auto options = std::make_shared<octet::application::Options>();
  options->command = octet::shell_command(argc, argv);
  options->takes_network_files = true;
  command
      .add_option("FILE", options->file,
                  "A float model: .onnx, .tflite, a file of Model::save(), or a checkpoint")
      ->check(named());
  add_options(command, *options);
  octet::application::add_task_options(command, *options);
  command.get_option("--data")->required()->description(
      "Examples, whose format is told by names: a folder of IDX files (MNIST, Fashion-MNIST, ...), "
      "of CIFAR-10, of .npy arrays, or of images, .wav or .csv files by class; "
      "a .csv, .tsv or .ts file; or an .npz file of arrays x and y, or with an array for each "
      "input and, "
      "as "
      "targets, for each output of FILE, by their names in the files that are written");
  command.get_option("--out")->required()->default_str("");
  command.callback([&command, &exit_code, options, argc, argv] {
    complete(command, *options);
    if (!options->only_quantizes && !options->no_report && options->report.empty()) {
      options->report = options->out / "report.html";
    }
    exit_code = train(*options, argc, argv);
  });
  return options;
}

void add_train(CLI::App& app, int argc, char** argv, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "train",
      "Trains a network in float, or a model further, continues with quantization in the loop, and "
      "writes model_int8.tflite, .onnx, .h and .c, accuracy, history and a report to --out.");
  const auto options =
      add_training(*command, argc, argv, exit_code, octet::application::add_training_options);
  CLI::Option* report = command->get_option("--report");
  report->default_str("report.html in --out");
  command->option_defaults()->group("Files");
  command
      ->add_flag("--no-report", options->no_report,
                 "Writes no report, which scores the network once more for each of its layers")
      ->disable_flag_override()
      ->excludes(report);
  CLI::Option* file = command->get_option("FILE");
  file->description(file->get_description() +
                    "; or a .json file that describes layers, whose weights --seed draws");
  file->excludes(command->get_option("--network"));
  command->option_defaults()->group("Network");
  CLI::Option* finetune =
      command
          ->add_option_function<std::string>(
              "--finetune",
              [options](const std::string& name) {
                options->file = name;
                options->fine_tunes = true;
              },
              "A trained float model whose last layer is replaced by one for the classes of --data")
          ->check(named())
          ->type_name("FILE")
          ->excludes(file)
          ->excludes(command->get_option("--network"));
  constexpr Count kClasses{1, 65536};
  add_number(*command, "--classes", options->classes, kClasses,
             "Units of the new last layer; default: the classes of --data")
      ->needs(finetune);
  command
      ->add_option(
          "--freeze", options->frozen,
          "Layers of FILE that are not trained; NAME* stands for all whose names begin so but "
          "for the new one")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
}

void add_quantize(CLI::App& app, int argc, char** argv, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "quantize",
      "Quantizes a float model, by calibration or by training with quantization in the loop, and "
      "writes model_int8.tflite, .onnx, .h and .c, accuracy and history to --out.");
  add_training(*command, argc, argv, exit_code, octet::application::add_quantization_options);
  command->get_option("FILE")->required();
}

/// Says what is wrong with the command line; the exit code.
int refuse(const CLI::App& app, const std::exception& error) {
  const auto chosen = app.got_subcommand("help") ? std::vector<CLI::App*>() : app.get_subcommands();
  show_error("octet: {} (see octet {}--help)\n", one_line(error.what()),
             chosen.empty() ? "" : chosen.front()->get_name() + " ");
  return kUsageExit;
}

struct HelpOptions {
  std::string command;
  bool man = false;
  bool bash = false;
  bool zsh = false;
};

void help(CLI::App& app, const HelpOptions& options) {
  if (options.bash) return show("{}", bash_completion(app));
  if (options.zsh) return show("{}", zsh_completion(app));
  if (options.man) return show("{}", man_page(app, options.command));
  // app.help() would be that of the command help itself.
  show("{}", options.command.empty()
                 ? app.get_formatter()->make_help(&app, "octet", CLI::AppFormatMode::Normal)
                 : command_named(app, options.command).help("octet"));
}

void add_help(CLI::App& app) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* command = app.add_subcommand("help", "Prints what a command takes.");
  command->add_option("COMMAND", options->command, "Its name; none: what commands there are");
  CLI::Option* man = command->add_flag("--man", options->man, "Prints a manual page, for man -l -");
  CLI::Option* bash =
      command->add_flag("--bash", options->bash, "Prints a script that completes commands in bash");
  CLI::Option* zsh =
      command->add_flag("--zsh", options->zsh, "Prints a script that completes commands in zsh");
  man->excludes(bash)->excludes(zsh);
  bash->excludes(zsh);
  command->callback([&app, options] { help(app, *options); });
}

/// Parses and runs; the exit code.
int run_tool(int argc, char** argv) {
  octet::detail::ignore_file_size_signal();
  CLI::App app("Trains and quantizes models, looks into, runs, scores and compares them.", "octet");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  app.require_subcommand(0, 1);
  add_inspect(app);
  add_run(app);
  add_eval(app);
  int exit_code = 0;
  add_predict(app, exit_code);
  add_export(app);
  add_import(app);
  add_search(app);
  add_report(app);
  add_compare(app);
  add_verify(app, exit_code);
  add_train(app, argc, argv, exit_code);
  add_quantize(app, argc, argv, exit_code);
  add_help(app);
  try {
    parse(app, argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A command");
    flush_output();
    return exit_code;
  } catch (const CLI::Success& request) {
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  } catch (const UsageError& error) {
    return refuse(app, error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("octet: out of memory\n", stderr);
  } catch (const std::exception& error) {
    show_error("octet: {}\n", one_line(error.what()));
  }
  return 1;
}
