#include "page.h"

#include <fmt/core.h>
#include <octet/core/file.h>
#include <octet/report/measure.h>
#include <octet/report/run_facts.h>
#include <octet/train/distributed/messages.h>

namespace octet::application {

std::vector<std::uint8_t> file_of_run(const Options& options, const std::string& name,
                                      ProcessGroup& group) {
  return broadcast_bytes(
      group, group.is_root() ? read_file(options.out / name) : std::vector<std::uint8_t>());
}

std::optional<Verdict> write_page(const Application& application, const Options& options,
                                  const Model* float_model, const Model& quantized,
                                  const DataSplit& data, const std::string& metrics,
                                  ProcessGroup& group) {
  // The files themselves: what the page states is true of what ships.
  const IntegerModel in_float = from_tflite(file_of_run(options, application.float_file(), group));
  const IntegerModel shipped = from_tflite(file_of_run(options, application.int8_file(), group));
  ReportOptions how;
  how.group = &group;
  Report report =
      measure_report({in_float, shipped, &quantized, float_model}, data.train, data.test, how);
  if (!group.is_root()) return std::nullopt;
  report.title = fmt::format("{} on {}", model_name(options), data.test.name());
  report.files = files_beside(options.out / application.int8_file());
  add_run_facts(metrics, report);
  write_report(options.report, report);
  return judge(report);
}

}  // namespace octet::application
