#include "options.h"

#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/log.h>
#include <octet/core/printable.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace octet::mnist {
namespace {

constexpr int kUsageError = 2;
constexpr std::size_t kMostOfMessage = 2000;
constexpr int kMostEpochs = 100000;
constexpr int kMostUnits = 65536;
constexpr int kMostThreads = 1024;
constexpr std::size_t kMostBatch = 1U << 20;

/// A finite number above 0.
const CLI::Validator kRate(
    [](const std::string& text) -> std::string {
      float rate = 0.0F;
      const bool is_number = CLI::detail::lexical_cast(text, rate);
      return is_number && std::isfinite(rate) && rate > 0.0F
                 ? ""
                 : fmt::format("expected a number above 0, found \"{}\"", text);
    },
    "");

/// The whole text as a number of type T; none where it is no such number or does not fit.
template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// CLI11 would let a sign or a number past 64 bits wrap around.
const CLI::Validator kSeed(
    [](const std::string& text) -> std::string {
      return whole_number<std::uint64_t>(text)
                 ? ""
                 : fmt::format("expected a whole number from 0 to 2^64 - 1, found \"{}\"", text);
    },
    "");

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

/// A rate that falls depends on how many epochs there are.
std::string qat_schedule_in_words(const Options& options) {
  return options.qat_rate_falls ? fmt::format("cosine over {} epochs", options.qat_epochs)
                                : "constant";
}

std::string joined(const std::vector<int>& units) {
  return fmt::format("{}", fmt::join(units, ","));
}

const CLI::Validator kUnits(
    [](const std::string& text) -> std::string {
      return parse_units(text)
                 ? ""
                 : fmt::format("expected numbers from 1 to {} with commas between, found \"{}\"",
                               kMostUnits, text);
    },
    "");

const CLI::Validator kFolder(
    [](const std::string& text) -> std::string {
      return text.empty() ? "expected a folder, found an empty name" : "";
    },
    "");

/// Options whose values are parsed after the command line.
struct Texts {
  std::string rounding;
  std::string hidden;
  std::string simulation = "integer";
  std::string qat_schedule = "cosine";
};

void add_options(CLI::App& app, Options& options, Texts& texts) {
  const auto flag = [&app](const char* name, bool& value, const char* help) {
    app.add_flag(name, value, help)->disable_flag_override();
  };
  app.add_option("--data", options.data,
                 "Folder with IDX files (MNIST, Fashion-MNIST, ...); else $OCTET_MNIST_DIR, else "
                 "digits that the program draws itself")
      ->check(kFolder)
      ->type_name("DIR");
  app.add_option("--out", options.out, "Folder for models, history and metrics")
      ->check(kFolder)
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--epochs", options.epochs, "Epochs in float")
      ->check(CLI::Range(0, kMostEpochs))
      ->capture_default_str();
  app.add_option("--qat-epochs", options.qat_epochs, "Epochs with quantization in the loop")
      ->check(CLI::Range(0, kMostEpochs))
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Images a step")
      ->check(CLI::Range(std::size_t{1}, kMostBatch))
      ->capture_default_str();
  app.add_option("--lr", options.lr, "Learning rate in float")->check(kRate)->capture_default_str();
  app.add_option("--qat-lr", options.qat_lr, "Learning rate with quantization in the loop")
      ->check(kRate)
      ->capture_default_str();
  app.add_option("--qat-schedule", texts.qat_schedule,
                 "cosine: the rate falls to 0 over the QAT epochs, so that the codes settle that "
                 "are exported; constant: it stays")
      ->check(CLI::IsMember({"cosine", "constant"}))
      ->capture_default_str();
  app.add_option("--hidden", texts.hidden, "Units of the hidden layers")
      ->check(kUnits)
      ->type_name("N,N,...")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of weights, order and drawn digits")
      ->check(kSeed)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Default: as many as the machine has")
      ->check(CLI::Range(1, kMostThreads));
  flag("--per-channel", options.per_channel, "A weight scale per unit, not per layer");
  flag("--tfmot-ranges", options.tfmot_ranges,
       "Ranges start at -6..6 and decay by 0.999, as in TensorFlow Model Optimization");
  app.add_option("--rounding", texts.rounding,
                 "Rounding contract of the runtime: fp32 (XNNPACK, ONNX Runtime), single (LiteRT's "
                 "own kernels), double (TFLite Micro, CMSIS-NN)")
      ->check(CLI::IsMember({"fp32", "single", "double"}))
      ->capture_default_str();
  app.add_option("--simulation", texts.simulation,
                 "How training computes: integer, as the exported file does, or fake_quant, as "
                 "TensorFlow's float composition does")
      ->check(CLI::IsMember({"integer", "fake_quant"}))
      ->capture_default_str();
  app.add_option("--checkpoint-dir", options.checkpoint_dir, "Default: checkpoints in --out")
      ->check(kFolder)
      ->type_name("DIR");
  flag("--resume", options.resume, "Go on from the last checkpoint");
  app.add_option("--log-level", options.log_level, "The least that is logged, on stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  flag("--no-progress", options.no_progress, "Plain lines instead of a progress bar");
  flag("--profile", options.profile, "Show where the time of a training step goes");
  flag("--json", options.json, "Metrics as one line of JSON on stdout, the rest on stderr");
}

/// The first line of a message: CLI11 appends hints.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  Options options;
  Texts texts{.rounding = std::string(to_string(options.rounding)),
              .hidden = joined(options.hidden)};
  CLI::App app(
      "Trains an MLP on MNIST in float, continues with 8-bit quantization in the loop, and writes "
      "the integers as a .tflite file and as C source.",
      "mnist_qat");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  add_options(app, options, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return {std::nullopt, app.exit(error)};
    }
    fmt::print(stderr, "mnist_qat: {} (--help lists the options)\n",
               printable(first_line(error.what()), kMostOfMessage));
    return {std::nullopt, kUsageError};
  }
  options.rounding = parse_rounding(texts.rounding);
  options.simulation = texts.simulation == "integer" ? Simulation::integer : Simulation::fake_quant;
  options.hidden = *parse_units(texts.hidden);
  options.qat_rate_falls = texts.qat_schedule == "cosine";
  if (options.checkpoint_dir.empty()) options.checkpoint_dir = options.out / "checkpoints";
  return {options, 0};
}

std::map<std::string, std::string> defining_options(const Options& options) {
  return {{"--epochs", fmt::format("{}", options.epochs)},
          {"--batch", fmt::format("{}", options.batch)},
          {"--lr", fmt::format("{}", options.lr)},
          {"--qat-lr", fmt::format("{}", options.qat_lr)},
          {"--qat-schedule", qat_schedule_in_words(options)},
          {"--hidden", joined(options.hidden)},
          {"--seed", fmt::format("{}", options.seed)},
          {"--per-channel", options.per_channel ? "yes" : "no"},
          {"--tfmot-ranges", options.tfmot_ranges ? "yes" : "no"},
          {"--rounding", std::string(to_string(options.rounding))},
          {"--simulation", std::string(to_string(options.simulation))}};
}

}  // namespace octet::mnist
