#pragma once

#include <octet/train/data/data_loader.h>
#include <octet/train/data/example_kind.h>
#include <octet/train/data/image_augmentation.h>

#include <string>
#include <string_view>
#include <vector>

namespace octet {

/// Random changes of examples, each drawn anew for every example and epoch, in the order of the
/// members. Images are features [height, width] or [height, width, channels], sequences [steps,
/// features]. Which changes suit which examples says augmentation_names(ExampleKind).
struct Augmentation {
  /// Turned around the middle by up to so many degrees, either way.
  float rotate = 0;
  /// Enlarged by a factor from 1 / (1 + scale) to 1 + scale, whose logarithm is uniform.
  float scale = 0;
  /// A window, whose sides are a share from 1 - crop to 1 of the image's, at a place inside, is
  /// enlarged to the whole image.
  float crop = 0;
  /// Shifted by up to so many pixels, flipped left and right with this probability, and a square of
  /// so many pixels cut out: see ImageAugmentation.
  Index shift = 0;
  float flip = 0;
  Index cutout = 0;
  /// x f, f from 1 - brightness to 1 + brightness; (x - mean) f + mean, of the whole image,
  /// likewise; (x - grey) f + grey, of the three channels of a pixel, likewise.
  float brightness = 0;
  float contrast = 0;
  float saturation = 0;
  /// A sequence is played faster by a factor from 1 / (1 + speed) to 1 + speed, its steps
  /// interpolated.
  float speed = 0;
  /// A sequence is moved by up to so many steps, earlier or later.
  Index time_shift = 0;
  /// From 0 to so many steps in a row, and features in a row, become `fill` (SpecAugment, D. Park
  /// et al., Interspeech 2019).
  Index time_mask = 0;
  Index frequency_mask = 0;
  /// The deviation of normal noise that is added to every value.
  float noise = 0;
  /// Each example becomes l x + (1 - l) y of another one of its batch, as its target does, with l
  /// of the distribution Beta(mixup, mixup) (H. Zhang et al., "mixup", ICLR 2018). Labels become
  /// shares of classes: the loss is categorical_cross_entropy().
  float mixup = 0;
  /// The value of what is not there, in the features' own unit.
  float fill = 0;

  bool operator==(const Augmentation&) const = default;
};

/// The names of the members.
std::vector<std::string_view> augmentation_names();

/// The names of the changes that suit examples of a kind: images are turned and coloured, sequences
/// and features of signals are played faster, moved and masked, noise and mixup suit all. Arrays of
/// two axes take what either takes.
std::vector<std::string_view> augmentation_names(ExampleKind kind);

/// Throws InvalidArgument, which names the change and lists those that suit, for one that does not
/// suit examples of this kind, which have the shape `example`.
void require_suitable(const Augmentation& augmentation, ExampleKind kind, const Shape& example);

/// Sets a member by its name. Throws InvalidArgument for another name, which lists the names, and
/// for a number outside its range.
void set_augmentation(Augmentation& augmentation, std::string_view name, double value);

/// Reads a JSON object of numbers by names: {"flip": 0.5, "rotate": 10}. Throws FormatError for
/// another text, InvalidArgument as set_augmentation().
Augmentation parse_augmentation(std::string_view json);

/// The members that are not 0 as such an object.
std::string to_text(const Augmentation& augmentation);

/// Throws InvalidArgument, which names the change, where one moves or hides what an example shows
/// (rotate, scale, crop, shift, flip, cutout, speed, time_shift, time_mask) and an example's
/// targets have places of their own, which stay: rank 2 or more, [height, width, classes] or
/// [steps, values]. From rank 3 on, places are of some features alone: frequency_mask hides them as
/// well.
void require_unmoved_targets(const Augmentation& augmentation, const Shape& target);

/// Returns a function for TrainerOptions::augment; none (empty) where nothing is changed. `classes`
/// are those of labels, which mixup needs. The same seed gives the same bytes on any number of
/// threads. Throws InvalidArgument as set_augmentation(), and for mixup without classes of labels
/// or tensors as targets; the function throws it for features of a rank that a change is not for,
/// and as require_unmoved_targets().
Augment augment(const Augmentation& augmentation, int classes = 0);

}  // namespace octet
