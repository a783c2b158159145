#pragma once

#include <octet/core/shape.h>
#include <octet/train/data/dataset.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace octet {

/// The contents of one IDX file of unsigned bytes, row-major.
struct IdxArray {
  Shape shape;
  std::vector<std::uint8_t> values;
};

/// Reads an IDX file (Y. LeCun's format of the MNIST files: two zero bytes, type, rank, big-endian
/// 32-bit extents, values), plain or gzipped, whichever its first bytes say. Only unsigned bytes
/// (type 0x08). The header is checked before anything is allocated or inflated: against the size of
/// a plain file; against 1032 times that of a gzipped one, and 1 GiB.
/// Throws IoError where the file cannot be read, FormatError where it holds anything else than its
/// header promises, to the last byte.
IdxArray read_idx(const std::filesystem::path& path);

/// Reads the four files of an MNIST-like set in `directory`: train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; each plain or with .gz,
/// and with '.' in place of the '-' before "idx" as some mirrors have it. Images may have any
/// shape and may be named after their rank, train-images-idx4-ubyte for [n, height, width,
/// channels]; there are as many classes as the largest label of both sets plus 1; the set is named
/// after the directory (bytes that are no UTF-8 replaced by U+FFFD). The gzipped files of a set may
/// come to 1 GiB together, with 5 bytes a label. Throws IoError where a file is missing
/// or there are two of different ranks, FormatError where files do not belong together or come to
/// more.
DataSplit load_idx(const std::filesystem::path& directory);

/// The test images of such a set, from its two t10k files alone; there are as many classes as the
/// largest of their labels plus 1. Throws as load_idx() does.
Dataset load_idx_test(const std::filesystem::path& directory);

}  // namespace octet
