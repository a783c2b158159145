#pragma once

#include <octet/train/data/dataset.h>

#include <filesystem>

namespace octet {

/// Reads one file of CIFAR-10's binary version (A. Krizhevsky,
/// https://www.cs.toronto.edu/~kriz/cifar.html), plain or gzipped: records of 3073 bytes, a label
/// in [0, 10) and 32 x 32 pixels as a red, a green and a blue plane. The images become
/// [32, 32, 3], x = byte / 255. The set is named after the file. Throws IoError where the file
/// cannot be read, FormatError for anything else than whole records, for a label of 10 or more,
/// and for a gzipped file of more than 1 GiB.
Dataset read_cifar10(const std::filesystem::path& file);

/// Reads data_batch_1.bin to data_batch_5.bin, the training images in this order, and
/// test_batch.bin of `directory`. The set is named after the directory. Throws as read_cifar10(),
/// and IoError where a file is missing.
DataSplit load_cifar10(const std::filesystem::path& directory);

}  // namespace octet
