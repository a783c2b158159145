#include <fmt/format.h>
#include <fmt/ranges.h>
#include <octet/core/error.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/set_name.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kUnsignedByte = 0x08;
/// A label is a byte in the file and an int32 in the data set.
constexpr std::uint64_t kBytesOfLabel = 1 + sizeof(std::int32_t);

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
  if (magic[3] == 0 || magic[3] > kMaxFileRank) {
    throw FormatError(
        fmt::format("{}: expected a rank of 1 to {}, found {}", file, kMaxFileRank, magic[3]));
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

/// An IDX file of which the header has been read.
class IdxFile {
 public:
  explicit IdxFile(const fs::path& path)
      : name_(path.string()),
        source_(path),
        shape_(read_header(source_, name_)),
        promised_(check_promise(source_, shape_, 1,
                                4 + 4 * static_cast<std::uint64_t>(shape_.rank()), name_)) {}

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  std::uint64_t promised() const { return promised_; }
  bool gzipped() const { return source_.gzipped(); }

  /// All values, once.
  IdxArray read() { return {shape_, read_promised<std::uint8_t>(source_, promised_, name_)}; }

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

/// What stands in front of "idx" in the names of a set's files.
constexpr std::array<std::string_view, 4> kStems = {"train-images", "train-labels", "t10k-images",
                                                    "t10k-labels"};

constexpr std::span<const std::string_view> kTestStems = std::span(kStems).last(2);

/// The name of a file as MNIST has it, whose images are of rank 3.
std::string usual_name(std::string_view stem) {
  return fmt::format("{}-idx{}-ubyte", stem, stem.ends_with("labels") ? 1 : 3);
}

std::string usual_names(std::span<const std::string_view> stems) {
  std::vector<std::string> names;
  for (const std::string_view stem : stems) names.push_back(usual_name(stem));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The files of a set that `stem` begins the names of, one for each rank. Of a plain and a gzipped
/// file of one name, the plain one.
std::vector<fs::path> files_of(const fs::path& directory, std::string_view stem) {
  const int least = stem.ends_with("labels") ? 1 : 2;
  const Index most = stem.ends_with("labels") ? 1 : kMaxFileRank;
  std::vector<fs::path> found;
  for (Index rank = least; rank <= most; ++rank) {
    const std::string name = fmt::format("idx{}-ubyte", rank);
    std::vector<fs::path> of_rank;
    for (const std::string_view separator : {"-", "."}) {
      for (const std::string_view ending : {"", ".gz"}) {
        fs::path path = directory / fmt::format("{}{}{}{}", stem, separator, name, ending);
        std::error_code failure;
        if (fs::exists(path, failure)) of_rank.push_back(std::move(path));
      }
    }
    if (!of_rank.empty()) found.push_back(of_rank.front());
  }
  return found;
}

/// The file that `stem` begins the name of; a set needs one for each of `stems`.
fs::path find_file(const fs::path& directory, std::string_view stem,
                   std::span<const std::string_view> stems) {
  const std::vector<fs::path> found = files_of(directory, stem);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw IoError(fmt::format(
        "load_idx: '{0}' has no {1}; expected {2} there, each plain or with .gz, images of rank 2 "
        "to {3} with their rank behind idx. To get MNIST: scripts/get_mnist.sh {0}",
        directory.string(), usual_name(stem), usual_names(stems), kMaxFileRank));
  }
  throw IoError(fmt::format("load_idx: '{}' has {} and {}; leave one of them there",
                            directory.string(), found[0].filename().string(),
                            found[1].filename().string()));
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

/// The files named `stems` in `directory`.
std::vector<fs::path> find_files(const fs::path& directory,
                                 std::span<const std::string_view> stems) {
  std::error_code failure;
  if (!fs::is_directory(directory, failure)) {
    const std::string hint =
        fs::exists(directory, failure)
            ? "give the folder that holds it"
            : fmt::format("to get MNIST: scripts/get_mnist.sh {}", directory.string());
    throw IoError(
        fmt::format("load_idx: '{}' is no folder; expected one with {}, each plain or with .gz; {}",
                    directory.string(), usual_names(stems), hint));
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
  const std::string name = set_name(directory);
  return {to_dataset(name, std::move(train), classes), to_dataset(name, std::move(test), classes)};
}

Dataset load_idx_test(const fs::path& directory) {
  const std::vector<fs::path> paths = find_files(directory, kTestStems);
  LabelledFiles files(paths[0], paths[1]);
  check_gzipped_bytes(directory, files.gzipped_bytes());
  Labelled test = files.read();
  const int classes = 1 + largest_label(test);
  return to_dataset(set_name(directory), std::move(test), classes);
}

}  // namespace octet
