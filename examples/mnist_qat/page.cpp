#include "page.h"

#include <fmt/format.h>

namespace octet::mnist {

void write_page(const Options& options, const Model* float_model, const Model& quantized,
                const DataSplit& data, const std::string& metrics) {
  // The files themselves: what the page states is true of what ships.
  const IntegerModel in_float = read_tflite(options.out / "mnist_float.tflite");
  const IntegerModel shipped = read_tflite(options.out / "mnist_int8.tflite");
  Report report =
      measure_report({in_float, shipped, &quantized, float_model}, data.train, data.test);
  report.title = fmt::format("{} on {}", options.network, data.test.name());
  add_run_facts(metrics, report);
  write_report(options.report, report);
}

}  // namespace octet::mnist
