#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/core/quant/target.h>
#include <octet/deploy/tflite/reader.h>
#include <octet/train/samples_per_pass.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "commands.h"

namespace octet::tools {
namespace {

constexpr std::size_t kMostSamples = 1000;

/// The bytes of one sample: of all inputs, one behind the other.
std::size_t sample_bytes_of(Interpreter& interpreter) {
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < interpreter.model().inputs.size(); ++k) {
    bytes += interpreter.input_bytes(k).size();
  }
  return bytes / static_cast<std::size_t>(interpreter.batch());
}

/// Gives every input its part of `count` samples that lie end to end.
void set_inputs(Interpreter& interpreter, std::span<const std::uint8_t> samples,
                std::size_t count) {
  const auto batch = static_cast<std::size_t>(interpreter.batch());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < interpreter.model().inputs.size(); ++k) {
      const std::span<std::byte> all = interpreter.input_bytes(k);
      const std::size_t size = all.size() / batch;
      std::memcpy(all.data() + i * size, samples.data(), size);
      samples = samples.subspan(size);
    }
  }
}

/// Batch by batch, from file to file, neither of which need fit into memory; the last batch may be
/// filled up with what was there before.
void run_samples(Interpreter& interpreter, FileReader& in, FileWriter& out, std::size_t samples) {
  const auto batch = static_cast<std::size_t>(interpreter.batch());
  const std::size_t in_bytes = sample_bytes_of(interpreter);
  std::vector<std::uint8_t> given;
  std::vector<std::uint8_t> results;
  for (std::size_t begin = 0; begin < samples; begin += batch) {
    const std::size_t count = std::min(batch, samples - begin);
    given.resize(count * in_bytes);
    in.read(given);
    set_inputs(interpreter, given, count);
    interpreter.invoke();
    results.clear();
    for (std::size_t i = 0; i < count; ++i) {
      for (const std::int32_t output : interpreter.model().outputs) {
        const auto bytes = interpreter.tensor_bytes(output, static_cast<Index>(i));
        const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
        results.insert(results.end(), from, from + bytes.size());
      }
    }
    out.write(results);
  }
}

/// Whether the file begins with what floats look like and codes do not: numbers of ordinary size,
/// 1e-9 to 1e9 or 0, that are not all one number.
bool looks_like_floats(const std::string& file) {
  constexpr std::size_t kMostFloats = 4096;
  FileReader in(file);
  std::vector<float> values(std::min(in.size() / sizeof(float), kMostFloats));
  in.read({reinterpret_cast<std::uint8_t*>(values.data()), values.size() * sizeof(float)});
  const auto is_ordinary = [](float value) {
    const float size = std::abs(value);
    return value == 0.0F || (size >= 1e-9F && size <= 1e9F);
  };
  return std::ranges::all_of(values, is_ordinary) &&
         std::ranges::any_of(values, [&](float value) { return value != values.front(); });
}

/// The samples that a file of `bytes` holds, each of the inputs' `sample_bytes`. Throws
/// InvalidArgument where it is no whole number, another one than was asked for, or where the file
/// holds floats instead of codes.
std::size_t samples_in(const RunOptions& options, const std::vector<TensorDetails>& inputs,
                       std::size_t bytes, std::size_t sample_bytes) {
  std::size_t float_bytes = 0;
  std::vector<std::string> types;
  std::vector<std::string> shapes;
  for (const TensorDetails& input : inputs) {
    std::size_t values = 1;
    for (const std::int32_t extent : input.shape) values *= static_cast<std::size_t>(extent);
    float_bytes += values * sizeof(float);
    types.emplace_back(to_string(input.dtype));
    shapes.push_back(fmt::format("{} [{}]", types.back(), fmt::join(input.shape, ", ")));
  }
  const bool whole_floats = float_bytes != sample_bytes && bytes > 0 && bytes % float_bytes == 0;
  const std::string samples =
      fmt::format("of {} bytes each, {}", sample_bytes, fmt::join(shapes, " and then "));
  const std::string hint =
      whole_floats ? fmt::format("; that is {} samples of float32: quantize them to {} first",
                                 bytes / float_bytes, fmt::join(types, " and "))
                   : "";
  if (options.samples > 0 && bytes != options.samples * sample_bytes) {
    throw InvalidArgument(fmt::format("run: '{}' has {} bytes, expected {} ({} samples {}){}",
                                      options.input, bytes, options.samples * sample_bytes,
                                      options.samples, samples, hint));
  }
  if (bytes == 0 || bytes % sample_bytes != 0) {
    throw InvalidArgument(
        fmt::format("run: '{}' has {} bytes, expected a multiple of {} (samples {}){}",
                    options.input, bytes, sample_bytes, samples, hint));
  }
  if (options.samples == 0 && whole_floats && looks_like_floats(options.input)) {
    throw InvalidArgument(
        fmt::format("run: '{}' holds what looks like floats: {} bytes, expected {} ({} samples "
                    "{}){}; where they "
                    "are quantized values after all, give --samples {}",
                    options.input, bytes, bytes / float_bytes * sample_bytes, bytes / float_bytes,
                    samples, hint, bytes / sample_bytes));
  }
  return bytes / sample_bytes;
}

}  // namespace

std::optional<Rounding> ContractOptions::chosen() const {
  if (target.empty()) {
    return rounding.empty() ? std::nullopt : std::optional(parse_rounding(rounding));
  }
  const Target runtime = parse_target(target);
  if (rounding.empty()) return contract_of(runtime);
  try {
    require_contract(runtime, parse_rounding(rounding));
  } catch (const InvalidArgument& error) {
    throw UsageError(fmt::format("--target{0} and --rounding{0}: {1}", suffix, error.what()));
  }
  return parse_rounding(rounding);
}

Interpreter InterpretOptions::open(Index batch) const {
  if (threads > 0) set_num_threads(threads);
  InterpreterOptions options;
  options.batch = batch;
  options.rounding = contract.chosen();
  return Interpreter(read_tflite(file), options);
}

void resize_for(Interpreter& interpreter, std::size_t samples) {
  const auto batch = static_cast<std::size_t>(interpreter.batch());
  std::size_t of_sample = sample_bytes_of(interpreter);
  for (std::size_t k = 0; k < interpreter.model().outputs.size(); ++k) {
    of_sample += interpreter.output_bytes(k).size() / batch;
  }
  const std::size_t most = samples_per_pass("octet", of_sample, kMostSamples);
  interpreter.resize_batch(static_cast<Index>(std::min(samples, most)));
}

void run(const RunOptions& options) {
  Interpreter interpreter = options.model.open(1);
  FileReader in(options.input);
  const std::size_t samples =
      samples_in(options, interpreter.get_input_details(), in.size(), sample_bytes_of(interpreter));
  resize_for(interpreter, samples);
  FileWriter out(options.out);
  run_samples(interpreter, in, out, samples);
  out.commit();
}

}  // namespace octet::tools
