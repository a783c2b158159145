#include <fmt/core.h>
#include <octet/deploy/c/kernels/depthwise.h>
#include <octet/deploy/c/kernels/helium.h>
#include <octet/deploy/c/kernels/lstm.h>
#include <octet/deploy/c/kernels/paths.h>
#include <octet/deploy/c/kernels/rows.h>
#include <octet/deploy/c/kernels/set_row.h>
#include <octet/deploy/c/kernels/windows.h>
#include <octet/deploy/c/kernels/x86.h>
#include <octet/deploy/c/operators.h>
#include <octet/runtime/operators/int16_functions.h>

#include <algorithm>
#include <optional>
#include <span>

// Functions that layers of sums share: sums of products of rows of values with the weights of every
// unit, and what makes such rows of the windows of a convolution.

namespace octet::detail {
namespace {

using namespace kernel_text;

/// How the kernels of a layer end: whether they rescale by c_rescale_twice() in a contract that
/// does not, and whether they write values of 16 bits.
struct Ending {
  bool twice = false;
  bool wide = false;
};

std::string_view rescale_four(const CPlan& plan, bool twice) {
  if (twice || plan.rounding == Rounding::double_rounding) return kRescaleFourDouble;
  return plan.rounding == Rounding::fp32 ? kRescaleFourFloat : kRescaleFourSingle;
}

bool is_lstm(const CLayer& layer) { return layer.lstm.has_value(); }

/// The sequences of LSTMs; empty where there is none.
std::string lstm_text(const CPlan& plan, const std::vector<CLayer>& layers) {
  const auto first = std::ranges::find_if(layers, is_lstm);
  if (first == layers.end()) return "";
  const LstmStep& step = *first->lstm;
  Fillings f = plan.fillings();
  f["points"] =
      array_text("uint16_t", plan.name + "_points", std::span(step.gate.points, kSigmoidPoints));
  f["gate_factor"] = std::to_string(step.gate.factor);
  f["gate_shift"] = std::to_string(step.gate.shift);
  f["kept_multiplier"] = std::to_string(step.kept.multiplier);
  f["kept_shift"] = std::to_string(c_shift(step.kept));
  return fill(kSequenceLstm, f);
}

}  // namespace

std::int64_t c_lstm_bytes(const std::vector<CLayer>& layers) {
  return std::ranges::any_of(layers, is_lstm) ? static_cast<std::int64_t>(2 * kSigmoidPoints) : 0;
}

std::string c_paths(const CPlan& plan, const std::vector<CLayer>& layers) {
  const bool any = std::ranges::any_of(layers, [](const CLayer& layer) {
    return layer.kernel || layer.calls.contains(CFunction::rescale_four);
  });
  if (!any) return "";
  Fillings f = plan.fillings();
  f["few_registers"] =
      plan.code == CCode::small ? "1" : "defined(__thumb__) && !defined(__thumb2__)";
  return fill(kPaths, f);
}

std::string c_kernels(const CPlan& plan, const std::vector<CLayer>& layers) {
  Fillings f = plan.fillings();
  const auto needed = [&](CKernel from, CKernel to, std::optional<Ending> ending = {}) {
    return std::ranges::any_of(layers, [&](const CLayer& layer) {
      return layer.kernel && *layer.kernel >= from && *layer.kernel <= to &&
             (!ending || (ending->twice == layer.rescales_twice && ending->wide == layer.is_wide));
    });
  };
  const bool shifts_left = std::ranges::any_of(layers, &CLayer::shifts_left);
  f["shifted"] = shifts_left ? "vqshlq_s32(sum, vmaxq_s32(shift, vdupq_n_s32(0)))" : "sum";
  f["right"] = shifts_left ? "vminq_s32(shift, vdupq_n_s32(0))" : "shift";
  const bool fast = plan.code == CCode::fast;
  f["rows_at_once"] = fast ? "rows >= 4 ? 4 : 1" : "1";
  std::string text;
  const auto add = [&](bool is_needed, std::string_view function) {
    if (is_needed) text += fill(function, f);
  };
  add(needed(CKernel::row, CKernel::depthwise), kClamp);
  add(needed(CKernel::row, CKernel::depthwise), kWord);
  add(needed(CKernel::row, CKernel::convolve), kSetRow);
  add(needed(CKernel::row, CKernel::convolve), kBegin);
  add(needed(CKernel::row, CKernel::convolve), kPairOfSumsX86);
  add(needed(CKernel::row, CKernel::depthwise), kProductsX86);
  add(needed(CKernel::convolve, CKernel::depthwise), kWindow);
  add(needed(CKernel::convolve, CKernel::convolve), kTakeWindow);
  add(fast && needed(CKernel::depthwise, CKernel::depthwise), kTwoValues);
  add(needed(CKernel::depthwise, CKernel::depthwise), kTakeChannel);
  for (const Ending ending :
       {Ending{}, Ending{.twice = true, .wide = false}, Ending{.twice = false, .wide = true}}) {
    const auto [twice, wide] = ending;
    if (twice && plan.rounding == Rounding::double_rounding) continue;
    f["twice"] = twice ? "_twice" : wide ? "_wide" : "";
    f["code"] = wide ? "int16_t" : "int8_t";
    f["width"] = wide ? "h" : "b";
    f["store"] = wide ? kStoreWideX86 : kStoreX86;
    // Both widths rescale by the same functions.
    const bool has_rescale = wide && needed(CKernel::row, CKernel::depthwise, Ending{});
    f["rescale"] = twice ? c_rescale_twice(plan) : "rescale";
    add(needed(CKernel::row, CKernel::depthwise, ending), kValueOf);
    const bool rounds_twice = twice || plan.rounding == Rounding::double_rounding;
    f["half"] = rounds_twice ? "(int32_t)1 << 30" : "0";
    f["lower"] = rounds_twice ? "_mm_add_epi32(high, _mm_srai_epi32(high, 31))" : "high";
    if (needed(CKernel::row, CKernel::depthwise, ending)) {
      const bool floats = !rounds_twice && plan.rounding == Rounding::fp32;
      text += fmt::format("#ifdef {}_X86\n{}\n{}#endif\n\n", plan.macro,
                          has_rescale ? "" : fill(floats ? kRescaleX86Float : kRescaleX86, f),
                          fill(kWriteX86, f));
    }
    const bool calls_four = rounds_twice && std::ranges::any_of(layers, [](const CLayer& layer) {
                              return layer.calls.contains(CFunction::rescale_four);
                            });
    const bool has_four = has_rescale || (wide && calls_four);
    if (!has_four && (needed(CKernel::row, CKernel::depthwise, ending) || calls_four)) {
      text += fmt::format("#ifdef {}_MVE\n{}#endif\n\n", plan.macro,
                          fill(rescale_four(plan, twice), f));
    }
    if (needed(CKernel::row, CKernel::convolve, ending)) {
      const bool rows = fast && needed(CKernel::rows, CKernel::convolve, ending);
      text += fmt::format(
          "#if defined({0}_MVE)\n{1}#elif defined({0}_X86)\n{2}#else\n{3}{4}{5}#endif\n\n",
          plan.macro, fill(kOutputsMve, f), fill(kOutputsX86, f), fill(kSumsOfRow, f),
          rows ? fill(kSumsOfRows, f) : "", fill(rows ? kOutputsOfRows : kOutputsOfRow, f));
    }
    add(needed(CKernel::rows, CKernel::rows, ending), kManyRows);
    add(needed(CKernel::convolve, CKernel::convolve, ending), kConvolve);
    f["by_3x3"] = fast ? fill(kBy3x3, f) : "";
    for (const std::string_view function :
         {kDepthwiseX86, kSlideNear, fast ? kSlide3x3 : "", kDepthwise}) {
      add(needed(CKernel::depthwise, CKernel::depthwise, ending), function);
    }
  }
  return text + lstm_text(plan, layers);
}

}  // namespace octet::detail
