#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/buffer.h>
#include <octet/core/error.h>
#include <octet/train/data/byte_source.h>
#include <octet/train/data/idx.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedByte = 0x08;
/// More axes than any data set has; keeps a stray byte from asking for 255 extents.
constexpr std::uint8_t kMaxRank = 8;
/// The most that a gzipped file may promise.
constexpr std::uint64_t kMaxValues = std::uint64_t{1} << 30;
constexpr std::size_t kPieceBytes = 1U << 20;

std::string_view type_name(std::uint8_t type) {
  switch (type) {
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "16-bit integers";
    case 0x0C:
      return "32-bit integers";
    case 0x0D:
      return "floats";
    case 0x0E:
      return "doubles";
    default:
      return "no type that IDX has";
  }
}

void read_header_bytes(ByteSource& source, std::span<std::uint8_t> out, const std::string& file) {
  if (source.read(out) != out.size()) {
    throw FormatError(fmt::format("{}: too short for an IDX header", file));
  }
}

Shape read_header(ByteSource& source, const std::string& file) {
  std::array<std::uint8_t, 4> magic{};
  read_header_bytes(source, magic, file);
  if (magic[0] != 0 || magic[1] != 0) {
    throw FormatError(fmt::format(
        "{}: expected an IDX file (first bytes 00 00 08 rank), found {:02x}; is it another format, "
        "or an error page saved by a download?",
        file, fmt::join(magic, " ")));
  }
  if (magic[2] != kUnsignedByte) {
    throw FormatError(
        fmt::format("{}: expected an IDX file of unsigned bytes (type 0x08), found "
                    "type 0x{:02x}: {}",
                    file, magic[2], type_name(magic[2])));
  }
  if (magic[3] == 0 || magic[3] > kMaxRank) {
    throw FormatError(
        fmt::format("{}: expected a rank of 1 to {}, found {}", file, kMaxRank, magic[3]));
  }
  std::vector<Index> dims;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> extent{};
    read_header_bytes(source, extent, file);
    Index value = 0;
    for (const std::uint8_t byte : extent) value = value * 256 + byte;
    dims.push_back(value);
  }
  return Shape(std::move(dims));
}

/// Of no values, but the other extents have to be some that a shape can have.
void check_empty(const Shape& shape, const std::string& file) {
  try {
    static_cast<void>(shape.size());
  } catch (const InvalidArgument& error) {
    throw FormatError(fmt::format("{}: {}", file, error.what()));
  }
}

/// The number of values that `shape` promises, once it is known to be credible.
std::uint64_t check_promise(const ByteSource& source, const Shape& shape, const std::string& file) {
  const std::uint64_t header = 4 + 4 * static_cast<std::uint64_t>(shape.rank());
  const std::uint64_t limit = source.gzipped() ? kMaxValues : source.file_size() - header;
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (empty) check_empty(shape, file);
  std::uint64_t promised = empty ? 0 : 1;
  for (const Index extent : shape) {
    // limit < 2^63 and an extent < 2^32: compare by division, as the product may overflow.
    if (!empty && promised > limit / static_cast<std::uint64_t>(extent)) {
      throw FormatError(fmt::format(
          "{}: the header promises {} bytes, but {}", file, fmt::join(shape, " x "),
          source.gzipped() ? fmt::format("a gzipped set may have {} at most", kMaxValues)
                           : fmt::format("only {} follow; was the download interrupted?", limit)));
    }
    promised *= static_cast<std::uint64_t>(extent);
  }
  return promised;
}

/// What the bytes of the file can come to: deflate makes 1032 of one at most.
std::uint64_t most_values(const ByteSource& source) {
  constexpr std::uint64_t kMostOfOne = 1032;
  return source.gzipped() ? kMostOfOne * source.file_size() : source.file_size();
}

struct Labelled {
  IdxArray images;
  IdxArray labels;
};

constexpr std::array<std::string_view, 4> kStems = {"train-images-idx3", "train-labels-idx1",
                                                    "t10k-images-idx3", "t10k-labels-idx1"};

constexpr std::span<const std::string_view> kTestStems = std::span(kStems).last(2);

/// One of the files named `stems`, all of which a set needs.
fs::path find_file(const fs::path& directory, std::string_view stem,
                   std::span<const std::string_view> stems) {
  const auto cut = stem.rfind('-');
  for (const char separator : {'-', '.'}) {
    std::string name(stem);
    name[cut] = separator;
    for (const std::string_view ending : {"-ubyte", "-ubyte.gz"}) {
      fs::path path = directory / (name + std::string(ending));
      std::error_code failure;
      if (fs::exists(path, failure)) return path;
    }
  }
  throw IoError(
      fmt::format("load_idx: '{0}' has no {1}-ubyte; expected {2}-ubyte there, each plain or with "
                  ".gz. To get MNIST: scripts/get_mnist.sh {0}",
                  directory.string(), stem, fmt::join(stems, "-ubyte, ")));
}

Labelled load_pair(const fs::path& image_path, const fs::path& label_path) {
  Labelled pair{read_idx(image_path), read_idx(label_path)};
  if (pair.labels.shape.rank() != 1) {
    throw FormatError(fmt::format(
        "{}: expected labels, a file of rank 1, found shape {}{}", label_path.string(),
        pair.labels.shape.to_string(),
        pair.images.shape.rank() == 1 ? "; are the images and labels files swapped?" : ""));
  }
  if (pair.images.shape.rank() < 2) {
    throw FormatError(
        fmt::format("{}: expected images, a file of rank 2 or more, found shape {}; "
                    "is it a labels file?",
                    image_path.string(), pair.images.shape.to_string()));
  }
  if (pair.images.shape[0] != pair.labels.shape[0]) {
    throw FormatError(fmt::format(
        "{} holds {} images, but {} holds {} labels; are they of the same set?",
        image_path.string(), pair.images.shape[0], label_path.string(), pair.labels.shape[0]));
  }
  if (pair.images.values.empty()) {
    throw FormatError(fmt::format("{}: holds no images: shape {}", image_path.string(),
                                  pair.images.shape.to_string()));
  }
  return pair;
}

Dataset to_dataset(std::string name, Labelled pair, int classes) {
  return Dataset::from_bytes(std::move(name), pair.images.shape.without_batch(),
                             std::move(pair.images.values),
                             Labels(pair.labels.values.begin(), pair.labels.values.end()), classes);
}

/// Names of sets go into checkpoints and metrics, which are UTF-8; those of folders are any bytes.
std::string as_utf8(const std::string& text) {
  using nlohmann::json;
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
      .get<std::string>();
}

std::string directory_name(const fs::path& directory) {
  const fs::path whole = fs::weakly_canonical(directory);
  return as_utf8(whole.has_filename() ? whole.filename().string() : whole.string());
}

/// The files named `stems` in `directory`.
std::vector<fs::path> find_files(const fs::path& directory,
                                 std::span<const std::string_view> stems) {
  std::error_code failure;
  if (!fs::is_directory(directory, failure)) {
    const std::string files = fmt::format("{}-ubyte", fmt::join(stems, "-ubyte, "));
    const std::string hint =
        fs::exists(directory, failure)
            ? "give the folder that holds it"
            : fmt::format("to get MNIST: scripts/get_mnist.sh {}", directory.string());
    throw IoError(
        fmt::format("load_idx: '{}' is no folder; expected one with {}, each plain or with .gz; {}",
                    directory.string(), files, hint));
  }
  std::vector<fs::path> files;
  for (const std::string_view stem : stems) files.push_back(find_file(directory, stem, stems));
  return files;
}

int largest_label(const Labelled& pair) { return *std::ranges::max_element(pair.labels.values); }

}  // namespace

IdxArray read_idx(const fs::path& path) {
  const std::string file = path.string();
  ByteSource source(path);
  IdxArray result;
  result.shape = read_header(source, file);
  const std::uint64_t promised = check_promise(source, result.shape, file);
  // In one piece where the file can hold that much, so that no array is copied to grow.
  result.values.reserve(std::min(promised, most_values(source)));
  prefer_huge_pages(result.values.data(), result.values.capacity());
  // Filled as bytes arrive, so that memory follows what the file holds and not what it promises.
  while (result.values.size() < promised) {
    const std::size_t before = result.values.size();
    result.values.resize(std::min<std::uint64_t>(promised, before + kPieceBytes));
    const auto piece = std::span(result.values).subspan(before);
    const std::size_t got = source.read(piece);
    if (got < piece.size()) {
      throw FormatError(fmt::format("{}: the header promises {} bytes, but only {} follow", file,
                                    promised, before + got));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (source.read(more) != 0) {
    throw FormatError(
        fmt::format("{}: there are bytes after the {} that the header promises; is it damaged?",
                    file, promised));
  }
  return result;
}

DataSplit load_idx(const fs::path& directory) {
  const std::vector<fs::path> files = find_files(directory, kStems);
  Labelled train = load_pair(files[0], files[1]);
  Labelled test = load_pair(files[2], files[3]);
  const Shape example = train.images.shape.without_batch();
  if (test.images.shape.without_batch() != example) {
    throw FormatError(fmt::format(
        "load_idx: the test images of {} have shape {}, the train images "
        "{}; are they of the same set?",
        directory.string(), test.images.shape.without_batch().to_string(), example.to_string()));
  }
  const int classes = 1 + std::max(largest_label(train), largest_label(test));
  const std::string name = directory_name(directory);
  return {to_dataset(name, std::move(train), classes), to_dataset(name, std::move(test), classes)};
}

Dataset load_idx_test(const fs::path& directory) {
  const std::vector<fs::path> files = find_files(directory, kTestStems);
  Labelled test = load_pair(files[0], files[1]);
  const int classes = 1 + largest_label(test);
  return to_dataset(directory_name(directory), std::move(test), classes);
}

}  // namespace octet
