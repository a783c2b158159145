#include "options.h"

#include <fmt/format.h>
#include <octet/core/printable.h>
#include <octet/core/quant/target.h>
#include <octet/examples/networks/networks.h>
#include <octet/train/resume_command.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>
#include <system_error>

namespace octet::mnist {
namespace {

constexpr int kUsageError = 2;
constexpr std::size_t kMostOfMessage = 2000;
constexpr int kMostEpochs = 100000;
constexpr int kMostShift = 1024;
constexpr int kMostUnits = 65536;
constexpr int kMostThreads = 1024;
constexpr std::size_t kMostBatch = 1U << 20;

/// The whole text as a number of type T; none where it is no such number or does not fit.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// "256,128" as numbers; none where one is missing or out of range.
std::optional<std::vector<int>> parse_units(std::string_view text) {
  std::vector<int> units;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto count = whole_number<int>(text.substr(begin, end - begin));
    if (!count || *count < 1 || *count > kMostUnits) return std::nullopt;
    units.push_back(*count);
    begin = end + 1;
  }
  return units;
}

std::string joined(const std::vector<int>& units) {
  return fmt::format("{}", fmt::join(units, ","));
}

/// Refuses what `accepts` does not take, saying what was expected.
CLI::Validator expecting(const std::string& expected, bool (*accepts)(const std::string&)) {
  return {[expected, accepts](const std::string& text) {
            return accepts(text) ? "" : fmt::format("expected {}, found \"{}\"", expected, text);
          },
          ""};
}

const CLI::Validator kRate = expecting("a number above 0", [](const std::string& text) {
  float rate = 0.0F;
  return CLI::detail::lexical_cast(text, rate) && std::isfinite(rate) && rate > 0.0F;
});
/// CLI11 would let a sign or a number past 64 bits wrap around.
const CLI::Validator kSeed = expecting(
    "a whole number from 0 to 2^64 - 1",
    [](const std::string& text) { return whole_number<std::uint64_t>(text).has_value(); });
const CLI::Validator kBytes =
    expecting("a whole number of bytes, 1 or more", [](const std::string& text) {
      const auto bytes = whole_number<std::int64_t>(text);
      return bytes && *bytes > 0;
    });
const CLI::Validator kPoints =
    expecting("percentage points from 0 to 100", [](const std::string& text) {
      double points = -1.0;
      return CLI::detail::lexical_cast(text, points) && points >= 0.0 && points <= 100.0;
    });
const CLI::Validator kActivationBits = expecting("2 to 8, or 16", [](const std::string& text) {
  const auto bits = whole_number<int>(text);
  return bits && ((*bits >= 2 && *bits <= 8) || *bits == kInt16Bits);
});
const CLI::Validator kUnits =
    expecting(fmt::format("numbers from 1 to {} with commas between", kMostUnits),
              [](const std::string& text) { return parse_units(text).has_value(); });
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

/// Adds options of one kind each.
struct Adder {
  CLI::App& app;

  void folder(const char* name, auto& value, const char* help, bool shows_default = false) const {
    auto* option = app.add_option(name, value, help)->check(kFolder)->type_name("DIR");
    if (shows_default) option->capture_default_str();
  }
  void number(const char* name, auto& value, const CLI::Validator& check, const char* help) const {
    app.add_option(name, value, help)->check(check)->capture_default_str();
  }
  void choice(const char* name, const std::vector<std::string>& choices, const char* chosen,
              const char* help, const std::function<void(const std::string&)>& take) const {
    app.add_option_function<std::string>(name, take, help)
        ->check(CLI::IsMember(choices))
        ->default_str(chosen);
  }
  void flag(const char* name, bool& value, const char* help) const {
    app.add_flag(name, value, help)->disable_flag_override();
  }
};

void add_options(const Adder& add, Options& o) {
  add.folder("--data", o.data,
             "Folder with IDX files (MNIST, Fashion-MNIST, ...); else $OCTET_MNIST_DIR, else "
             "digits that the program draws itself");
  add.folder("--out", o.out, "Folder for models, history and metrics", true);
  const CLI::Range epochs(0, kMostEpochs);
  add.number("--epochs", o.epochs, epochs, "Epochs in float");
  add.number("--qat-epochs", o.qat_epochs, epochs, "Epochs with quantization in the loop");
  add.number("--batch", o.batch, CLI::Range(std::size_t{1}, kMostBatch), "Images per step");
  add.number("--lr", o.lr, kRate,
             "Learning rate in float; a convolutional network has its own unless told");
  add.number("--qat-lr", o.qat_lr, kRate, "Learning rate with quantization in the loop, likewise");
  add.choice(
      "--schedule", {"cosine", "constant"}, "constant",
      "cosine: the rate falls to --qat-lr over the epochs in float, which resnet8 does unless "
      "told; constant: it stays",
      [&o](const std::string& text) { o.rate_falls = text == "cosine"; });
  add.choice("--qat-schedule", {"cosine", "constant"}, "cosine",
             "cosine: the rate falls to 0 over the QAT epochs, so that the codes settle that are "
             "exported; constant: it stays",
             [&o](const std::string& text) { o.qat_rate_falls = text == "cosine"; });
  std::vector<std::string> names{std::string(kMlp)};
  for (const auto& one : networks::classifiers()) names.emplace_back(one.name);
  add.choice("--network", names, "mlp",
             "What is trained: a multilayer perceptron, or a convolutional network",
             [&o](const std::string& text) { o.network = text; });
  add.app
      .add_option_function<std::string>(
          "--hidden", [&o](const std::string& text) { o.hidden = *parse_units(text); },
          "Units of the hidden layers of --network mlp")
      ->check(kUnits)
      ->type_name("N,N,...")
      ->default_str(joined(o.hidden));
  add.flag("--batch-norm", o.batch_norm,
           "A BatchNorm in each hidden layer of --network mlp, folded when it is quantized");
  add.flag("--batch-statistics", o.batch_statistics,
           "Quantized training normalizes each batch by its own statistics, but for the last third "
           "of the steps; else by those of the epochs in float, where there are any");
  add.number("--dropout", o.dropout, CLI::Range(0.0F, 0.9F),
             "The share of hidden values of --network mlp that each training step drops");
  add.number("--input-dropout", o.input_dropout, CLI::Range(0.0F, 0.9F), "The same of pixels");
  add.number(
      "--shift", o.shift, CLI::Range(0, kMostShift),
      "Training images are moved by up to so many pixels, right or left and up or down, drawn "
      "anew in every epoch");
  add.number("--seed", o.seed, kSeed, "Of weights, order and drawn digits");
  add.app.add_option("--threads", o.threads, "Default: as many as the machine has")
      ->check(CLI::Range(1, kMostThreads));
  add.app
      .add_option(
          "--shards", o.shards,
          "Parts of a batch whose gradients are added along a fixed tree; the result "
          "depends on their number. Default: 1, or with several ranks of MPI 8 or as many as "
          "there are")
      ->check(CLI::Range(std::size_t{1}, kMostBatch));
  add.choice("--gradients", {"float32", "int8"}, "float32",
             "How gradients of shards are added and sent: int8 sends a quarter of the bytes, and "
             "adds in the next step what its codes leave out",
             [&o](const std::string& text) { o.gradients = parse_gradient_format(text); });
  add.flag("--per-channel", o.per_channel, "A weight scale per unit, not per layer");
  const CLI::Range bits(2, 8);
  add.number("--weight-bits", o.weight_bits, bits,
             "Bits of the weights; the C source stores so many, the .tflite file 4 or 2 where that "
             "changes no result");
  add.flag("--full-grid", o.full_grid,
           "Weights of fewer than 8 bits use their lowest code too: of 2 bits -2, -1, 0, 1 instead "
           "of -1, 0, 1");
  add.number("--activation-bits", o.activation_bits, kActivationBits,
             "Bits of what comes out of a ReLU; with 16 the input and all results are int16 codes, "
             "by contract q15, and there is no C source");
  add.choice("--scales", {"measured", "lsq"}, "measured",
             "measured: scales come from observed ranges; lsq: they are learned, those of weights "
             "alone where activations have 16 bits",
             [&o](const std::string& text) { o.learned_scales = text == "lsq"; });
  add.flag("--count-oscillations", o.count_oscillations,
           "Count how often the codes of weights swing back and forth in QAT, and show it");
  add.number(
      "--freeze-oscillations", o.freeze_oscillations, CLI::Range(0.0F, 0.99F),
      "Count it, and freeze weights that swing in more than this share of the steps on their "
      "mean code, with --scales lsq");
  add.flag("--tfmot-ranges", o.tfmot_ranges,
           "Ranges start at -6..6 and decay by 0.999, as in TensorFlow Model Optimization");
  add.choice("--rounding", {"fp32", "single", "double"}, "fp32",
             "Rounding contract of the runtime: fp32 (XNNPACK, ONNX Runtime), single (LiteRT's "
             "built-in kernels on Arm and in plain C++, not on x86), double (TFLite Micro, "
             "CMSIS-NN)",
             [&o](const std::string& text) { o.rounding = parse_rounding(text); });
  std::vector<std::string> targets;
  targets.reserve(std::size(kTargets));
  for (const Target target : kTargets) targets.emplace_back(to_string(target));
  add.app
      .add_option("--target", o.target,
                  "The runtime that the model is for, instead of its --rounding")
      ->check(CLI::IsMember(targets));
  add.flag("--packed", o.packed,
           "Refuse before training what --target takes no packed weights of, 4 bits and fewer");
  add.flag("--control", o.control,
           "Train a copy in float for the QAT epochs too, with their learning rate: what the same "
           "steps bring without quantization");
  add.choice("--simulation", {"integer", "fake_quant"}, "integer",
             "How training computes: integer, as the exported file does, or fake_quant, as "
             "TensorFlow's float composition does",
             [&o](const std::string& text) {
               o.simulation = text == "integer" ? Simulation::integer : Simulation::fake_quant;
             });
  auto* flash =
      add.app
          .add_option("--flash", o.flash,
                      "Searches the bits of every layer's weights, 2 to 8, for so many bytes of "
                      "flash. Scales are then per unit and learned, and the QAT epochs take the "
                      "rate of --lr unless told")
          ->check(kBytes)
          ->type_name("BYTES");
  add.app
      .add_option("--max-drop", o.max_drop,
                  "The same for the fewest bytes that lose at most so many percentage points of "
                  "accuracy before the QAT epochs, on training images")
      ->check(kPoints)
      ->type_name("POINTS")
      ->excludes(flash);
  add.folder("--checkpoint-dir", o.checkpoint_dir, "Default: checkpoints in --out");
  add.app
      .add_option("--report", o.report,
                  "Writes a page about the run, one HTML file: accuracies, layers, what to do")
      ->check(kFile)
      ->type_name("FILE");
  add.flag("--resume", o.resume, "Go on from the last checkpoint");
  add.choice("--log-level", {"trace", "debug", "info", "warn", "error", "off"}, "warn",
             "The least that is logged, on stderr",
             [&o](const std::string& text) { o.log_level = text; });
  add.flag("--no-progress", o.no_progress, "Plain lines instead of a progress bar");
  add.flag("--profile", o.profile, "Show where the time of a training step goes");
  add.flag("--json", o.json, "Metrics as one line of JSON on stdout, the rest on stderr");
}

/// What --flash and --max-drop bring along. Throws CLI::ValidationError for what contradicts them.
void reconcile_search(const CLI::App& app, Options& o) {
  const std::string name = o.flash ? "--flash" : "--max-drop";
  if (app.count("--weight-bits") > 0) {
    throw CLI::ValidationError(name, "chooses the bits of every layer, found --weight-bits too");
  }
  if (o.epochs == 0) {
    throw CLI::ValidationError(name, "needs a network that is trained in float, found --epochs 0");
  }
  o.per_channel = true;
  if (app.count("--scales") == 0) o.learned_scales = true;
  // Weights of few bits have a long way to go.
  if (app.count("--qat-lr") == 0 && !o.rate_falls) o.qat_lr = o.lr;
}

/// Takes the contract of int16 codes. Throws CLI::ValidationError for what they do not go with.
void reconcile_int16(const CLI::App& app, Options& o) {
  const auto refuse = [](const char* name, const std::string& why) {
    throw CLI::ValidationError(
        name, fmt::format("{}, found --activation-bits 16; use 2 to 8 bits or leave it out", why));
  };
  if (app.count("--rounding") > 0) refuse("--rounding", "is that of int8 codes");
  if (o.packed) refuse("--packed", "needs activations of 8 bits and fewer");
  if (searches_bits(o)) {
    refuse(o.flash ? "--flash" : "--max-drop", "counts the bytes of C source of int8 codes");
  }
  if (!o.target.empty() && contract_of(parse_target(o.target)) != Rounding::double_rounding) {
    refuse("--target", "takes int16 codes by contract q15 as tflm and cmsis-nn");
  }
  o.rounding = Rounding::q15;
}

/// Takes the contract of --target. Throws CLI::ValidationError for options that contradict each
/// other.
void reconcile(const CLI::App& app, Options& o) {
  for (const char* name : {"--hidden", "--batch-norm", "--dropout", "--input-dropout"}) {
    if (o.network == kMlp || app.count(name) == 0) continue;
    throw CLI::ValidationError(
        name, fmt::format("describes --network mlp, found --network {}", o.network));
  }
  if (o.network != kMlp) {
    const networks::Classifier& network = networks::classifier(o.network);
    if (app.count("--lr") == 0) o.lr = network.learning_rate;
    if (app.count("--qat-lr") == 0) o.qat_lr = network.qat_learning_rate;
    if (app.count("--schedule") == 0) o.rate_falls = network.rate_falls && o.lr >= o.qat_lr;
  }
  if (o.shards > o.batch) {
    throw CLI::ValidationError(
        "--shards", fmt::format("are parts of a batch of --batch {}, found {}", o.batch, o.shards));
  }
  if (o.rate_falls && o.lr < o.qat_lr) {
    throw CLI::ValidationError(
        "--schedule", fmt::format("cosine falls from --lr to --qat-lr, found {} and {}; give a "
                                  "larger --lr or a smaller --qat-lr",
                                  o.lr, o.qat_lr));
  }
  // From scratch, quantized training takes the steps that float training would take.
  if (o.epochs == 0 && app.count("--qat-lr") == 0) o.qat_lr = o.lr;
  if (o.activation_bits == kInt16Bits) return reconcile_int16(app, o);
  if (searches_bits(o)) reconcile_search(app, o);
  if (o.target.empty()) {
    if (o.packed) throw CLI::ValidationError("--packed", "asks for a --target");
    return;
  }
  const Target target = parse_target(o.target);
  try {
    if (app.count("--rounding") > 0) require_contract(target, o.rounding);
  } catch (const InvalidArgument& error) {
    throw CLI::ValidationError("--target and --rounding", error.what());
  }
  o.rounding = contract_of(target);
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv, bool quiet) {
  Options options;
  CLI::App app(
      "Trains a network on MNIST in float, continues with 8-bit quantization in the loop, and "
      "writes the integers as a .tflite file and as C source.",
      "mnist_qat");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  add_options({app}, options);
  try {
    app.parse(argc, argv);
    reconcile(app, options);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return {std::nullopt, quiet ? 0 : app.exit(error)};
    }
    if (quiet) return {std::nullopt, kUsageError};
    // CLI11 appends hints as further lines.
    const std::string text = error.what();
    fmt::print(stderr, "mnist_qat: {} (--help lists the options)\n",
               printable(text.substr(0, text.find('\n')), kMostOfMessage));
    return {std::nullopt, kUsageError};
  }
  options.command = shell_command(argc, argv);
  if (options.checkpoint_dir.empty()) options.checkpoint_dir = options.out / "checkpoints";
  return {options, 0};
}

std::map<std::string, std::string> defining_options(const Options& options) {
  const bool is_mlp = options.network == kMlp;
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  std::map<std::string, std::string> result = {
      {"--epochs", fmt::format("{}", options.epochs)},
      {"--batch", fmt::format("{}", options.batch)},
      {"--lr", fmt::format("{}", options.lr)},
      {"--qat-lr", fmt::format("{}", options.qat_lr)},
      // A rate that falls depends on how many epochs there are.
      {"--qat-schedule", options.qat_rate_falls
                             ? fmt::format("cosine over {} epochs", options.qat_epochs)
                             : "constant"},
      {is_mlp ? "--hidden" : "--network", is_mlp ? joined(options.hidden) : options.network},
      {"--seed", fmt::format("{}", options.seed)},
      {"--per-channel", yes_or_no(options.per_channel)},
      {"--tfmot-ranges", yes_or_no(options.tfmot_ranges)},
      {"--rounding", std::string(to_string(options.rounding))},
      {"--simulation", std::string(to_string(options.simulation))}};
  if (options.batch_norm) result["--batch-norm"] = "yes";
  if (options.batch_statistics) result["--batch-statistics"] = "yes";
  if (options.dropout > 0.0F) result["--dropout"] = fmt::format("{}", options.dropout);
  if (options.input_dropout > 0.0F) {
    result["--input-dropout"] = fmt::format("{}", options.input_dropout);
  }
  if (options.shift > 0) result["--shift"] = fmt::format("{}", options.shift);
  if (options.weight_bits != 8) result["--weight-bits"] = fmt::format("{}", options.weight_bits);
  if (options.full_grid) result["--full-grid"] = "yes";
  if (options.activation_bits != 8) {
    result["--activation-bits"] = fmt::format("{}", options.activation_bits);
  }
  if (options.learned_scales) result["--scales"] = "lsq";
  if (options.count_oscillations) result["--count-oscillations"] = "yes";
  if (options.freeze_oscillations > 0.0F) {
    result["--freeze-oscillations"] = fmt::format("{}", options.freeze_oscillations);
  }
  if (options.shards > 1) result["--shards"] = fmt::format("{}", options.shards);
  if (options.gradients != GradientFormat::float32) {
    result["--gradients"] = std::string(to_string(options.gradients));
  }
  if (options.control) result["--control"] = "yes";
  if (options.rate_falls) result["--schedule"] = "cosine";
  if (options.flash) result["--flash"] = fmt::format("{}", *options.flash);
  if (options.max_drop) result["--max-drop"] = fmt::format("{}", *options.max_drop);
  return result;
}

}  // namespace octet::mnist
