#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/set_name.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr int kClasses = 10;
constexpr Index kImageSide = 32;
constexpr Index kChannels = 3;
constexpr std::size_t kPlaneBytes = kImageSide * kImageSide;
constexpr std::size_t kImageBytes = kPlaneBytes * kChannels;
constexpr std::size_t kRecordBytes = 1 + kImageBytes;
constexpr std::size_t kRecordsAtOnce = 256;

constexpr std::string_view kHint =
    "; was the download interrupted, or is it another format (CIFAR-100 has records of 3074 bytes, "
    "the Python version is pickled)?";

/// Images and labels of files, one after the other.
class Records {
 public:
  void append(const fs::path& path) {
    const std::string file = path.string();
    ByteSource source(path);
    if (!source.gzipped()) {
      check_size(source.file_size(), file);
      pixels_.reserve(pixels_.size() + source.file_size() / kRecordBytes * kImageBytes);
    }
    std::vector<std::uint8_t> piece(kRecordsAtOnce * kRecordBytes);
    std::uint64_t bytes = 0;
    while (const std::size_t got = source.read(piece)) {
      bytes += got;
      if (source.gzipped() && pixels_.size() + got > kMostGzipped) {
        throw FormatError(fmt::format(
            "{}: gzipped images may come to {} bytes at most; unpack them", file, kMostGzipped));
      }
      if (got % kRecordBytes != 0) check_size(bytes, file);
      for (std::size_t at = 0; at < got; at += kRecordBytes) {
        append_record(std::span(piece).subspan(at, kRecordBytes), file, bytes - got + at);
      }
    }
    check_size(bytes, file);
  }

  Dataset to_dataset(std::string name) && {
    return Dataset::from_bytes(std::move(name), {kImageSide, kImageSide, kChannels},
                               std::move(pixels_), std::move(labels_), kClasses);
  }

 private:
  static void check_size(std::uint64_t bytes, const std::string& file) {
    if (bytes > 0 && bytes % kRecordBytes == 0) return;
    throw FormatError(
        fmt::format("{}: expected CIFAR-10 records of {} bytes each, found {} bytes, {} records "
                    "and {} bytes more{}",
                    file, kRecordBytes, bytes, bytes / kRecordBytes, bytes % kRecordBytes, kHint));
  }

  void append_record(std::span<const std::uint8_t> record, const std::string& file,
                     std::uint64_t place) {
    if (record[0] >= kClasses) {
      throw FormatError(fmt::format("{}: expected a label of 0 to 9 in record {}, found {}{}", file,
                                    place / kRecordBytes, record[0], kHint));
    }
    labels_.push_back(record[0]);
    const auto planes = record.subspan(1);
    const std::size_t begin = pixels_.size();
    pixels_.resize(begin + kImageBytes);
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      std::uint8_t* out = pixels_.data() + begin + channel;
      for (std::size_t i = 0; i < kPlaneBytes; ++i) {
        out[i * kChannels] = planes[channel * kPlaneBytes + i];
      }
    }
  }

  std::vector<std::uint8_t> pixels_;
  Labels labels_;
};

constexpr std::array<const char*, 5> kTrainFiles = {"data_batch_1.bin", "data_batch_2.bin",
                                                    "data_batch_3.bin", "data_batch_4.bin",
                                                    "data_batch_5.bin"};
constexpr const char* kTestFile = "test_batch.bin";

void check_present(const fs::path& directory, const char* name) {
  std::error_code failure;
  if (fs::exists(directory / name, failure)) return;
  throw IoError(
      fmt::format("load_cifar10: '{}' has no {}; expected data_batch_1.bin to data_batch_5.bin and "
                  "test_batch.bin there, CIFAR-10's binary version (cifar-10-batches-bin)",
                  directory.string(), name));
}

}  // namespace

Dataset read_cifar10(const fs::path& file) {
  Records records;
  records.append(file);
  return std::move(records).to_dataset(set_name(file));
}

DataSplit load_cifar10(const fs::path& directory) {
  // Before the first is read.
  for (const char* name : kTrainFiles) check_present(directory, name);
  check_present(directory, kTestFile);
  Records train;
  for (const char* name : kTrainFiles) train.append(directory / name);
  Records test;
  test.append(directory / kTestFile);
  const std::string name = set_name(directory);
  return {std::move(train).to_dataset(name), std::move(test).to_dataset(name)};
}

}  // namespace octet
