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
/// The most bytes that a gzipped file, or the gzipped files of a set together, may come to.
constexpr std::uint64_t kMostGzipped = std::uint64_t{1} << 30;
/// What deflate makes of one byte at most.
constexpr std::uint64_t kMostOfOneByte = 1032;
/// A label is a byte in the file and an int32 in the data set.
constexpr std::uint64_t kBytesOfLabel = 1 + sizeof(std::int32_t);
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

/// How many bytes can follow a header of `header` bytes, and in words why not more.
std::pair<std::uint64_t, std::string> most_values(const ByteSource& source, std::uint64_t header) {
  if (!source.gzipped()) {
    const std::uint64_t follow = source.file_size() - header;
    return {follow, fmt::format("only {} follow; was the download interrupted?", follow)};
  }
  const std::uint64_t inflated = kMostOfOneByte * source.file_size();
  if (inflated < kMostGzipped) {
    return {inflated,
            fmt::format("{} gzipped bytes come to {} at most; was the download interrupted?",
                        source.file_size(), inflated)};
  }
  return {kMostGzipped, fmt::format("a gzipped set may have {} at most; unpack it", kMostGzipped)};
}

/// The number of values that `shape` promises, once it is known to be credible.
std::uint64_t check_promise(const ByteSource& source, const Shape& shape, const std::string& file) {
  const auto [limit, why] = most_values(source, 4 + 4 * static_cast<std::uint64_t>(shape.rank()));
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (empty) check_empty(shape, file);
  std::uint64_t promised = empty ? 0 : 1;
  for (const Index extent : shape) {
    // limit < 2^63 and an extent < 2^32: compare by division, as the product may overflow.
    if (!empty && promised > limit / static_cast<std::uint64_t>(extent)) {
      throw FormatError(fmt::format("{}: the header promises {} bytes, but {}", file,
                                    fmt::join(shape, " x "), why));
    }
    promised *= static_cast<std::uint64_t>(extent);
  }
  return promised;
}

/// An IDX file of which the header has been read.
class IdxFile {
 public:
  explicit IdxFile(const fs::path& path)
      : name_(path.string()),
        source_(path),
        shape_(read_header(source_, name_)),
        promised_(check_promise(source_, shape_, name_)) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t promised() const { return promised_; }
  bool gzipped() const { return source_.gzipped(); }

  /// All values, once.
  IdxArray read() {
    IdxArray result{shape_, {}};
    // In one piece, so that no array is copied to grow; its pages come as they are filled.
    result.values.reserve(promised_);
    prefer_huge_pages(result.values.data(), result.values.capacity());
    // Filled as bytes arrive, so that memory follows what the file holds and not what it promises.
    while (result.values.size() < promised_) {
      const std::size_t before = result.values.size();
      result.values.resize(std::min<std::uint64_t>(promised_, before + kPieceBytes));
      const std::size_t got = source_.read(std::span(result.values).subspan(before));
      if (before + got < result.values.size()) {
        throw FormatError(fmt::format("{}: the header promises {} bytes, but only {} follow", name_,
                                      promised_, before + got));
      }
    }
    std::array<std::uint8_t, 1> more{};
    if (source_.read(more) != 0) {
      throw FormatError(
          fmt::format("{}: there are bytes after the {} that the header promises; is it damaged?",
                      name_, promised_));
    }
    return result;
  }

 private:
  std::string name_;
  ByteSource source_;
  Shape shape_;
  std::uint64_t promised_;
};

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

/// Images and their labels, of which the headers have been read and belong together.
class LabelledFiles {
 public:
  LabelledFiles(const fs::path& images, const fs::path& labels) : images_(images), labels_(labels) {
    if (labels_.shape().rank() != 1) {
      throw FormatError(fmt::format(
          "{}: expected labels, a file of rank 1, found shape {}{}", labels_.name(),
          labels_.shape().to_string(),
          images_.shape().rank() == 1 ? "; are the images and labels files swapped?" : ""));
    }
    if (images_.shape().rank() < 2) {
      throw FormatError(
          fmt::format("{}: expected images, a file of rank 2 or more, found shape {}; "
                      "is it a labels file?",
                      images_.name(), images_.shape().to_string()));
    }
    if (images_.shape()[0] != labels_.shape()[0]) {
      throw FormatError(
          fmt::format("{} holds {} images, but {} holds {} labels; are they of the same set?",
                      images_.name(), images_.shape()[0], labels_.name(), labels_.shape()[0]));
    }
    if (images_.promised() == 0) {
      throw FormatError(fmt::format("{}: holds no images: shape {}", images_.name(),
                                    images_.shape().to_string()));
    }
  }

  const IdxFile& images() const { return images_; }
  /// What the gzipped files among the two come to in memory.
  std::uint64_t gzipped_bytes() const {
    return (images_.gzipped() ? images_.promised() : 0) +
           (labels_.gzipped() ? kBytesOfLabel * labels_.promised() : 0);
  }
  Labelled read() { return {images_.read(), labels_.read()}; }

 private:
  IdxFile images_;
  IdxFile labels_;
};

/// Before anything is inflated: a small file may come to much, and labels to five times that.
void check_gzipped_bytes(const fs::path& directory, std::uint64_t bytes) {
  if (bytes <= kMostGzipped) return;
  throw FormatError(fmt::format(
      "load_idx: the gzipped files of '{}' promise {} bytes, but a gzipped set may have {} at "
      "most; unpack them",
      directory.string(), bytes, kMostGzipped));
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

IdxArray read_idx(const fs::path& path) { return IdxFile(path).read(); }

DataSplit load_idx(const fs::path& directory) {
  const std::vector<fs::path> paths = find_files(directory, kStems);
  LabelledFiles train_files(paths[0], paths[1]);
  LabelledFiles test_files(paths[2], paths[3]);
  const Shape example = train_files.images().shape().without_batch();
  if (test_files.images().shape().without_batch() != example) {
    throw FormatError(
        fmt::format("load_idx: the test images of {} have shape {}, the train images "
                    "{}; are they of the same set?",
                    directory.string(), test_files.images().shape().without_batch().to_string(),
                    example.to_string()));
  }
  check_gzipped_bytes(directory, train_files.gzipped_bytes() + test_files.gzipped_bytes());
  Labelled train = train_files.read();
  Labelled test = test_files.read();
  const int classes = 1 + std::max(largest_label(train), largest_label(test));
  const std::string name = directory_name(directory);
  return {to_dataset(name, std::move(train), classes), to_dataset(name, std::move(test), classes)};
}

Dataset load_idx_test(const fs::path& directory) {
  const std::vector<fs::path> paths = find_files(directory, kTestStems);
  LabelledFiles files(paths[0], paths[1]);
  check_gzipped_bytes(directory, files.gzipped_bytes());
  Labelled test = files.read();
  const int classes = 1 + largest_label(test);
  return to_dataset(directory_name(directory), std::move(test), classes);
}

}  // namespace octet
