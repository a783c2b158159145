// Small archives, data sets and files of weights that ask for much: what is allocated stays within
// the multiples of the file's size that docs/guarantees.md states.

#include <fmt/core.h>
#include <octet/core/archive.h>
#include <octet/core/error.h>
#include <octet/core/json_text.h>
#include <octet/import/weights/weight_file.h>
#include <octet/layers/architecture.h>
#include <octet/tests/import/safetensors_files.h>
#include <octet/tests/import/zip_files.h>
#include <octet/tests/robustness/archive_bytes.h>
#include <octet/tests/robustness/counting_new.h>
#include <octet/tests/train/data/npy_files.h>
#include <octet/tests/train/data/random_bytes.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/npy.h>
#include <octet/train/history.h>

#include <filesystem>

namespace octet::test::memory_bound_files_test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

TEST(MemoryBound, TensorsOfAnArchiveHaveBytesOfTheirOwn) {
  std::string tensors;
  for (int i = 0; i < 1000; ++i) {
    tensors += R"(,"t)" + std::to_string(i) + R"(":{"shape":[10000],"offset":0})";
  }
  const Bytes file = archive_bytes(R"({"texts":{},"tensors":{)" + tensors.substr(1) + "}}", 40000);
  const std::size_t peak = peak_of([&] {
    expect_mentions(message_of<FormatError>([&] { Archive::from_bytes(file, "f"); }),
                    "tensors share bytes");
  });
  EXPECT_LT(peak, 64 * file.size());
}

TEST(MemoryBound, AnArchiveOfNothingButNamesTakesFewTimesItsFile) {
  // What costs most per byte: empty lists, empty tensors, short texts.
  std::string lists;
  for (int i = 0; i < 100000; ++i) lists += ",[]";
  std::string tensors;
  std::string texts;
  for (int i = 0; i < 20000; ++i) {
    tensors += ",\"" + std::to_string(i) + R"(":{"shape":[0],"offset":0})";
    texts += ",\"" + std::to_string(i) + R"(":"")";
  }
  for (const std::string& header : {R"({"texts":{},"tensors":{},"x":[)" + lists.substr(1) + "]}",
                                    R"({"texts":{},"tensors":{)" + tensors.substr(1) + "}}",
                                    R"({"texts":{)" + texts.substr(1) + R"(},"tensors":{}})"}) {
    const Bytes file = archive_bytes(header);
    const std::size_t peak = peak_of([&] { Archive::from_bytes(file, "f"); });
    EXPECT_LT(peak, 64 * file.size());
    RecordProperty("times", static_cast<int>(peak / file.size()));
  }
}

TEST(MemoryBound, NestedTextIsRefusedBeforeItFillsTheStack) {
  for (const char* bracket : {"[", R"({"a":)"}) {
    std::string deep;
    for (int i = 0; i < 1000000; ++i) deep += bracket;
    expect_mentions(message_of<FormatError>([&] { detail::ParsedJson{deep}; }), "32 levels");
    EXPECT_THROW(parse_history(deep), FormatError);
    EXPECT_THROW(model_from_json(deep), FormatError);
    EXPECT_THROW(Archive::from_bytes(archive_bytes(deep), "f"), FormatError);
  }
  EXPECT_NO_THROW(detail::ParsedJson(std::string(32, '[') + std::string(32, ']')));
}

TEST(MemoryBound, DataTakesWhatItsFileHolds) {
  const ScratchDirectory scratch;
  const std::uint32_t count = 3 * kMiB + 1;
  const Bytes whole = idx_bytes({count}, Bytes(count));
  EXPECT_LT(peak_of([&] { read_idx(scratch.write("a", whole)); }), count + kMiB);
  const Bytes zipped = gzipped(whole);
  EXPECT_LT(peak_of([&] { read_idx(scratch.write("a", zipped)); }), count + kMiB);
  // 1032 values for every byte is the most that deflate can make of one.
  const auto path = scratch.write("a", gzipped(idx_bytes({1U << 30}, counting(9))));
  const std::size_t peak = peak_of([&] { EXPECT_THROW(read_idx(path), FormatError); });
  EXPECT_LT(peak, kMiB);
}

TEST(MemoryBound, AnNpyFileTakesWhatItHolds) {
  const ScratchDirectory scratch;
  const std::vector<float> values(kMiB + 1);
  const Bytes whole = npy_bytes("<f4", "(1048577,)", values);
  for (const Bytes& file : {whole, gzipped(whole)}) {
    const auto path = scratch.write("a", file);
    EXPECT_LT(peak_of([&] { read_npy(path); }), 4 * values.size() + kMiB);
  }
  for (const std::string shape : {"(268435456,)", "(4294967296, 4294967296)"}) {
    const auto path = scratch.write("a", gzipped(npy_file(npy_header("<f4", shape), counting(9))));
    EXPECT_LT(peak_of([&] { EXPECT_THROW(read_npy(path), FormatError); }), kMiB);
  }
}

TEST(MemoryBound, ASafetensorsFileTakesFewTimesItsSize) {
  const ScratchDirectory scratch;
  const Bytes halves(2 * kMiB);
  const auto path = scratch.write(
      "a", safetensors_bytes(
               R"({"a":{"dtype":"F16","shape":[1048576],"data_offsets":[0,2097152]}})", halves));
  EXPECT_LT(peak_of([&] { read_safetensors(path); }), 3 * halves.size() + kMiB);
  // A header of nothing but tensors without values.
  std::string header = "{";
  for (int i = 0; header.size() < kMiB; ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                          i == 0 ? "" : ",", i);
  }
  const auto names = scratch.write("b", safetensors_bytes(header + "}", {}));
  EXPECT_LT(peak_of([&] { read_safetensors(names); }), 64 * header.size() + kMiB);
  Bytes huge = safetensors_bytes("{}", {});
  huge[6] = 1;
  const auto cut = scratch.write("c", huge);
  EXPECT_LT(peak_of([&] { EXPECT_THROW(read_safetensors(cut), FormatError); }), kMiB);
}

TEST(MemoryBound, AnNpzFileTakesWhatItHolds) {
  const ScratchDirectory scratch;
  const Bytes array = npy_bytes("<f4", "(262144,)", std::vector<float>(kMiB / 4));
  const auto stored = scratch.write("a", zip_bytes({{"a.npy", array}, {"b.npy", array}}, false));
  // With a slab of 2 MiB, which the memory of tensors is cut from.
  EXPECT_LT(peak_of([&] { read_npz(stored); }), 6 * array.size() + 4 * kMiB);
  // A file of little that promises much.
  const Bytes promise = npy_file(npy_header("<f4", "(268435456,)"), counting(9));
  const auto bomb = scratch.write("b", zip_bytes({{"a.npy", promise}}, true));
  EXPECT_LT(peak_of([&] { EXPECT_THROW(read_npz(bomb), FormatError); }), kMiB);
}

TEST(MemoryBound, RowsOfALargeNpyFileStayInIt) {
  const ScratchDirectory scratch;
  constexpr std::size_t kRows = 8192;
  const auto features =
      scratch.write("x.npy", npy_bytes("|u1", "(8192, 1024)", std::vector<std::uint8_t>(8 * kMiB)));
  const auto labels =
      scratch.write("y.npy", npy_bytes("|u1", "(8192,)", std::vector<std::uint8_t>(kRows)));
  // A batch of 100 examples takes 4 bytes a value, tensors a slab of 2 MiB.
  EXPECT_LT(peak_of([&] {
              const Dataset data = load_npy(features, labels, 2, kMiB);
              for (std::size_t row = 0; row + 100 <= kRows; row += 100) data.batch(row, row + 100);
            }),
            4 * std::size_t{100} * 1024 + 16 * kRows + 2 * kMiB);
}

TEST(MemoryBound, ACifarFileTakesTwiceItsSize) {
  const ScratchDirectory scratch;
  constexpr std::size_t kBytes = 1000 * 3073;
  const auto plain = scratch.write("a", Bytes(kBytes));
  EXPECT_LT(peak_of([&] { read_cifar10(plain); }), 2 * kBytes + kMiB);
  const auto packed = scratch.write("b", gzipped(Bytes(kBytes)));
  EXPECT_LT(peak_of([&] { read_cifar10(packed); }), 3 * kBytes + kMiB);
}

TEST(MemoryBound, ACsvFileTakesFewTimesItsSize) {
  const ScratchDirectory scratch;
  const auto peak = [&](const std::string& text, const CsvOptions& options) {
    const auto path = scratch.write("a", Bytes(text.begin(), text.end()));
    return peak_of([&] {
      try {
        load_csv(path, options);
      } catch (const FormatError&) {
        // A file of nothing but separators is refused.
      }
    });
  };
  // The most values that a file can hold, one more than a vector's capacity before it grows.
  std::string column;
  for (std::size_t i = 0; i <= kMiB; ++i) column += "1\n";
  const CsvOptions features = {.header = false, .targets = CsvTargets::features};
  EXPECT_LT(peak(column, features), 16 * column.size() + 8 * kMiB);
  std::string pairs;
  for (std::size_t i = 0; i <= kMiB; ++i) pairs += "1,1\n";
  EXPECT_LT(peak(pairs, {.header = false}), 16 * pairs.size() + 8 * kMiB);
  EXPECT_LT(peak(std::string(kMiB - 1, ','), {}), 144 * kMiB);
}

/// The test files of a set in which `count` images of one pixel are promised.
void write_test_set(const ScratchDirectory& scratch, std::uint32_t count, const Bytes& images,
                    const Bytes& labels, bool gzip) {
  const auto write = [&](const std::string& name, const Bytes& bytes) {
    scratch.write(name, gzip ? gzipped(bytes) : bytes);
  };
  write("t10k-images-idx3-ubyte", idx_bytes({count, 1, 1}, images));
  write("t10k-labels-idx1-ubyte", idx_bytes({count}, labels));
}

TEST(MemoryBound, ADataSetTakesWhatItsFilesHoldAndFourBytesALabel) {
  constexpr std::size_t kCount = 3 * kMiB + 1;
  for (const bool gzip : {false, true}) {
    const ScratchDirectory scratch;
    write_test_set(scratch, kCount, Bytes(kCount), Bytes(kCount), gzip);
    EXPECT_LT(peak_of([&] { load_idx_test(scratch.path()); }), 6 * kCount + kMiB);
  }
}

TEST(MemoryBound, WhatTheGzippedFilesOfASetComeToIsKnownBeforeTheyAreInflated) {
  // As images alone it would do; with their labels it comes to more than 1 GiB.
  constexpr std::uint32_t kCount = 180000000;
  const Bytes noise = random_bytes(200000);
  const ScratchDirectory scratch;
  write_test_set(scratch, kCount, noise, noise, true);
  const std::size_t peak = peak_of([&] {
    const auto message = message_of<FormatError>([&] { load_idx_test(scratch.path()); });
    expect_mentions(message, "promise 1080000000 bytes, but a gzipped set may have 1073741824");
  });
  EXPECT_LT(peak, kMiB);
  // Two sets that would do, one beside the other.
  write_test_set(scratch, kCount / 2, noise, noise, true);
  for (const std::string file : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
    std::filesystem::copy(scratch.path() / ("t10k" + file), scratch.path() / ("train" + file));
  }
  expect_mentions(message_of<FormatError>([&] { load_idx(scratch.path()); }), "promise 1080000000");
  expect_mentions(message_of<FormatError>([&] { load_idx_test(scratch.path()); }),
                  "but only 200000 follow");
}

}  // namespace
}  // namespace octet::test::memory_bound_files_test
