#pragma once

#include <octet/train/data/augmentation.h>

#include <string>

namespace octet::application {

/// Reads the value of --augment: a file of parse_augmentation(), or "flip=0.5,rotate=10". Throws
/// CLI::ValidationError for anything else.
Augmentation augmentation_of(const std::string& text);

/// The help of --augment: units, and which changes suit which examples.
std::string augment_help();

}  // namespace octet::application
