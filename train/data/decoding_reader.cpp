#include <fmt/core.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/decoding_reader.h>
#include <octet/train/data/fingerprint.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace octet {

template <class T>
std::uint64_t hash_of_values(std::span<const T> values) {
  return xxh64({reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

template std::uint64_t hash_of_values(std::span<const std::uint8_t> values);
template std::uint64_t hash_of_values(std::span<const float> values);

template <class T>
DecodingReader<T>::DecodingReader(FileExampleSet<T> set) : set_(std::move(set)) {}

template <class T>
void DecodingReader<T>::decode_to(const DecodedFile& file, T* out) const {
  const std::vector<T> values = set_.decode(file.path);
  const auto each = static_cast<std::size_t>(set_.shape.size());
  if (values.size() != each || hash_of_values(std::span<const T>(values)) != file.hash) {
    throw FormatError(fmt::format(
        "{}: expected the example that it held when the data were first read, found another; was "
        "the file replaced during the run?",
        file.path.string()));
  }
  std::ranges::copy(values, out);
}

template <class T>
Batch DecodingReader<T>::read(std::span<const std::uint32_t> rows) {
  const Shape shape = set_.shape.with_batch(static_cast<Index>(rows.size()));
  const auto each = static_cast<std::size_t>(set_.shape.size());
  const auto decode_all = [&](T* out) {
    parallel_tasks(rows.size(),
                   [&](std::size_t i) { decode_to(set_.files[rows[i]], out + i * each); });
  };
  Batch batch;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    const std::shared_ptr<std::uint8_t[]> bytes = allocate_array<std::uint8_t>(rows.size() * each);
    decode_all(bytes.get());
    batch.features = detail::TensorAccess::from_bytes(shape, bytes);
  } else {
    batch.features = Tensor(shape);
    decode_all(batch.features.mutable_data());
  }
  Labels labels;
  labels.reserve(rows.size());
  for (const std::uint32_t row : rows) labels.push_back(set_.labels[row]);
  batch.targets = std::move(labels);
  return batch;
}

template class DecodingReader<std::uint8_t>;
template class DecodingReader<float>;

}  // namespace octet
