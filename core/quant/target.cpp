#include <octet/core/quant/target.h>

#include <fmt/core.h>

#include <octet/core/error.h>

#include <string>

namespace octet {

std::string_view to_string(Target target) {
  switch (target) {
    case Target::litert:
      return "litert";
    case Target::tflm:
      return "tflm";
    case Target::cmsis_nn:
      return "cmsis-nn";
    case Target::onnxruntime:
      return "onnxruntime";
  }
  throw InvalidArgument(fmt::format("target: no runtime has number {}", static_cast<int>(target)));
}

Target parse_target(std::string_view text) {
  std::string names;
  for (const Target target : kTargets) {
    if (text == to_string(target)) return target;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(target));
  }
  throw InvalidArgument(fmt::format("target: expected one of {}, found \"{}\"", names, text));
}

Rounding contract_of(Target target) {
  switch (target) {
    case Target::tflm:
    case Target::cmsis_nn:
      return Rounding::double_rounding;
    case Target::litert:
    case Target::onnxruntime:
      return Rounding::fp32;
  }
  throw InvalidArgument(fmt::format("target: no runtime has number {}", static_cast<int>(target)));
}

bool computes(Target target, Rounding rounding) {
  const Rounding contract = contract_of(target);
  // LiteRT computes in q15 in convolutions alone.
  return rounding == contract ||
         (rounding == Rounding::q15 && contract == Rounding::double_rounding);
}

void require_contract(Target target, Rounding rounding) {
  if (computes(target, rounding)) return;
  throw InvalidArgument(
      fmt::format("target {} computes in rounding mode {}, found {}; give the target alone",
                  to_string(target), to_string(contract_of(target)), to_string(rounding)));
}

}  // namespace octet
