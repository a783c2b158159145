#include <octet/core/buffer.h>
#include <octet/core/tensor_internal.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/byte_source.h>
#include <octet/train/data/npy_header.h>
#include <octet/train/data/npy_reader.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace octet {

std::uint64_t NpyRows::size_in_bytes() const {
  return static_cast<std::uint64_t>(shape.size()) * (are_bytes ? 1 : sizeof(float));
}

std::optional<NpyRows> find_npy_rows(const std::filesystem::path& path) {
  const std::string file = path.string();
  ByteSource source(path);
  const auto [header, begin] = read_npy_header(source, file);
  const bool are_bytes = header.descr == "|u1";
  if (source.gzipped() || header.fortran_order || (!are_bytes && header.descr != "<f4")) {
    return std::nullopt;
  }
  check_promise(source, header.shape, are_bytes ? 1 : sizeof(float), begin, file);
  return NpyRows{header.shape, begin, are_bytes};
}

NpyReader::NpyReader(const std::filesystem::path& path, NpyRows rows, Labels labels, int classes)
    : file_(path, std::numeric_limits<std::size_t>::max()),
      rows_(std::move(rows)),
      labels_(std::move(labels)),
      classes_(classes) {}

Batch NpyReader::read(std::span<const std::uint32_t> rows) {
  const Shape shape = example_shape().with_batch(static_cast<Index>(rows.size()));
  const auto each = static_cast<std::size_t>(rows_.size_in_bytes()) / size();
  const auto copy_to = [&](std::uint8_t* out) {
    for (const std::uint32_t row : rows) {
      const auto from = file_.bytes().subspan(rows_.begin + row * each, each);
      std::memcpy(out, from.data(), each);
      out += each;
    }
  };
  Batch batch;
  if (rows_.are_bytes) {
    const std::shared_ptr<std::uint8_t[]> bytes = allocate_array<std::uint8_t>(rows.size() * each);
    copy_to(bytes.get());
    batch.features = detail::TensorAccess::from_bytes(shape, bytes);
  } else {
    batch.features = Tensor(shape);
    copy_to(reinterpret_cast<std::uint8_t*>(batch.features.mutable_data()));
  }
  Labels labels;
  labels.reserve(rows.size());
  for (const std::uint32_t row : rows) labels.push_back(labels_[row]);
  batch.targets = std::move(labels);
  return batch;
}

}  // namespace octet
