#include <fmt/format.h>
#include <octet/deploy/c/writer.h>
#include <octet/deploy/onnx/writer.h>
#include <octet/deploy/runtime_warnings.h>
#include <octet/deploy/tflite/reader.h>

#include <memory>
#include <vector>

#include "commands.h"

namespace octet::tools {
namespace {

struct ExportOptions {
  std::string file;
  std::string onnx;
  std::string c;
  std::string style = "exact";
  bool int8_io = false;
  std::vector<std::string> codes;
};

void export_model(const ExportOptions& options) {
  const IntegerModel model = read_tflite(options.file);
  if (!options.onnx.empty()) {
    write_onnx(model, options.onnx,
               {.style = options.style == "exact" ? OnnxStyle::exact : OnnxStyle::standard,
                .float_io = !options.int8_io,
                .code_outputs = options.codes});
  }
  if (!options.c.empty()) write_c_source(model, options.c);
  for (const std::string& warning : runtime_warnings(model)) {
    fmt::print(stderr, "octet: warning: {}\n", printable(warning, kMostOfWarning));
  }
}

}  // namespace

void add_export(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Writes a model in another format.");
  command->add_option("FILE", options->file, "A .tflite file")->required()->check(named());
  CLI::Option_group* targets = command->add_option_group("formats");
  targets->require_option(1, 0);
  CLI::Option* onnx =
      targets->add_option("--onnx", options->onnx, "The ONNX file to write (QDQ)")->check(named());
  targets->add_option("--c", options->c, "The C source to write, without .h and .c: DIR/NAME")
      ->check(named());
  command
      ->add_option("--style", options->style,
                   "exact (default): our codes in any runtime; standard: every scale at its tensor")
      ->check(CLI::IsMember({"exact", "standard"}))
      ->needs(onnx);
  command->add_flag("--int8-io", options->int8_io, "The types of FILE at the ends, not float32")
      ->needs(onnx);
  command
      ->add_option("--codes", options->codes,
                   "A quantized tensor whose codes become a further output; may be repeated")
      ->allow_extra_args(false)
      ->needs(onnx);
  command->callback([options] { export_model(*options); });
}

}  // namespace octet::tools
