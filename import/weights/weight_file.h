#pragma once

#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/train/data/npy.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// A tensor of a file of weights.
struct WeightTensor {
  std::string name;
  /// As the file names it: "F32", "BF16", "I64", ...
  std::string type;
  Shape shape;
  /// Undefined where the type is no floating-point one: such numbers are no weights of a float
  /// model.
  Tensor values;
};

/// Reads a `.safetensors` file (huggingface/safetensors, "Format"): 8 bytes with the length of a
/// JSON header, which gives each tensor's type, shape and place, and the numbers, little-endian and
/// row-major. F64, F32, F16 and BF16 become floats, F64 rounded to the nearest. The tensors are in
/// the order in which they lie in the file. Throws IoError where the file cannot be read or is
/// larger than 2 GiB; FormatError for a header of more than 16 MiB, a type that the format does not
/// have, more than 8 axes, and unless the tensors fill the file without gaps or overlaps.
std::vector<WeightTensor> read_safetensors(const std::filesystem::path& path);

/// Writes such a file, of F32, the tensors in the order given and their numbers aligned to 8 bytes:
/// at every moment `path` holds what it held before or all of the new file. Throws InvalidArgument
/// for two tensors of one name, an undefined one, and names that are not UTF-8 or are
/// "__metadata__"; IoError.
void write_safetensors(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors);

/// Reads an `.npz` file, as numpy.savez() and savez_compressed() write it: a zip of `.npy` files,
/// each as read_npy() says; the tensors are named after them, without
/// ".npy", in the order of the zip. Throws IoError where the
/// file cannot be read or is larger than 2 GiB; FormatError for anything else in the zip, two
/// arrays of one name, checksums that are wrong, and for compressed arrays of more than 1032 times
/// their bytes in the file or of 1 GiB together.
std::vector<WeightTensor> read_npz(const std::filesystem::path& path);

/// The arrays of such a file by name, in the order of the zip. Throws as read_npz().
std::vector<std::pair<std::string, NpyArray>> read_npz_arrays(const std::filesystem::path& path);

/// The names of its arrays, which are not read. Throws as read_npz().
std::vector<std::string> npz_array_names(const std::filesystem::path& path);

/// Reads a file of weights of either kind, which its first bytes tell. Throws as the reader of the
/// kind, and FormatError for a file of another.
std::vector<WeightTensor> read_weight_file(const std::filesystem::path& path);

}  // namespace octet
