#include <fmt/format.h>
#include <octet/core/error.h>
#include <octet/core/quant/quantize.h>
#include <octet/deploy/c/plan.h>
#include <octet/frontend/log_mel_tables.h>
#include <octet/runtime/kernel.h>

#include <array>
#include <utility>

#include "log_mel_text.h"

// The front end of a model that hears or feels: a signal in, the model's input out.

namespace octet::detail {
namespace {

constexpr std::string_view kFrontEndDeclarations = R"(/*
 * The front end: features of a signal of 16 bits as the model's input. The caller owns its state,
 * one for each signal that is heard at a time.
 *
 *   @front_end@
 *
 * A sample is @axes_text@; the value @range@ is 32768.
 * A frame is FRAME_SIZE samples, and the next one begins FRAME_HOP later; it has FRAME_CODES codes.
 * FRAMES of them, which are SOUND_SIZE samples, fill the input.
 */
#define @NAME@_SOUND_AXES @axes@
#define @NAME@_SOUND_RATE @rate@
#define @NAME@_SOUND_SIZE @sound_size@
#define @NAME@_FRAME_SIZE @window@
#define @NAME@_FRAME_HOP @hop@
#define @NAME@_FRAME_CODES @channels@
#define @NAME@_FRAMES @frames@

typedef struct {
    uint32_t noise[@noise@];
    int32_t count; /* samples that the next frame has */
    int16_t frame[@NAME@_FRAME_SIZE * @NAME@_SOUND_AXES];
    int16_t work[@work@];
} @name@_front_end;

/* Begins a sound. Returns OK or ERROR_NULL, as the function below. */
int @name@_front_end_reset(@name@_front_end *state);

/*
 * Takes samples until a frame is whole, and returns how many: call it again with the rest. *frames
 * is 1 where a frame is whole, whose codes are then written, else 0. Pointers may not be null.
 * Returns -1 where @name@_front_end_reset() did not begin the sound.
 */
int32_t @name@_front_end_take(@name@_front_end *state, const int16_t *sound, int32_t samples,
                              @type@ *codes, int32_t *frames);

/*
 * Writes the input of @name@_invoke() for a sound from its first sample on: what lies behind
 * SOUND_SIZE is not heard, and a shorter sound is followed by silence. Begins a sound itself.
 */
int @name@_features(@name@_front_end *state, const int16_t *sound, int32_t samples, @type@ *input);

)";

constexpr std::string_view kFrontEndFunctions =
    R"(static const @name@_log_mel_config @name@_front_end_config = {
    @axes@, @window@, @hop@, @half@, @bands@, @removes_mean@, @has_rms@, @cepstra@, @cepstrum_zero@, @cosines@,
    @first_bin@, @name@_log_mel_window_weights, @name@_log_mel_twiddles, @name@_log_mel_split_twiddles,
    @name@_log_mel_ends, @name@_log_mel_filters, @smoothing_bits@,
    {@even@, @odd@}, @least_left@, @gains@, @gain_shift@, @correction@, @logarithms@, @log_shift@
};

int @name@_front_end_reset(@name@_front_end *state)
{
    if (!state) {
        return @NAME@_ERROR_NULL;
    }
    for (int32_t i = 0; i < @noise@; ++i) {
        state->noise[i] = 0;
    }
    state->count = 0;
    return @NAME@_OK;
}

int32_t @name@_front_end_take(@name@_front_end *state, const int16_t *sound, int32_t samples,
                              @type@ *codes, int32_t *frames)
{
    const @name@_log_mel_config *c = &@name@_front_end_config;
    int32_t taken;
    if (state->count < 0 || state->count >= c->window) {
        return -1;
    }
    taken = @name@_log_mel_take(c, state->frame, &state->count, sound, samples);
    *frames = state->count == c->window;
    if (*frames) {
        uint16_t features[@NAME@_FRAME_CODES];
        @name@_log_mel_frame(c, state->frame, state->noise, state->work, features);
        @name@_log_mel_next(c, state->frame, &state->count);
        for (int32_t i = 0; i < @NAME@_FRAME_CODES; ++i) {
            const int32_t byte = (features[i] * 256 + @full@ / 2) / @full@;
            codes[i] = @name@_byte_codes[byte < 255 ? byte : 255];
        }
    }
    return taken;
}

int @name@_features(@name@_front_end *state, const int16_t *sound, int32_t samples, @type@ *input)
{
    static const int16_t silence[@NAME@_SOUND_AXES] = {0};
    int32_t frames = 0;
    if (!state || !sound || !input) {
        return @NAME@_ERROR_NULL;
    }
    @name@_front_end_reset(state);
    while (frames < @NAME@_FRAMES) {
        const int32_t left = samples > 0;
        int32_t whole = 0;
        const int32_t taken = @name@_front_end_take(state, left ? sound : silence,
                                                    left ? samples : 1, input, &whole);
        if (left) {
            sound += taken * @NAME@_SOUND_AXES;
            samples -= taken;
        }
        frames += whole;
        input += whole * @NAME@_FRAME_CODES;
    }
    return @NAME@_OK;
}

)";

/// The frames of the model's input. Throws FormatError where the front end does not fill it.
std::int64_t frames_of(const CPlan& plan) {
  const auto channels = static_cast<std::int32_t>(plan.front_end->channels());
  if (plan.inputs.size() == 1) {
    const std::vector<std::int32_t>& shape = plan.inputs.front().tensor->shape;
    const bool fits = (shape.size() == 3 || (shape.size() == 4 && shape[3] == 1)) &&
                      shape[0] == 1 && shape[2] == channels;
    if (fits) return shape[1];
    // Frames end to end, as a multilayer perceptron reads them.
    const bool is_flat = shape.size() == 2 && shape[0] == 1 && shape[1] % channels == 0;
    if (is_flat) return shape[1] / channels;
  }
  throw FormatError(fmt::format(
      "c source: expected a model of one input [1, frames, {0}], [1, frames, {0}, 1] or "
      "[1, frames x {0}] for its front end of {0} channels, found {1} inputs, the first of [{2}]",
      channels, plan.inputs.size(), fmt::join(plan.inputs.front().tensor->shape, ", ")));
}

/// The model's code for each byte, as training quantizes byte / 255.
std::vector<std::int32_t> byte_codes(const CPlan& plan) {
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255.0F;
  const ModelTensor& input = *plan.inputs.front().tensor;
  std::array<std::uint8_t, 256> bytes{};
  quantize_codes(values, input, plan.rounding, bytes.data());
  return codes_of(input.dtype, bytes);
}

/// Everything that the kernel names has the model's name in front.
std::string named(const CPlan& plan, std::string text) {
  constexpr std::string_view kPrefix = "log_mel_";
  const std::string prefix = plan.name + "_";
  for (std::size_t at = text.find(kPrefix); at != std::string::npos;
       at = text.find(kPrefix, at + prefix.size() + kPrefix.size())) {
    text.insert(at, prefix);
  }
  return text;
}

/// Lists what stands in the place of each @name@ in the texts above.
Fillings front_end_fillings(const CPlan& plan) {
  const LogMel& front_end = *plan.front_end;
  const LogMelTables& t = front_end.tables();
  Fillings f = plan.fillings(plan.inputs.front());
  const auto number = [&](const char* name, auto value) { f[name] = std::to_string(value); };
  const auto table = [&](const char* name, bool is_there) {
    f[name] = is_there ? fmt::format("{}_log_mel_{}", plan.name, name) : "0";
  };
  const std::int64_t frames = frames_of(plan);
  f["front_end"] = front_end.description();
  f["axes_text"] = t.axes == 1 ? "a number" : "a number for each of SOUND_AXES axes";
  f["range"] = fmt::format("{}", front_end.options().range);
  number("rate", front_end.options().sample_rate);
  number("full", front_end.options().full_scale);
  number("frames", frames);
  number("sound_size", t.window + (frames - 1) * t.hop);
  number("channels", t.features());
  number("noise", t.noise_size());
  number("work", t.work_size());
  number("axes", t.axes);
  number("window", t.window);
  number("hop", t.hop);
  number("half", t.half);
  number("bands", t.channels);
  number("removes_mean", t.removes_mean);
  number("has_rms", t.has_rms);
  number("cepstra", t.cepstra);
  number("cepstrum_zero", t.cepstrum_zero);
  number("first_bin", t.first_bin);
  number("smoothing_bits", t.smoothing_bits);
  number("even", t.smoothing[0]);
  number("odd", t.smoothing[1]);
  number("least_left", t.least_left);
  number("gain_shift", t.gain_shift);
  number("correction", t.correction);
  number("log_shift", t.log_shift);
  table("cosines", !t.cosines.empty());
  table("gains", !t.gains.empty());
  table("logarithms", !t.logarithms.empty());
  return f;
}

}  // namespace

std::string c_front_end_declarations(const CPlan& plan) {
  return plan.front_end ? fill(kFrontEndDeclarations, front_end_fillings(plan)) : "";
}

std::int64_t c_front_end_bytes(const CPlan& plan) {
  if (!plan.front_end) return 0;
  const LogMelTables& t = plan.front_end->tables();
  const std::size_t numbers = t.window_weights.size() + t.twiddles.size() +
                              t.split_twiddles.size() + t.ends.size() + t.filters.size() +
                              t.cosines.size() + t.gains.size() + t.logarithms.size();
  return static_cast<std::int64_t>(2 * numbers + 256);
}

std::string c_front_end(const CPlan& plan) {
  if (!plan.front_end) return "";
  const LogMelTables& t = plan.front_end->tables();
  std::string text(kLogMelKernel.substr(1));
  text += "\n";
  text += array_text("int16_t", "log_mel_window_weights", t.window_weights);
  text += array_text("int16_t", "log_mel_twiddles", t.twiddles);
  text += array_text("int16_t", "log_mel_split_twiddles", t.split_twiddles);
  text += array_text("int16_t", "log_mel_ends", t.ends);
  text += array_text("int16_t", "log_mel_filters", t.filters);
  if (!t.cosines.empty()) text += array_text("int16_t", "log_mel_cosines", t.cosines);
  if (!t.gains.empty()) text += array_text("int16_t", "log_mel_gains", t.gains);
  if (!t.logarithms.empty()) text += array_text("uint16_t", "log_mel_logarithms", t.logarithms);
  text = named(plan, std::move(text));
  text += array_text(c_type(plan.inputs.front().tensor->dtype), plan.name + "_byte_codes",
                     byte_codes(plan));
  return text + fill(kFrontEndFunctions, front_end_fillings(plan));
}

}  // namespace octet::detail
