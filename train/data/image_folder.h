#pragma once

#include <octet/train/data/data_format.h>
#include <octet/train/data/resize_image.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace octet {

/// Reads JPEG, PNG and BMP files, each an example of the class that list_class_files() gives it, as
/// bytes [height, width, 3], or [height, width, 1] where all are grey or DataOptions::grey is set.
/// All are resized to DataOptions::height and width, as resize_image() does; where these are 0, all
/// have to be of one size. Decoded on all threads, with equal results on any number. Throws as
/// list_class_files(); FormatError, which names the file, for one that is damaged or of another
/// size; InvalidArgument where one example takes more than DataOptions::max_bytes, and where this
/// build reads no images (OCTET_IMAGES). Where all of them take more, every file is decoded once,
/// to find those that cannot be read, and then anew for each batch: see DecodingReader.
LoadedData load_image_folder(const std::filesystem::path& folder, const DataOptions& options = {});

/// The pixels of a JPEG, PNG or BMP file, [height, width, channels], resized to a size of 1 or 3
/// channels. Throws as read_file(), image_info() and decode_image().
std::vector<std::uint8_t> read_image(const std::filesystem::path& path, const PixelSize& size);

/// Whether load_image_folder() finds files there.
bool is_image_folder(const std::filesystem::path& folder);

}  // namespace octet
