#include "options.h"

#include <fmt/format.h>
#include <octet/command_line/message.h>
#include <octet/command_line/parse.h>
#include <octet/core/file.h>
#include <octet/core/quant/target.h>
#include <octet/examples/networks/networks.h>
#include <octet/layers/quantize/backward.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/signal_augmentation.h>
#include <octet/train/run/resume_command.h>
#include <octet/train/run/sha256.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "option_list.h"

namespace octet::application {
namespace {

std::string joined(const auto& numbers) { return fmt::format("{}", fmt::join(numbers, ",")); }

/// Whether the command line has the option, which not every command takes.
bool given(const CLI::App& app, const char* name) {
  const CLI::Option* option = app.get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

/// What --flash and --max-drop bring along. Throws CLI::ValidationError for what contradicts them.
void reconcile_search(const CLI::App& app, Options& o) {
  const std::string name = o.flash ? "--flash" : "--max-drop";
  if (given(app, "--weight-bits")) {
    throw CLI::ValidationError(name, "chooses the bits of every layer, found --weight-bits too");
  }
  if (o.epochs == 0 && !has_trained_weights(o)) {
    throw CLI::ValidationError(name, "needs a network that is trained in float, found --epochs 0");
  }
  o.quantize.per_channel = true;
  // Which scales of a file's model can be learned is known once it is read.
  if (o.file.empty() && !o.scales_chosen) {
    o.quantize.weight_scales = o.quantize.activation_scales = Scales::lsq;
    o.scales_chosen = true;
  }
  // Weights of few bits have a long way to go.
  if (!o.qat_lr_chosen && !o.rate_falls) o.qat_lr = o.lr;
  o.qat_lr_chosen = true;
}

/// Takes the contract of int16 values. Throws CLI::ValidationError for what they do not go with.
void reconcile_int16(const CLI::App& app, Options& o) {
  const auto refuse = [](const char* name, const std::string& why) {
    throw CLI::ValidationError(
        name, fmt::format("{}, found --activation-bits 16; use 2 to 8 bits or leave it out", why));
  };
  if (given(app, "--rounding")) refuse("--rounding", "is the rounding mode of int8 values");
  if (o.packed) refuse("--packed", "needs activations of 8 bits and fewer");
  if (searches_bits(o)) {
    refuse(o.flash ? "--flash" : "--max-drop", "counts the bytes of C source of int8 values");
  }
  if (!o.target.empty() && contract_of(parse_target(o.target)) != Rounding::double_rounding) {
    refuse("--target", "takes int16 values in rounding mode q15 as tflm and cmsis-nn");
  }
  o.quantize.rounding = Rounding::q15;
}

/// Takes the rates that suit the network. Throws CLI::ValidationError for options of another one.
void reconcile_network(const CLI::App& app, Options& o) {
  for (const char* name : {"--hidden", "--batch-norm", "--dropout", "--input-dropout"}) {
    if ((o.file.empty() && o.network == kMlp) || !given(app, name)) continue;
    throw CLI::ValidationError(name,
                               fmt::format("describes --network mlp, found {}",
                                           o.file.empty() ? "--network " + o.network : o.file));
  }
  if (!o.file.empty()) return;
  if (o.network == networks::kMaskedGru && o.data_options.padding != SequencePadding::mask) {
    throw CLI::ValidationError("--network masked_gru", "asks for --padding mask");
  }
  if (o.network != kMlp) {
    const networks::Classifier& network = networks::classifier(o.network);
    if (!given(app, "--lr")) o.lr = network.learning_rate;
    if (!given(app, "--qat-lr")) o.qat_lr = network.qat_learning_rate;
    if (!given(app, "--schedule")) o.rate_falls = network.rate_falls && o.lr >= o.qat_lr;
  }
  take_recipe(qat_recipe({.weight_bits = fewest_weight_bits(o),
                          .activation_bits = o.quantize.activation_bits}),
              o);
}

/// Takes the contract of --target. Throws CLI::ValidationError where it is another one.
void reconcile_target(const CLI::App& app, Options& o) {
  if (o.target.empty()) {
    if (o.packed) throw CLI::ValidationError("--packed", "asks for a --target");
    return;
  }
  const Target target = parse_target(o.target);
  try {
    if (given(app, "--rounding")) require_contract(target, o.quantize.rounding);
  } catch (const InvalidArgument& error) {
    throw CLI::ValidationError("--target and --rounding", error.what());
  }
  o.quantize.rounding = contract_of(target);
}

/// Options of which the result is the same whatever they say, and the path of the data, which
/// "data" of metrics.json names.
constexpr std::array<std::string_view, 14> kDecideNothing = {
    "--help",    "--version", "--data",        "--out",        "--checkpoint-dir",
    "--resume",  "--report",  "--no-report",   "--threads",    "--log-level",
    "--profile", "--json",    "--no-progress", "--class-names"};

/// What each option of a command line says, or is without it.
std::map<std::string, std::string> values_by_name(const CLI::App& app) {
  std::map<std::string, std::string> values;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (std::ranges::find(kDecideNothing, name) != kDecideNothing.end()) continue;
    const std::string value = option->count() > 0
                                  ? fmt::format("{}", fmt::join(option->results(), ","))
                                  : option->get_default_str();
    if (!value.empty()) values.emplace(name, value);
  }
  return values;
}

}  // namespace

Augmentation all_augmentation(const Options& options) {
  Augmentation all = options.augmentation;
  all.shift = std::max<Index>(all.shift, options.shift);
  return all;
}

bool has_trained_weights(const Options& options) {
  return !options.file.empty() && !options.file.ends_with(".json");
}

int fewest_weight_bits(const Options& options) {
  int fewest = options.quantize.weight_bits;
  for (const LayerBits& one : options.layer_bits) fewest = std::min(fewest, one.bits);
  return fewest;
}

std::string model_name(const Options& options) {
  if (options.file.empty()) return options.network;
  return std::filesystem::path(options.file).filename().string();
}

void take_recipe(const QatRecipe& recipe, Options& o) {
  if (!o.scales_chosen) {
    o.quantize.weight_scales = recipe.quantize.weight_scales;
    o.quantize.activation_scales = recipe.quantize.activation_scales;
  }
  const float rate = recipe.learning_rate;
  if (o.qat_lr_chosen || rate <= o.qat_lr) return;
  // A rate that falls in float ends where this one begins.
  o.qat_lr = o.rate_falls ? std::clamp(o.lr, o.qat_lr, rate) : rate;
}

void complete(const CLI::App& app, Options& o) {
  o.by_name = values_by_name(app);
  o.qat_lr_chosen = given(app, "--qat-lr");
  o.scales_chosen = given(app, "--scales");
  if (o.scales_chosen && o.quantize.weight_scales != Scales::measured &&
      o.quantize.activation_bits != kInt16Bits) {
    o.quantize.activation_scales = o.quantize.weight_scales;
  }
  if (o.checkpoint_dir.empty()) o.checkpoint_dir = o.out / "checkpoints";
  if (o.tfmot_ranges) {
    o.quantize.range_start = QuantizeOptions::tfmot_ranges().range_start;
    o.quantize.ema_decay = QuantizeOptions::tfmot_ranges().ema_decay;
  }
  // Statistics of a network that was never trained say nothing.
  if ((o.epochs == 0 && !has_trained_weights(o)) || o.batch_statistics) {
    o.quantize.batch_norm = BatchNormMode::statistics;
  }
  if (o.task == Task::regression && is_csv_name(o.data)) o.data_options.numbers = true;
  reconcile_network(app, o);
  if (o.shards > o.batch) {
    throw CLI::ValidationError(
        "--shards", fmt::format("are parts of a batch of --batch {}, found {}", o.batch, o.shards));
  }
  if (o.shift > 0 && o.augmentation.shift > 0 && o.shift != o.augmentation.shift) {
    throw CLI::ValidationError(
        "--shift", fmt::format("found {}, and {} in --augment", o.shift, o.augmentation.shift));
  }
  o.data_options.keep_signals = changes_signals(o.augmentation);
  if (o.augmentation.mixup > 0.0F && !o.class_weights.empty()) {
    throw CLI::ValidationError(
        "--class-weights", "are for labels, found mixup in --augment, which makes shares of them");
  }
  if (!o.file.empty() && !has_trained_weights(o) && (o.only_quantizes || o.fine_tunes)) {
    throw CLI::ValidationError(
        o.fine_tunes ? "--finetune" : "FILE",
        fmt::format("expected a model with weights, found a description of layers, {}; octet train "
                    "--network trains it",
                    o.file));
  }
  if (o.fine_tunes && o.epochs == 0) {
    throw CLI::ValidationError("--finetune", "trains in float, found --epochs 0");
  }
  if (!o.frozen.empty() && !has_trained_weights(o)) {
    throw CLI::ValidationError("--freeze",
                               "is for a FILE with weights or --finetune FILE, found none");
  }
  if (o.average_weights > 0.0F && o.patience > 0) {
    throw CLI::ValidationError("--average-weights",
                               "ends with an average, found --patience, which ends with one epoch");
  }
  if (o.rate_falls && o.lr < o.qat_lr) {
    throw CLI::ValidationError(
        "--schedule", fmt::format("cosine falls from --lr to --qat-lr, found {} and {}; give a "
                                  "larger --lr or a smaller --qat-lr",
                                  o.lr, o.qat_lr));
  }
  // From scratch, quantized training takes the steps that float training would take.
  if (o.epochs == 0 && !has_trained_weights(o) && !o.qat_lr_chosen) o.qat_lr = o.lr;
  if (o.quantize.activation_bits == kInt16Bits) return reconcile_int16(app, o);
  if (searches_bits(o)) reconcile_search(app, o);
  reconcile_target(app, o);
}

ParsedOptions parse_options(const std::string& program, const std::string& description, int argc,
                            char** argv) {
  Options options;
  CLI::App app(description, program);
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  add_training_options(app, options);
  try {
    command_line::parse(app, argc, argv);
    complete(app, options);
  } catch (const CLI::Success& request) {
    std::ostringstream text;
    app.exit(request, text);
    return {std::nullopt, 0, text.str()};
  } catch (const CLI::ParseError& error) {
    // CLI11 appends hints as further lines.
    const std::string text = error.what();
    return {
        std::nullopt, command_line::kUsageExit,
        fmt::format("{} ({})", command_line::one_line(text.substr(0, text.find('\n'))), kSeeHelp)};
  }
  options.command = shell_command(argc, argv);
  return {options, 0, ""};
}

std::map<std::string, std::string> range_options(const Options& options) {
  const QuantizeOptions& q = options.quantize;
  std::map<std::string, std::string> result;
  if (q.activation_calibration != QuantizeOptions{}.activation_calibration) {
    result["--calibration"] = to_string(q.activation_calibration);
  }
  if (q.input_calibration) result["--input-calibration"] = to_string(*q.input_calibration);
  if (q.weight_calibration) result["--weight-calibration"] = to_string(*q.weight_calibration);
  if (q.percentile != QuantizeOptions{}.percentile) {
    result["--percentile"] = fmt::format("{}", q.percentile);
  }
  return result;
}

std::map<std::string, std::string> defining_options(const Options& options) {
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  std::map<std::string, std::string> result = range_options(options);
  result.insert({{"--epochs", fmt::format("{}", options.epochs)},
                 {"--batch", fmt::format("{}", options.batch)},
                 {"--lr", fmt::format("{}", options.lr)},
                 {"--qat-lr", fmt::format("{}", options.qat_lr)},
                 // A rate that falls depends on how many epochs there are.
                 {"--qat-schedule", options.qat_rate_falls
                                        ? fmt::format("cosine over {} epochs", options.qat_epochs)
                                        : "constant"},
                 {"--seed", fmt::format("{}", options.seed)},
                 {"--per-channel", yes_or_no(options.quantize.per_channel)},
                 {"--tfmot-ranges", yes_or_no(options.tfmot_ranges)},
                 {"--rounding", std::string(to_string(options.quantize.rounding))},
                 {"--simulation", std::string(to_string(options.quantize.simulation))}});
  if (!options.file.empty()) {
    result["FILE"] = sha256(read_file(options.file));
  } else if (options.network == kMlp) {
    result["--hidden"] = joined(options.hidden);
  } else {
    result["--network"] = options.network;
  }
  if (const auto& losses = options.losses.losses; !losses.empty()) {
    result["--loss"] = joined(losses);
  }
  if (const auto& weights = options.losses.weights; !weights.empty()) {
    result["--loss-weight"] = joined(weights);
  }
  if (options.calibrate) result["--calibrate"] = fmt::format("{}", *options.calibrate);
  if (!options.mean.empty()) result["--mean"] = joined(options.mean);
  if (!options.deviation.empty()) result["--std"] = joined(options.deviation);
  if (options.augmentation != Augmentation{}) {
    result["--augment"] = to_text(options.augmentation);
  }
  if (!options.class_weights.empty()) result["--class-weights"] = options.class_weights;
  if (options.patience > 0) result["--patience"] = fmt::format("{}", options.patience);
  if (options.plateau > 0) result["--plateau"] = fmt::format("{}", options.plateau);
  if (options.average_weights > 0.0F) {
    result["--average-weights"] = fmt::format("{}", options.average_weights);
  }
  if (options.fine_tunes) result["--finetune"] = fmt::format("{} classes", options.classes);
  if (!options.frozen.empty()) result["--freeze"] = joined(options.frozen);
  if (options.task) result["--task"] = to_string(*options.task);
  if (!options.normal.empty())
    result["--normal"] = fmt::format("{}", fmt::join(options.normal, ","));
  if (options.normalize) result["--normalize"] = "yes";
  if (options.sgd) result["--optimizer"] = "sgd";
  if (options.weight_decay > 0.0F) {
    result["--weight-decay"] = fmt::format("{}", options.weight_decay);
  }
  if (options.backward != Backward::float32) result["--backward"] = to_string(options.backward);
  if (options.batch_norm) result["--batch-norm"] = "yes";
  if (options.batch_statistics) result["--batch-statistics"] = "yes";
  if (options.dropout > 0.0F) result["--dropout"] = fmt::format("{}", options.dropout);
  if (options.input_dropout > 0.0F) {
    result["--input-dropout"] = fmt::format("{}", options.input_dropout);
  }
  if (options.shift > 0) result["--shift"] = fmt::format("{}", options.shift);
  if (options.quantize.weight_bits != 8) {
    result["--weight-bits"] = fmt::format("{}", options.quantize.weight_bits);
  }
  for (const LayerBits& one : options.layer_bits) {
    std::string& text = result["--layer-bits"];
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", one.layer, one.bits);
  }
  if (options.quantize.full_weight_grid) result["--full-grid"] = "yes";
  if (options.quantize.activation_bits != 8) {
    result["--activation-bits"] = fmt::format("{}", options.quantize.activation_bits);
  }
  if (options.quantize.weight_scales != Scales::measured) {
    result["--scales"] = std::string(to_string(options.quantize.weight_scales));
  }
  if (options.quantize.count_oscillations) result["--count-oscillations"] = "yes";
  if (options.quantize.freeze_oscillations_above > 0.0F) {
    result["--freeze-oscillations"] = fmt::format("{}", options.quantize.freeze_oscillations_above);
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

std::map<std::string, std::string> deciding_options(const Options& options) {
  // Options that the network, the target or the bits have chosen are not on the command line.
  std::map<std::string, std::string> result = defining_options(options);
  result.insert(options.by_name.begin(), options.by_name.end());
  return result;
}

}  // namespace octet::application
