#include "verify_models.h"

#include <fmt/format.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/train/load_model.h>

#include <filesystem>

#include "c_program.h"
#include "commands.h"

namespace octet::tools {
namespace {

/// A checkpoint's model, and what it simulates.
class CheckpointCodes : public LayerCodes {
 public:
  explicit CheckpointCodes(const std::string& file) : model_(load(file)), codes_(model_) {
    layers_ = codes_.layers();
    output_layer_ = codes_.output_layer();
    rounding_ = codes_.rounding();
  }
  std::span<const std::int16_t> codes(std::size_t layer) const override {
    return codes_.codes(layer);
  }

 protected:
  void run_samples(const Tensor& samples) override { codes_.run(samples); }

 private:
  static Model load(const std::string& file) {
    // A damaged file is an error: load_model() would go on with the checkpoint before it, which is
    // not what was to be compared.
    Archive::read(file);
    return load_model(file);
  }

  Model model_;
  SimulatedCodes codes_;
};

/// The ends of C source.
class CSourceCodes : public LayerCodes {
 public:
  CSourceCodes(const std::string& file, const LayerCodes* other) : program_(file) {
    layers_ = {{"input", static_cast<Index>(program_.input_size())},
               {"output", static_cast<Index>(program_.output_size())}};
    output_layer_ = 1;
    if (other != nullptr) take_grids(file, *other);
  }
  std::span<const std::int16_t> codes(std::size_t layer) const override {
    return layer == 0 ? input_ : output_;
  }

 protected:
  void run_samples(const Tensor& samples) override {
    std::vector<std::int8_t> codes(static_cast<std::size_t>(samples.size()));
    const CodeLayer& input = layers_.front();
    quantize(samples.span(), QuantParams::per_tensor(input.scale, input.zero_point), codes,
             quantize_mode(rounding_));
    input_.assign(codes.begin(), codes.end());
    const std::vector<std::int8_t> results = program_.run(codes);
    output_.assign(results.begin(), results.end());
  }

 private:
  /// The input's grid is that of the source where it says so, else that of `other`.
  void take_grids(const std::string& file, const LayerCodes& other) {
    const CodeLayer& first = other.layers().front();
    const CodeLayer& last = other.layers()[other.output_layer()];
    const CodeGrid shown{last.scale, last.zero_point};
    const auto [input, output] =
        program_.grids().value_or(std::pair(CodeGrid{first.scale, first.zero_point}, shown));
    if (output != shown) {
      throw InvalidArgument(fmt::format(
          "'{}': expected outputs of scale {} and zero point {} (as int8), as the other model has "
          "them, found {} and {}: were both made of one model?",
          file, shown.scale, shown.zero_point, output.scale, output.zero_point));
    }
    layers_.front().scale = input.scale;
    layers_.front().zero_point = input.zero_point;
    rounding_ = other.rounding();
  }

  CProgram program_;
  std::vector<std::int16_t> input_;
  std::vector<std::int16_t> output_;
};

bool is_archive(const std::string& file) {
  // A checkpoint that is damaged at its first bytes is told so.
  return file_begins_with(file, "OCTETARC") || std::filesystem::path(file).extension() == ".ckpt";
}

void refuse_rounding(std::optional<Rounding> rounding, const std::string& file, const char* why) {
  if (rounding) throw UsageError("--rounding and --target: '" + file + "' " + why);
}

}  // namespace

bool is_c_source(const std::string& file) {
  return std::filesystem::path(file).extension() == ".c";
}

VerifyModel open_model(const std::string& file, std::optional<Rounding> rounding) {
  if (is_archive(file)) {
    refuse_rounding(rounding, file, "is a checkpoint: it was trained for one rounding mode");
    return {"simulation", std::make_unique<CheckpointCodes>(file)};
  }
  return {"integers",
          std::make_unique<InterpretedCodes>(read_tflite(file), InterpreterOptions{rounding})};
}

VerifyModel open_c_source(const std::string& file, std::optional<Rounding> rounding,
                          const LayerCodes* other) {
  refuse_rounding(rounding, file, "is C source: it was written for one rounding mode");
  return {"C source", std::make_unique<CSourceCodes>(file, other), false};
}

}  // namespace octet::tools
