#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/parallel.h>
#include <octet/train/data/class_files.h>
#include <octet/train/data/class_names.h>
#include <octet/train/data/image_file.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/resize_image.h>
#include <octet/train/data/sequence_set.h>
#include <octet/train/data/set_name.h>

#include <algorithm>
#include <atomic>
#include <exception>
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

/// Calls task(i) for every i on all threads. What is thrown is what the first of them throws.
void each_in_parallel(std::size_t count, FunctionRef<void(std::size_t i)> task) {
  std::vector<std::exception_ptr> failures(count);
  parallel_tasks(count, [&](std::size_t i) {
    try {
      task(i);
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

std::vector<ImageInfo> infos_of(std::span<const ClassFile> files) {
  std::vector<ImageInfo> infos(files.size());
  each_in_parallel(files.size(), [&](std::size_t i) {
    infos[i] = image_info(read_file(files[i].path, kMostFileBytes), files[i].path.string());
  });
  return infos;
}

/// The size that all images get, those of both parts.
PixelSize common_size(std::span<const ClassFile> files, const DataOptions& options) {
  const std::vector<ImageInfo> infos = infos_of(files);
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

Dataset read_images(std::string name, std::span<const ClassFile> files, const PixelSize& size,
                    std::vector<std::string> known) {
  ClassNames classes(std::move(known));
  for (const ClassFile& file : files) classes.add(file.class_name, file.path.string());
  const auto each = static_cast<std::size_t>(size.height * size.width * size.channels);
  std::vector<std::uint8_t> pixels(files.size() * each);
  each_in_parallel(files.size(), [&](std::size_t i) {
    std::ranges::copy(read_image(files[i].path, size),
                      pixels.begin() + static_cast<std::ptrdiff_t>(i * each));
  });
  const std::vector<std::string> names = classes.names();
  return Dataset::from_bytes(std::move(name), {size.height, size.width, size.channels},
                             std::move(pixels), classes.labels(), static_cast<int>(names.size()))
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
  const ClassFiles files = list_class_files(folder, image_endings(), options);
  std::vector<ClassFile> all = files.train;
  all.insert(all.end(), files.test.begin(), files.test.end());
  all.insert(all.end(), files.validation.begin(), files.validation.end());
  const PixelSize size = common_size(all, options);
  check_data_bytes(folder.string(), all.size(),
                   {static_cast<std::size_t>(size.height), static_cast<std::size_t>(size.width),
                    static_cast<std::size_t>(size.channels)},
                   options);
  LoadedData data{.train = read_images(set_name(folder), files.train, size, options.class_names),
                  .groups = groups_of(files.train),
                  .resolved = options};
  data.resolved->height = size.height;
  data.resolved->width = size.width;
  data.resolved->grey = size.channels == 1;
  const auto read = [&](const std::vector<ClassFile>& part) {
    return read_images(set_name(folder), part, size, data.train.class_names());
  };
  if (!files.test.empty()) data.test = read(files.test);
  if (!files.validation.empty()) data.validation = read(files.validation);
  return data;
}

}  // namespace octet
