#include "options.h"

#include <fmt/format.h>
#include <octet/command_line/parse.h>
#include <octet/core/printable.h>
#include <octet/core/quant/target.h>
#include <octet/examples/networks/networks.h>
#include <octet/train/qat_recipe.h>
#include <octet/train/resume_command.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "option_list.h"

namespace octet::mnist {
namespace {

constexpr int kUsageError = 2;
constexpr std::size_t kMostOfMessage = 2000;

std::string joined(const std::vector<int>& units) {
  return fmt::format("{}", fmt::join(units, ","));
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

/// What suits the bits, where it is not told.
void take_recipe(const CLI::App& app, Options& o) {
  const QatRecipe recipe =
      qat_recipe({.weight_bits = o.weight_bits, .activation_bits = o.activation_bits});
  if (app.count("--scales") == 0) o.learned_scales = recipe.quantize.weight_scales == Scales::lsq;
  const float rate = recipe.learning_rate;
  if (app.count("--qat-lr") > 0 || rate <= o.qat_lr) return;
  // A rate that falls in float ends where this one begins.
  o.qat_lr = o.rate_falls ? std::clamp(o.lr, o.qat_lr, rate) : rate;
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
  take_recipe(app, o);
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

ParsedOptions parse_options(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Trains a network on MNIST in float, continues with 8-bit quantization in the loop, and "
      "writes the integers as a .tflite file and as C source.",
      "mnist_qat");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  add_options(app, options);
  try {
    command_line::parse(app, argc, argv);
    reconcile(app, options);
  } catch (const CLI::Success& request) {
    std::ostringstream text;
    app.exit(request, text);
    return {std::nullopt, 0, text.str()};
  } catch (const CLI::ParseError& error) {
    // CLI11 appends hints as further lines.
    const std::string text = error.what();
    return {std::nullopt, kUsageError,
            fmt::format("{} (--help lists the options)",
                        printable(text.substr(0, text.find('\n')), kMostOfMessage))};
  }
  options.command = shell_command(argc, argv);
  if (options.checkpoint_dir.empty()) options.checkpoint_dir = options.out / "checkpoints";
  return {options, 0, ""};
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
