#pragma once

#include <octet/core/shape.h>
#include <octet/core/tensor.h>
#include <octet/train/data/dataset.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace octet {

/// A file that holds one example, and the XXH64 of the values that it has been decoded to.
struct DecodedFile {
  std::filesystem::path path;
  std::uint64_t hash = 0;
};

/// The XXH64 of values of type std::uint8_t or float, for DecodedFile.
template <class T>
std::uint64_t hash_of_values(std::span<const T> values);

/// What DecodingReader reads: files of one example each, which decode() makes values of `shape`. It
/// is called from any thread, also for several files at once.
template <class T>
struct FileExampleSet {
  std::vector<DecodedFile> files;
  Shape shape;
  Labels labels;
  int classes = 0;
  std::function<std::vector<T>(const std::filesystem::path& file)> decode;
};

/// Decodes the files of a batch whenever it is asked for, on all threads, and keeps none: features
/// are bytes / 255 where T is std::uint8_t, else floats. Throws what decode() throws, and
/// FormatError, which names the file, where it no longer holds what it was first decoded to.
template <class T>
class DecodingReader : public DatasetReader {
 public:
  explicit DecodingReader(FileExampleSet<T> set);

  std::size_t size() const override { return set_.files.size(); }
  Shape example_shape() const override { return set_.shape; }
  int classes() const override { return set_.classes; }
  std::span<const std::int32_t> labels() const override { return set_.labels; }
  Batch read(std::span<const std::uint32_t> rows) override;

 private:
  void decode_to(const DecodedFile& file, T* out) const;

  FileExampleSet<T> set_;
};

extern template std::uint64_t hash_of_values(std::span<const std::uint8_t> values);
extern template std::uint64_t hash_of_values(std::span<const float> values);
extern template class DecodingReader<std::uint8_t>;
extern template class DecodingReader<float>;

}  // namespace octet
