// C source of a model with a front end: sound in, the library's features and classes out.

#include <octet/deploy/tflite/reader.h>
#include <octet/deploy/tflite/writer.h>
#include <octet/frontend/log_mel.h>
#include <octet/layers/layers.h>
#include <octet/layers/lower.h>
#include <octet/layers/quantize/quantize_model.h>
#include <octet/tests/core/thrown.h>
#include <octet/tests/deploy/c_programs.h>
#include <octet/tests/frontend/sounds.h>
#include <octet/tests/layers/layer_testing.h>

namespace octet::test::c_source_front_end_test {
namespace {

/// A network for six frames of a front end.
IntegerModel hearing(const LogMel& front_end, const std::string& description, Rounding rounding,
                     bool flat = false) {
  const auto channels = static_cast<Index>(front_end.channels());
  const Shape example = flat ? Shape{6 * channels} : Shape{6, channels};
  Model model("hearing");
  Value x = model.input(example, "x");
  if (!flat) x = model.add(Flatten(), model.add(Conv1D(4, 3, Activation::relu), x));
  model.output(model.add(Dense(3, Activation::softmax), x));
  model.build(1);
  Model quantized = quantize_model(model, {.rounding = rounding});
  calibrate(quantized, random_tensor(example.with_batch(20), 1));
  IntegerModel lowered = lower(quantized);
  lowered.metadata[kFrontEndKey] = description;
  return from_tflite(to_tflite(lowered));
}

/// The model's input and output for a sound that is cut, or followed by silence, as training does.
std::string heard(const IntegerModel& model, const LogMel& front_end,
                  std::vector<std::int16_t> sound, Rounding rounding) {
  sound.resize(front_end.axes() * (front_end.window() + 5 * front_end.hop()));
  Interpreter interpreter(model, {.rounding = rounding});
  std::vector<float> values;
  for (const std::uint16_t feature : front_end.features(sound)) {
    values.push_back(static_cast<float>(front_end.to_byte(feature)) / 255.0F);
  }
  const ModelTensor& input = model.tensors[static_cast<std::size_t>(model.inputs[0])];
  quantize(values, input.quantization, interpreter.input<std::int8_t>(), quantize_mode(rounding));
  std::string bytes;
  const auto add = [&](std::span<const std::byte> end) {
    for (const std::byte b : end) bytes += static_cast<char>(b);
  };
  add(interpreter.input_bytes());
  interpreter.invoke();
  add(interpreter.output_bytes());
  return bytes;
}

// For each sound its length and samples; as a whole, and in pieces with a frame that is not whole
// before it is reset.
constexpr std::string_view kMain = R"(#include <stdio.h>
#include <string.h>
#include "hears.h"

int main(void)
{
    static hears_front_end state, stream;
    static int16_t sound[20000];
    static int8_t x[HEARS_INPUT_SIZE], again[HEARS_FRAMES * HEARS_FRAME_CODES], y[HEARS_OUTPUT_SIZE];
    int32_t samples;
    if (hears_features(0, sound, 1, x) != HEARS_ERROR_NULL) return 1;
    if (hears_features(&state, 0, 1, x) != HEARS_ERROR_NULL) return 1;
    if (hears_features(&state, sound, 1, 0) != HEARS_ERROR_NULL) return 1;
    if (hears_front_end_reset(0) != HEARS_ERROR_NULL) return 1;
    memset(&stream, 0x55, sizeof stream);
    if (hears_front_end_take(&stream, sound, 1, again, &samples) != -1) return 7;
    while (fread(&samples, sizeof samples, 1, stdin) == 1) {
        int32_t at = 0, frames = 0, whole;
        const size_t numbers = (size_t)samples * HEARS_SOUND_AXES;
        if (fread(sound, sizeof *sound, numbers, stdin) != numbers) return 2;
        if (hears_features(&state, sound, samples, x) != HEARS_OK) return 3;
        if (hears_invoke(x, y) != HEARS_OK) return 4;
        fwrite(x, sizeof x, 1, stdout);
        fwrite(y, sizeof y, 1, stdout);
        hears_front_end_reset(&stream);
        while (at < samples && frames < HEARS_FRAMES) {
            const int32_t left = samples - at;
            at += hears_front_end_take(&stream, sound + at * HEARS_SOUND_AXES,
                                       left < 61 ? left : 61, again + frames * HEARS_FRAME_CODES,
                                       &whole);
            frames += whole;
        }
        if (memcmp(x, again, (size_t)(frames * HEARS_FRAME_CODES)) != 0) return 5;
        if (samples >= HEARS_SOUND_SIZE && frames != HEARS_FRAMES) return 6;
    }
    return 0;
}
)";

class CSourceFrontEnd : public CompiledC {};

TEST_F(CSourceFrontEnd, SoundGivesTheLibrarysFeaturesAndClasses) {
  LogMelOptions fine = micro_speech(16000);
  fine.window_ms = 32;
  fine.channels = 12;
  fine.full_scale = 500;
  LogMelOptions shaken = vibration(400);
  shaken.window_ms = 320;
  shaken.hop_ms = 160;
  shaken.channels = 7;
  shaken.axes = 3;
  LogMelOptions cepstra = mfcc(8000);
  cepstra.axes = 2;
  cepstra.even_smoothing = 0.1F;
  const std::vector<std::tuple<LogMelOptions, Rounding>> cases = {
      {plain_log_mel(8000), Rounding::fp32},
      {fine, Rounding::double_rounding},
      {shaken, Rounding::fp32},
      {cepstra, Rounding::fp32}};
  for (const auto& [options, rounding] : cases) {
    const LogMel front_end(options);
    const IntegerModel model =
        hearing(front_end, front_end.description(), rounding, front_end.options().rms);
    std::string in;
    std::string expected;
    for (const char* kind : {"noise", "square", "impulses"}) {
      for (const std::int32_t samples : {0, 500, 1041, 4000}) {
        const auto sound = drawn_sound(kind, front_end.axes() * static_cast<std::size_t>(samples));
        in.append(reinterpret_cast<const char*>(&samples), sizeof samples);
        in.append(reinterpret_cast<const char*>(sound.data()), sound.size() * sizeof sound[0]);
        expected += heard(model, front_end, sound, rounding);
      }
    }
    project_.write(to_c_source(model, "hears"));
    project_.write("main.c", std::string(kMain));
    write_file_atomic(project_.path("in"), in);
    const Words flags = joined(kStrict, kTrapUndefined);
    for (const std::string& compiler : c_compilers()) {
      project_.build(compiler, joined({"-std=c99"}, flags), "main", {"hears.c", "main.c"});
      const ProcessResult result = project_.run_on("main", "in");
      EXPECT_EQ(result.exit_code, 0);
      EXPECT_EQ(result.out, expected) << front_end.description();
    }
  }
  project_.build(c_compilers().front(),
                 joined({"-std=c++17", "-x", "c++", "-fsyntax-only"}, kStrict), "nothing",
                 {"hears.c"});
}

TEST(CSourceFrontEndRefusals, FrontEndsThatDoNotFitAreRefused) {
  const LogMel front_end(plain_log_mel(8000));
  LogMelOptions other = plain_log_mel(8000);
  other.channels = 39;
  const std::vector<std::pair<std::string, const char*>> wrong = {
      {LogMel(other).description(), "or [1, frames x 39] for its front end of 39 channels"},
      {"plp", "expected 'log-mel'"}};
  for (const auto& [description, words] : wrong) {
    const IntegerModel model = hearing(front_end, description, Rounding::fp32);
    expect_throws<FormatError>([&] { to_c_source(model, "hears"); }, {words});
  }
}

}  // namespace
}  // namespace octet::test::c_source_front_end_test
