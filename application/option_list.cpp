#include "option_list.h"

#include <fmt/format.h>
#include <octet/command_line/numbers.h>
#include <octet/command_line/parse.h>
#include <octet/command_line/text.h>
#include <octet/examples/networks/networks.h>
#include <octet/layers/quantize/backward.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "augment_option.h"
#include "data.h"
#include "option_adder.h"
#include "quantization_options.h"

namespace octet::application {
namespace {

using command_line::Count;
using command_line::Real;

const CLI::Validator kFile(
    [](const std::string& text) {
      return text.empty() ? "expected a file, found an empty name" : "";
    },
    "");

constexpr Count kEpochs{0, 100000};
constexpr Count kBatch{1, 1U << 20U};
constexpr Count kUnits{1, 65536};

/// Whether a word names a file and no network: it has an ending or a folder.
bool names_file(const std::string& word) { return word.find_first_of("./") != std::string::npos; }

void add_files(const Adder& add, Options& o) {
  add_data(
      add.app, o.data, o.data_options,
      "Examples, whose format is told by names: a folder of IDX files (MNIST, Fashion-MNIST, ...), "
      "of CIFAR-10, of .npy arrays, or of images, .wav or .csv files by class; a .csv, .tsv or .ts "
      "file");
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
