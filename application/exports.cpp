#include "exports.h"

#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace octet::application {
namespace {

/// Test examples that the C source's self-test runs.
constexpr std::size_t kSelfTestExamples = 4;

/// The first test examples, a sample's inputs one behind the other.
std::vector<float> self_test_inputs(const Dataset& test) {
  const std::size_t count = std::min(kSelfTestExamples, test.size());
  const std::vector<Tensor> inputs = test.batch(0, count).inputs();
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (const Tensor& input : inputs) {
      const std::size_t size = input.span().size() / count;
      const auto sample = input.span().subspan(i * size, size);
      values.insert(values.end(), sample.begin(), sample.end());
    }
  }
  return values;
}

/// Calls `write`, and returns whether the format has the model.
template <class Write>
bool try_export(std::string_view format, const std::vector<std::filesystem::path>& files,
                Results& results, Write&& write) {
  try {
    write();
  } catch (const InvalidArgument& error) {
    results.warnings.push_back(fmt::format("no {} was written: {}", format, error.what()));
    for (const std::filesystem::path& file : files) std::filesystem::remove(file);
    return false;
  }
  return true;
}

}  // namespace

void export_other_formats(const IntegerModel& model, const Application& application,
                          const Options& options, const Dataset& test, Results& results) {
  if (options.quantize.activation_bits == kInt16Bits) return;
  const std::string stem = (options.out / (application.stem + "_int8")).string();
  const bool few_bits = options.quantize.weight_bits < 8 || searches_bits(options);
  try_export("C source", {stem + ".h", stem + ".c"}, results, [&] {
    const CSource source = write_c_source(model, stem,
                                          {.weights = few_bits ? CWeights::packed : CWeights::int8,
                                           .self_test_inputs = self_test_inputs(test)});
    results.c_flash_bytes = source.flash_bytes;
    results.c_ram_bytes = source.ram_bytes;
  });
  if (!application.writes_onnx) return;
  results.has_onnx = try_export("ONNX file", {stem + ".onnx"}, results,
                                [&] { write_onnx(model, stem + ".onnx"); });
}

}  // namespace octet::application
