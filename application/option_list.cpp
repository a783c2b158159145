#include "option_list.h"

#include <fmt/format.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>
#include <octet/core/error.h>
#include <octet/core/quant/target.h>
#include <octet/examples/networks/networks.h>
#include <octet/layers/quantize/backward.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "augment_option.h"
#include "data.h"

namespace octet::application {
namespace {

using command_line::Count;
using command_line::Real;

constexpr Count kEpochs{0, 100000};
constexpr Count kBatch{1, 1U << 20U};
constexpr Count kUnits{1, 65536};
constexpr Count kBytes{1, std::numeric_limits<std::int64_t>::max()};

const CLI::Validator kFolder(
    [](const std::string& text) {
      return text.empty() ? "expected a folder, found an empty name" : "";
    },
    "");
const CLI::Validator kFile(
    [](const std::string& text) {
      return text.empty() ? "expected a file, found an empty name" : "";
    },
    "");

/// Adds options of one kind each, to the group that was begun last.
struct Adder {
  CLI::App& app;

  void group(const char* name) const { app.option_defaults()->group(name); }
  void folder(const char* name, auto& value, const char* help, bool shows_default = false) const {
    auto* option = app.add_option(name, value, help)->check(kFolder)->type_name("DIR");
    if (shows_default) option->capture_default_str();
  }
  void number(const char* name, auto& value, const auto& range, const char* help) const {
    command_line::add_number(app, name, value, range, help)->default_str(fmt::format("{}", value));
  }
  void choice(const char* name, const std::vector<std::string>& choices, const char* chosen,
              const char* help, const std::function<void(const std::string&)>& take) const {
    app.add_option_function<std::string>(name, take, help)
        ->check(command_line::one_of(choices))
        ->default_str(chosen);
  }
  void flag(const char* name, bool& value, const char* help) const {
    app.add_flag(name, value, help)->disable_flag_override();
  }
};

/// Whether a word names a file and no network: it has an ending or a folder.
bool names_file(const std::string& word) { return word.find_first_of("./") != std::string::npos; }

void add_files(const Adder& add, Options& o) {
  add_data(
      add.app, o.data, o.data_options,
      "Examples, whose format is told by names: a folder of IDX files (MNIST, Fashion-MNIST, ...), "
      "of CIFAR-10, of .npy arrays, or of images, .wav or .csv files by class; a .csv or .ts file");
  add.group("Files");
  add.folder("--out,--output", o.out, "Folder for models, history and metrics", true);
  add.folder("--checkpoint-dir", o.checkpoint_dir, "Default: checkpoints in --out");
  add.flag("--resume", o.resume, "Go on from the last checkpoint");
  add.app
      .add_option("--report", o.report,
                  "Writes an HTML report about the run: accuracies, layers, what to do")
      ->check(kFile)
      ->type_name("FILE");
  add_class_names(add.app, o.class_names);
}

void add_network(const Adder& add, Options& o) {
  add.group("Network");
  std::vector<std::string> names{std::string(kMlp)};
  for (const auto* list : {&networks::classifiers(), &networks::sequence_classifiers()}) {
    for (const networks::Classifier& one : *list) names.emplace_back(one.name);
  }
  const CLI::Validator is_name = command_line::one_of(names);
  CLI::Validator known = is_name;
  if (o.takes_network_files) {
    known.operation(
        [is_name](std::string& text) { return names_file(text) ? std::string() : is_name(text); });
  }
  add.app
      .add_option_function<std::string>(
          "--network",
          [&o](const std::string& text) { (names_file(text) ? o.file : o.network) = text; },
          std::string(
              "What is trained: a multilayer perceptron, a convolutional network for images, or "
              "gru, masked_gru, tcn or attention for sequences [steps, features]") +
              (o.takes_network_files
                   ? "; or a file: FILE.json describes layers, whose weights --seed draws, any "
                     "other is a float model as FILE"
                   : ""))
      ->check(known)
      ->default_str("mlp");
  command_line::add_numbers(add.app, "--hidden", o.hidden, kUnits,
                            "Units of the hidden layers of --network mlp")
      ->default_str(fmt::format("{}", fmt::join(o.hidden, ",")));
  add.flag("--batch-norm", o.batch_norm,
           "A BatchNorm in each hidden layer of --network mlp, folded when it is quantized");
  constexpr Real kDropped{0.0, 0.9};
  add.number("--dropout", o.dropout, kDropped,
             "The share of hidden values of --network mlp that each training step drops");
  add.number("--input-dropout", o.input_dropout, kDropped,
             "The share of pixels that each training step drops");
}

void add_data(const Adder& add, Options& o) {
  // Pixels that are scaled stay finite, and none becomes all that counts.
  constexpr Real kMeans{-1e6, 1e6};
  constexpr Real kDeviations{1e-6, 1e6};
  add.group("Training");
  auto* mean =
      command_line::add_numbers(add.app, "--mean", o.mean, kMeans,
                                "Subtracted from pixels in [0, 1], or from other values: a number, "
                                "or one per channel");
  auto* deviation =
      command_line::add_numbers(add.app, "--std", o.deviation, kDeviations,
                                "Divides the difference: a number, or one per channel");
  add.app
      .add_flag("--normalize", o.normalize,
                "Measures --mean and --std of every channel on the training examples; files that "
                "are written say the numbers, and C source applies them")
      ->disable_flag_override()
      ->excludes(mean)
      ->excludes(deviation);
  add.number("--batch", o.batch, kBatch, "Images per step");
  add.number(
      "--shift", o.shift, Count{0, 1024},
      "Training images are moved by up to so many pixels, right or left and up or down, drawn "
      "anew in every epoch");
  add.app
      .add_option(
          "--class-weights", o.class_weights,
          "balanced: each class weighs as much as any other, however few examples it has; or "
          "a number for each class, in the order of labels")
      ->check(kFile)
      ->type_name("balanced|N,N,...");
  add.app
      .add_option_function<std::string>(
          "--augment", [&o](const std::string& text) { o.augmentation = augmentation_of(text); },
          augment_help())
      ->check(kFile)
      ->type_name("FILE.json|NAME=N,NAME=N,...");
  add.choice("--qat-schedule", {"cosine", "constant"}, "cosine",
             "cosine: the rate falls to 0 over the QAT epochs, so that the values settle that are "
             "exported; constant: it stays",
             [&o](const std::string& text) { o.qat_rate_falls = text == "cosine"; });
  add.number("--seed", o.seed, command_line::kSeeds,
             o.only_quantizes
                 ? "Decides all that is drawn: the order of examples, dropout, what --shift does"
                 : "Decides all that is drawn: the weights of --network, the order of examples, "
                   "dropout, what --shift does");
}

void add_training(const Adder& add, Options& o) {
  add.group("Training");
  add.number("--epochs", o.epochs, kEpochs, "Epochs in float");
  add.number("--qat-epochs", o.qat_epochs, kEpochs, "Epochs with quantization in the loop");
  add.number("--lr", o.lr, command_line::kRates,
             "Learning rate in float; a convolutional network has its own unless told");
  add.number(
      "--qat-lr", o.qat_lr, command_line::kRates,
      "Learning rate with quantization in the loop, likewise; with 4 bits and fewer 1e-3 unless "
      "told, or --lr where that is less and falls");
  add.choice(
      "--schedule", {"cosine", "constant"}, "constant",
      "cosine: the rate falls to --qat-lr over the epochs in float, which resnet8 does unless "
      "told; constant: it stays",
      [&o](const std::string& text) { o.rate_falls = text == "cosine"; });
  add.number(
      "--patience", o.patience, kEpochs,
      "Ends the epochs in float after so many in a row without better accuracy, or less loss "
      "on --test-data where targets are numbers, and goes on with the best weights; a folder val "
      "beside train and test of --data is scored instead; 0: never");
  add.number("--plateau", o.plateau, kEpochs,
             "After so many epochs in float without a better score the rate falls to a tenth, down "
             "to 1e-7; 0: never");
  add.choice(
      "--optimizer", {"adam", "sgd"}, "adam",
      "sgd: with Nesterov's momentum of 0.9, which wants --lr and --qat-lr about 30 times as high",
      [&o](const std::string& text) { o.sgd = text == "sgd"; });
  add.number("--weight-decay", o.weight_decay, Real{0.0, 1.0},
             "Decay of the weights as a share of the rate, in each step: decoupled beside Adam "
             "(AdamW), a part of the gradient of SGD; 0: none");
  constexpr Real kDecays{0.0, 0.99999};
  add.number("--average-weights", o.average_weights, kDecays,
             "Without --patience: ends the epochs in float with an exponential moving average of "
             "the weights of this "
             "decay a step, e.g. 0.999; 0: with the last weights");
  add.flag("--control", o.control,
           "Train a copy in float for the QAT epochs too, with their learning rate: what the same "
           "steps bring without quantization");
}

/// Options of a command that trains nothing in float.
void add_quantized_training(const Adder& add, Options& o) {
  o.only_quantizes = true;
  o.epochs = 0;
  o.qat_epochs = 0;
  o.calibrate = 1000;
  add.group("Training");
  add.number("--epochs,--qat-epochs", o.qat_epochs, kEpochs,
             "Epochs with quantization in the loop; 0: calibration alone");
  add.number("--lr,--qat-lr", o.qat_lr, command_line::kRates,
             "Adam's initial learning rate; default with 4 bits or fewer: 1e-3");
}

void add_ranges(const Adder& add, Options& o) {
  add.group("Quantization");
  command_line::add_number(
      add.app, "--calibrate", o.calibrate, Count{1, 1000000000},
      fmt::format("Training examples that ranges are measured on, in whole batches; default: {}",
                  o.calibrate ? fmt::format("{} examples", *o.calibrate) : "10 batches"));
  const std::vector<std::string> any = {"min_max", "moving_average", "percentile", "mse",
                                        "entropy"};
  add.choice("--calibration", any, "moving_average", "How the ranges of results are found",
             [&o](const std::string& text) {
               o.quantize.activation_calibration = parse_calibration(text);
             });
  add.choice("--input-calibration", any, "min_max, or --calibration if that leaves outliers out",
             "How the input's range is found", [&o](const std::string& text) {
               o.quantize.input_calibration = parse_calibration(text);
             });
  add.choice(
      "--weight-calibration", {"min_max", "percentile", "mse"},
      "min_max, with 4 bits and fewer mse", "How the ranges of weights are found",
      [&o](const std::string& text) { o.quantize.weight_calibration = parse_calibration(text); });
  add.number("--percentile", o.quantize.percentile, Real{1e-9, 100.0},
             "The share of values, in percent, that percentile keeps");
}

void add_quantization(const Adder& add, Options& o) {
  add.group("Quantization");
  add.number("--weight-bits", o.quantize.weight_bits, Count{2, 8},
             "Bits of the weights; the C source stores so many, the .tflite file 4 or 2 where that "
             "changes no result");
  add.choice("--activation-bits", {"2", "3", "4", "5", "6", "7", "8", "16"}, "8",
             "Bits of the results of a ReLU; with 16 the input and all results are int16 values, "
             "in rounding mode q15, and there is no C source",
             [&o](const std::string& text) { o.quantize.activation_bits = std::stoi(text); });
  add.flag("--per-channel", o.quantize.per_channel, "A weight scale per unit, not per layer");
  add.flag(
      "--full-grid", o.quantize.full_weight_grid,
      "Weights of fewer than 8 bits use their lowest value too: of 2 bits -2, -1, 0, 1 instead "
      "of -1, 0, 1");
  add.choice("--scales", {"measured", "lsq"}, "measured, with 4 bits and fewer lsq",
             "measured: scales come from observed ranges; lsq: they are learned, those of weights "
             "alone where activations have 16 bits",
             [&o](const std::string& text) { o.quantize.weight_scales = parse_scales(text); });
  add.flag("--tfmot-ranges", o.tfmot_ranges,
           "Ranges start at -6..6 and decay by 0.999, as in TensorFlow Model Optimization");
  add.flag("--batch-statistics", o.batch_statistics,
           "Quantized training normalizes each batch by its own statistics, but for the last third "
           "of the steps; else by those of the epochs in float, where there are any");
  add.flag("--count-oscillations", o.quantize.count_oscillations,
           "Count how often quantized weights oscillate between two values in QAT, and show it");
  add.number(
      "--freeze-oscillations", o.quantize.freeze_oscillations_above, Real{0.0, 0.99},
      "Count it, and freeze weights that oscillate in more than this share of the steps at their "
      "mean value, with --scales lsq");
  add.choice("--simulation", {"integer", "fake_quant"}, "integer",
             "How training computes: integer, as the exported file does, or fake_quant, as "
             "TensorFlow's float composition does",
             [&o](const std::string& text) {
               o.quantize.simulation =
                   text == "integer" ? Simulation::integer : Simulation::fake_quant;
             });
  add.choice("--backward", {"float32", "int8", "int8-stochastic"}, "float32",
             "How quantized training computes gradients: from products of floats, or of int8, for "
             "which gradients are rounded to nearest, or up or down at random; layers without such "
             "products stay in float",
             [&o](const std::string& text) { o.backward = parse_backward(text); });
}

void add_target(const Adder& add, Options& o) {
  add.group("Runtime and size");
  std::vector<std::string> targets;
  targets.reserve(std::size(kTargets));
  for (const Target target : kTargets) targets.emplace_back(to_string(target));
  add.app
      .add_option("--target", o.target,
                  "The runtime that the model is for, instead of its --rounding")
      ->check(command_line::one_of(targets));
  add.choice("--rounding", {"fp32", "single", "double"}, "fp32",
             "Rounding mode of the runtime: fp32 (XNNPACK, ONNX Runtime), single (LiteRT's "
             "built-in kernels on Arm and in plain C++, not on x86), double (TFLite Micro, "
             "CMSIS-NN)",
             [&o](const std::string& text) { o.quantize.rounding = parse_rounding(text); });
  add.flag("--packed", o.packed,
           "Stop before training if --target cannot store weights of 4 bits or fewer packed");
  auto* flash =
      command_line::add_number(
          add.app, "--flash", o.flash, kBytes,
          std::string("Searches the bits of every layer's weights, 2 to 8, for so many bytes of "
                      "flash. Scales are then per unit and learned, ") +
              (o.only_quantizes ? "where there are epochs, and --lr is 1e-3 unless told"
                                : "and the QAT epochs take the rate of --lr unless told"))
          ->type_name("BYTES");
  command_line::add_number(
      add.app, "--max-drop", o.max_drop, Real{0.0, 100.0},
      "Searches the bits of every layer's weights, as --flash does, for the fewest bytes that lose "
      "at most so many percentage points of accuracy before the QAT epochs, on training examples")
      ->excludes(flash);
}

void add_machine(const Adder& add, Options& o) {
  add.group("Machine and screen");
  command_line::add_number(add.app, "--threads", o.threads, command_line::kThreads,
                           "Default: as many as the machine has");
  command_line::add_number(
      add.app, "--shards", o.shards, kBatch,
      "Parts of a batch whose gradients are added along a fixed tree; the result depends on their "
      "number. Default: 1, or with several ranks of MPI 8 or as many as there are");
  add.choice("--gradients", {"float32", "int8"}, "float32",
             "How gradients of shards are added and sent: int8 sends a quarter of the bytes, and "
             "adds in the next step what rounding leaves out",
             [&o](const std::string& text) { o.gradients = parse_gradient_format(text); });
  add.choice("--log-level", {"trace", "debug", "info", "warn", "error", "off"}, "warn",
             "The least that is logged, on stderr",
             [&o](const std::string& text) { o.log_level = text; });
  add.flag("--no-progress", o.no_progress, "Plain lines instead of a progress bar");
  add.flag("--profile", o.profile, "Show where the time of a training step goes");
  add.flag("--json", o.json, "Metrics as one line of JSON on stdout, the rest on stderr");
}

}  // namespace

void add_class_names(CLI::App& app, std::vector<std::string>& names) {
  app.add_option(
         "--class-names", names,
         "Names of the classes in the report, in the order of labels; default: their numbers")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
}

void add_training_options(CLI::App& app, Options& options) {
  for (const auto add : {add_files, add_network, add_training, add_data, add_quantization,
                         add_ranges, add_target, add_machine}) {
    add({app}, options);
  }
}

void add_quantization_options(CLI::App& app, Options& options) {
  for (const auto add : {add_files, add_quantized_training, add_data, add_quantization, add_ranges,
                         add_target, add_machine}) {
    add({app}, options);
  }
}

void add_task_options(CLI::App& app, Options& options) {
  app.option_defaults()->group("Training");
  std::vector<std::string> names;
  names.reserve(kTasks.size());
  for (const auto& [name, task] : kTasks) names.emplace_back(name);
  app.add_option_function<std::string>(
         "--task",
         [&options](const std::string& text) {
           options.task = std::ranges::find(kTasks, text, [](const auto& named) {
                            return named.first;
                          })->second;
         },
         "What the model learns; default: what the targets are. reconstruction takes the examples "
         "as their own targets: how wrong a trained model is then tells anomalies")
      ->check(command_line::one_of(names))
      ->default_str("");
  app.add_option("--normal", options.normal,
                 "The classes that --task reconstruction learns; examples of others in the test "
                 "part are anomalies. Default: those of the training part")
      ->delimiter(',')
      ->type_name("NAME,NAME,...");
  add_loss_options(app, options.losses);
}

void add_loss_options(CLI::App& app, LossOptions& options) {
  app.option_defaults()->group("Training");
  app.add_option("--loss", options.losses,
                 "The loss of an output, by the name of its function in the library, e.g. "
                 "mean_absolute_error; default: by its targets and its last layer. May be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=LOSS");
  app.add_option("--loss-weight", options.weights,
                 "The weight of an output's loss in the sum of several outputs; default: 1. May be "
                 "repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=W");
}

}  // namespace octet::application
