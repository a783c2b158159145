#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/decoding_reader.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/resize_image.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>
#include <octet/train/data/skipped_examples.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <memory>
#include <set>
#include <span>
#include <utility>

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFileBytes = std::size_t{1} << 28U;

const std::vector<std::string_view>& image_endings() {
  static const std::vector<std::string_view> endings = {".jpg", ".jpeg", ".png", ".bmp"};
  return endings;
}

/// Calls task(i) for every file on all threads, and erases the files, and what `keep` moves to
/// another place, of which it threw.
void read_each(std::vector<ClassFile>& files, SkippedExamples& skipped,
               FunctionRef<void(std::size_t i)> task,
               FunctionRef<void(std::size_t from, std::size_t to)> keep) {
  std::vector<std::exception_ptr> failures(files.size());
  parallel_tasks(files.size(), [&](std::size_t i) {
    try {
      task(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool is_read = skipped.take([&] {
      if (failures[i]) std::rethrow_exception(failures[i]);
    });
    if (!is_read) continue;
    if (kept < i) {
      files[kept] = std::move(files[i]);
      keep(i, kept);
    }
    ++kept;
  }
  files.resize(kept);
}

/// Reads the headers of the files, and erases those that cannot be read.
std::vector<ImageInfo> infos_of(std::vector<ClassFile>& files, SkippedExamples& skipped) {
  std::vector<ImageInfo> infos(files.size());
  read_each(
      files, skipped,
      [&](std::size_t i) {
        infos[i] = image_info(read_file(files[i].path, kMostFileBytes), files[i].path.string());
      },
      [&](std::size_t from, std::size_t to) { infos[to] = infos[from]; });
  infos.resize(files.size());
  return infos;
}

/// The size that all images get, those of all parts.
PixelSize common_size(ClassFiles& parts, const DataOptions& options, SkippedExamples& skipped) {
  std::vector<ImageInfo> infos;
  std::vector<ClassFile> files;
  for (std::vector<ClassFile>* part : {&parts.train, &parts.test, &parts.validation}) {
    if (part->empty()) continue;
    const std::string of = part->front().path.parent_path().parent_path().string();
    const std::vector<ImageInfo> more = infos_of(*part, skipped);
    require_read(of, part->size());
    infos.insert(infos.end(), more.begin(), more.end());
    files.insert(files.end(), part->begin(), part->end());
  }
  const bool is_grey = options.grey || std::ranges::all_of(infos, [](const ImageInfo& info) {
                         return info.is_grey;
                       });
  const Index channels = is_grey ? 1 : 3;
  if (options.height > 0) return {options.height, options.width, channels};
  const auto other = std::ranges::find_if(infos, [&](const ImageInfo& info) {
    return info.height != infos[0].height || info.width != infos[0].width;
  });
  if (other == infos.end()) return {infos[0].height, infos[0].width, channels};
  throw FormatError(fmt::format(
      "{}: expected {} x {} pixels, height x width, as {} has, found {} x {}; give --image-size "
      "HxW, to which all are resized",
      files[static_cast<std::size_t>(other - infos.begin())].path.string(), infos[0].height,
      infos[0].width, files[0].path.string(), other->height, other->width));
}

/// The classes of the files.
ClassNames classes_of(const std::vector<ClassFile>& files, ClassNames classes) {
  for (const ClassFile& file : files) classes.add(file.class_name, file.path.string());
  return classes;
}

Dataset read_images(std::string name, std::vector<ClassFile>& files, const PixelSize& size,
                    ClassNames classes, SkippedExamples& skipped) {
  const auto each = static_cast<std::size_t>(size.height * size.width * size.channels);
  std::vector<std::uint8_t> pixels(files.size() * each);
  const auto place = [&](std::size_t i) {
    return pixels.begin() + static_cast<std::ptrdiff_t>(i * each);
  };
  read_each(
      files, skipped,
      [&](std::size_t i) { std::ranges::copy(read_image(files[i].path, size), place(i)); },
      [&](std::size_t from, std::size_t to) {
        std::copy(place(from), place(from + 1), place(to));
      });
  require_read(name, files.size());
  pixels.resize(files.size() * each);
  classes = classes_of(files, std::move(classes));
  const std::vector<std::string> names = classes.names();
  return Dataset::from_bytes(std::move(name), {size.height, size.width, size.channels},
                             std::move(pixels), classes.labels(), static_cast<int>(names.size()))
      .with_class_names(names);
}

/// Decodes every file once, to find those that cannot be read, and again whenever it is asked for.
Dataset read_images_later(std::string name, std::vector<ClassFile>& files, const PixelSize& size,
                          ClassNames classes, SkippedExamples& skipped) {
  std::vector<std::uint64_t> hashes(files.size());
  read_each(
      files, skipped,
      [&](std::size_t i) {
        const std::vector<std::uint8_t> pixels = read_image(files[i].path, size);
        hashes[i] = hash_of_values(std::span<const std::uint8_t>(pixels));
      },
      [&](std::size_t from, std::size_t to) { hashes[to] = hashes[from]; });
  require_read(name, files.size());
  classes = classes_of(files, std::move(classes));
  const std::vector<std::string> names = classes.names();
  FileExampleSet<std::uint8_t> set{
      .files = {},
      .shape = {size.height, size.width, size.channels},
      .labels = classes.labels(),
      .classes = static_cast<int>(names.size()),
      .decode = [size](const fs::path& path) { return read_image(path, size); }};
  for (std::size_t i = 0; i < files.size(); ++i) set.files.push_back({files[i].path, hashes[i]});
  return Dataset::from_reader(std::move(name),
                              std::make_shared<DecodingReader<std::uint8_t>>(std::move(set)))
      .with_class_names(names);
}

}  // namespace

bool is_image_folder(const fs::path& folder) { return holds_files(folder, image_endings()); }

std::vector<std::uint8_t> read_image(const fs::path& path, const PixelSize& size) {
  const std::vector<std::uint8_t> file = read_file(path, kMostFileBytes);
  const ImageInfo info = image_info(file, path.string());
  std::vector<std::uint8_t> pixels = decode_image(file, path.string());
  if (size.channels == 1) pixels = grey_of(pixels);
  return resize_image(pixels, {info.height, info.width, size.channels}, size.height, size.width);
}

LoadedData load_image_folder(const fs::path& folder, const DataOptions& options) {
  ClassFiles files = list_class_files(folder, image_endings(), options);
  const std::set<std::string> classes = class_names_in(files.train);
  SkippedExamples skipped(options.skip_bad);
  const PixelSize size = common_size(files, options, skipped);
  const std::initializer_list<std::size_t> sides = {static_cast<std::size_t>(size.height),
                                                    static_cast<std::size_t>(size.width),
                                                    static_cast<std::size_t>(size.channels)};
  check_data_bytes(folder.string(), 1, sides, options);
  const bool fit = fit_data_bytes(files.train.size() + files.test.size() + files.validation.size(),
                                  sides, options);
  const auto read = [&](std::vector<ClassFile>& part, std::vector<std::string> known) {
    Dataset set = (fit ? read_images : read_images_later)(
        set_name(folder), part, size, ClassNames(std::move(known), options.more_test_classes),
        skipped);
    return with_file_names(std::move(set), folder, part);
  };
  LoadedData data{.train = read(files.train, options.class_names), .resolved = options};
  require_each_class(folder, classes, data.train);
  data.groups = groups_of(files.train);
  data.resolved->height = size.height;
  data.resolved->width = size.width;
  data.resolved->grey = size.channels == 1;
  const std::vector<std::string> names = data.train.class_names();
  if (!files.test.empty()) data.test = read(files.test, names);
  if (!files.validation.empty()) data.validation = read(files.validation, names);
  data.skipped = skipped.texts();
  return data;
}

}  // namespace octet
