#pragma once

#include <octet/deploy/c/text.h>
#include <octet/deploy/c/writer.h>
#include <octet/runtime/operators/definitions.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace octet::detail {

/// One operator of the C source and the buffers that it goes between.
struct CStep {
  /// From 1.
  int number = 0;
  KernelSource source;
  /// C expressions: `input`, a buffer, or `output`.
  std::string from;
  std::string to;
};

/// A model laid out as C source.
struct CPlan {
  std::string name;
  /// `name` in capitals, for macros.
  std::string macro;
  Rounding rounding = Rounding::fp32;
  std::uint32_t crc = 0;
  /// What lies between the float ends: a chain of operators on codes.
  std::shared_ptr<const IntegerModel> model;
  /// RESHAPE moves nothing and is no step.
  std::vector<CStep> steps;
  /// Bytes of the two buffers that steps write in turn.
  std::array<std::int64_t, 2> buffers{};

  const ModelTensor& input() const { return at(model->inputs[0]); }
  const ModelTensor& output() const { return at(model->outputs[0]); }
  /// @name@, @NAME@, the C types and sizes of both ends: what every template may use.
  Fillings fillings() const;

 private:
  const ModelTensor& at(std::int32_t index) const {
    return model->tensors[static_cast<std::size_t>(index)];
  }
};

/// "int8_t" or "uint8_t".
std::string_view c_type(DType dtype);

/// Checks name and model, and lays the model out. Throws as to_c_source().
CPlan make_c_plan(const IntegerModel& model, std::string_view name, const CSourceOptions& options);

/// One step as C.
struct CLayer {
  /// `FULLY_CONNECTED "dense", 784 -> 256, relu`
  std::string summary;
  std::string constants;
  std::string function;
  std::int64_t flash_bytes = 0;
  std::int64_t macs = 0;
  std::int64_t largest_sum = 0;
};
CLayer make_c_layer(const CPlan& plan, const CStep& step);

/// The functions that the layers of a plan call, in the order that C needs.
std::string c_arithmetic(const CPlan& plan);

/// The text of NAME.h.
std::string c_header(const CPlan& plan, const std::vector<CLayer>& layers, const CSource& figures);

/// The golden samples and main() of NAME.c.
std::string c_self_test(const CPlan& plan, const CSourceOptions& options);

}  // namespace octet::detail
