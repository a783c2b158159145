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
    input_layers_ = codes_.input_layers();
    output_layers_ = codes_.output_layers();
    rounding_ = codes_.rounding();
  }
  std::span<const std::int16_t> codes(std::size_t layer) const override {
    return codes_.codes(layer);
  }

 protected:
  void run_samples(std::span<const Tensor> inputs) override { codes_.run(inputs); }

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
    add_ends(program_.inputs(), "input", input_layers_);
    add_ends(program_.outputs(), "output", output_layers_);
    codes_.resize(layers_.size());
    if (other != nullptr) take_grids(file, *other);
  }
  std::span<const std::int16_t> codes(std::size_t layer) const override { return codes_[layer]; }

 protected:
  void run_samples(std::span<const Tensor> inputs) override {
    const auto samples = static_cast<std::size_t>(inputs[0].dim(0));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const CodeLayer& input = layers_[input_layers_[k]];
      std::vector<std::int8_t> quantized(static_cast<std::size_t>(inputs[k].size()));
      quantize(inputs[k].span(), QuantParams::per_tensor(input.scale, input.zero_point), quantized,
               quantize_mode(rounding_));
      codes_[k].assign(quantized.begin(), quantized.end());
    }
    std::vector<std::int8_t> codes;
    for (std::size_t i = 0; i < samples; ++i) {
      for (const std::size_t layer : input_layers_) {
        const auto of_sample = sample_of(layer, i);
        codes.insert(codes.end(), of_sample.begin(), of_sample.end());
      }
    }
    take_results(program_.run(codes), samples);
  }

 private:
  void add_ends(const std::vector<CProgram::End>& ends, const std::string& role,
                std::vector<std::size_t>& numbers) {
    for (std::size_t k = 0; k < ends.size(); ++k) {
      numbers.push_back(layers_.size());
      layers_.push_back({ends.size() == 1 ? role : fmt::format("{}{}", role, k + 1),
                         static_cast<Index>(ends[k].size)});
    }
  }

  std::span<const std::int16_t> sample_of(std::size_t layer, std::size_t sample) const {
    const auto size = static_cast<std::size_t>(layers_[layer].size);
    return std::span(codes_[layer]).subspan(sample * size, size);
  }

  /// Sorts the outputs of samples laid end to end by output.
  void take_results(const std::vector<std::int8_t>& results, std::size_t samples) {
    for (const std::size_t layer : output_layers_) codes_[layer].clear();
    auto next = results.begin();
    for (std::size_t i = 0; i < samples; ++i) {
      for (const std::size_t layer : output_layers_) {
        const auto end = next + layers_[layer].size;
        codes_[layer].insert(codes_[layer].end(), next, end);
        next = end;
      }
    }
  }

  /// The scale and zero point of an input are those of the source where it says so, else those of
  /// `other`.
  void take_grids(const std::string& file, const LayerCodes& other) {
    const auto shown_by = [&](const std::vector<std::size_t>& numbers, std::size_t k) {
      const CodeLayer& layer = other.layers()[numbers[k]];
      return CodeGrid{layer.scale, layer.zero_point};
    };
    // Another number of inputs or outputs is refused where the models are compared.
    for (std::size_t k = 0; k < input_layers_.size() && k < other.input_layers().size(); ++k) {
      const CodeGrid grid = program_.inputs()[k].grid.value_or(shown_by(other.input_layers(), k));
      layers_[input_layers_[k]].scale = grid.scale;
      layers_[input_layers_[k]].zero_point = grid.zero_point;
    }
    for (std::size_t k = 0; k < output_layers_.size() && k < other.output_layers().size(); ++k) {
      const CodeGrid shown = shown_by(other.output_layers(), k);
      const CodeGrid output = program_.outputs()[k].grid.value_or(shown);
      if (output == shown) continue;
      throw InvalidArgument(fmt::format(
          "'{}': expected outputs of scale {} and zero point {} (as int8), as the other model has "
          "them, found {} and {}: were both made of one model?",
          file, shown.scale, shown.zero_point, output.scale, output.zero_point));
    }
    rounding_ = other.rounding();
  }

  CProgram program_;
  /// By layer: the codes of the inputs, and of the outputs.
  std::vector<std::vector<std::int16_t>> codes_;
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
