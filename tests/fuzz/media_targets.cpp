#include <octet/core/error.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/resample.h>
#include <octet/train/data/resize_image.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "memory_file.h"
#include "targets.h"

namespace octet::fuzz {

void image(Data input) {
  if (!reads_images()) return;
  try {
    const ImageInfo info = image_info(input, "file");
    const std::vector<std::uint8_t> pixels = decode_image(input, "file");
    require(static_cast<Index>(pixels.size()) == info.height * info.width * 3,
            "an image has the pixels of its header");
    require(resize_image(pixels, {info.height, info.width, 3}, 3, 2).size() == 18,
            "an image can be resized");
  } catch (const FormatError&) {
    return;
  }
}

namespace {

/// Resamples a sound as if it had one channel, so that channels take no longer.
void resample(const Sound& sound) {
  const Resampler resampler(sound.rate, 16000);
  const std::size_t count = std::min(sound.values.size(), resampler.needed(1000));
  const std::vector<float> result =
      resampler.resample(std::span<const float>(sound.values).first(count), 1);
  require(result.size() == resampler.samples(count), "a sound has the samples of its new rate");
  require(std::ranges::all_of(result, [](float x) { return std::isfinite(x); }),
          "every resampled value is finite");
}

}  // namespace

void wav(Data input) {
  if (!reads_sounds()) return;
  static const MemoryFile file;
  file.assign(input);
  try {
    constexpr std::size_t kMostSamples = 100000;
    const Sound sound = read_wav(file.path(), kMostSamples);
    require(sound.channels > 0 && sound.values.size() % sound.channels == 0 &&
                sound.values.size() / sound.channels <= kMostSamples,
            "a sound has whole samples");
    require(std::ranges::all_of(sound.values, [](float x) { return std::isfinite(x); }),
            "every value is finite");
    resample(sound);
  } catch (const FormatError&) {
    return;
  } catch (const InvalidArgument&) {
    return;  // a rate of no simple ratio
  }
}

}  // namespace octet::fuzz
