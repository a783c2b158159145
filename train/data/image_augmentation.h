#pragma once

#include <octet/core/shape.h>
#include <octet/train/data/data_loader.h>
#include <octet/train/data/dataset.h>

namespace octet {

/// Random changes of images that leave what they show as it is. Each image draws its own, in the
/// order of the members: shifted, cropped, flipped, cut out. Pixels are moved and never mixed, so
/// that scales and limits of the values stay.
struct ImageAugmentation {
  /// Moves the image by a whole number of pixels, down or up by at most `shift_rows` and right or
  /// left by at most `shift_columns`, all equally likely; what comes in from outside is `fill`. A
  /// shift of 4 is the "pad by 4, crop to the old size" of many recipes.
  Index shift_rows = 0;
  Index shift_columns = 0;
  /// Cuts out a window of crop_height x crop_width at a place drawn from all that lie inside. The
  /// model's input has this size, and test images are cut by center_crop(). 0 and 0: no crop.
  Index crop_height = 0;
  Index crop_width = 0;
  /// The probability of mirroring left and right, in [0, 1].
  float flip = 0;
  /// Fills a square of this side, in pixels, with `fill`: rows y - side/2 to y - side/2 + side - 1
  /// around a pixel (y, x) drawn from the whole image, columns likewise, less what lies outside (T.
  /// DeVries and G. Taylor, "Improved regularization of convolutional neural networks with
  /// cutout", 2017). 0: none.
  Index cutout = 0;
  /// The value of pixels that are not there, in the features' own unit.
  float fill = 0;
};

/// Returns a function for TrainerOptions::augment and LoaderOptions::augment that augments features
/// [n, height, width] or [n, height, width, channels]; targets stay. What happens to an image
/// depends on the loader's seed, the epoch and the image's place in it alone: a run gives the same
/// bytes on any number of threads and after it is resumed. Throws InvalidArgument for negative
/// sizes, a flip outside [0, 1], a crop of one side and a fill that is not finite; the function
/// throws it for features of another rank, and for shifts and crops that do not fit the images.
Augment augment_images(const ImageAugmentation& options);

/// Returns the images with only the height x width pixels in their middle; from row
/// (old height - height) / 2, rounded down, and columns likewise. Throws InvalidArgument unless
/// the examples are [height, width] or [height, width, channels] and at least as large, and for a
/// set that is read.
Dataset center_crop(const Dataset& images, Index height, Index width);

}  // namespace octet
