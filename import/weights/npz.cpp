#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/file.h>
#include <octet/core/function_ref.h>
#include <octet/core/printable.h>
#include <octet/import/weights/weight_file.h>
#include <octet/train/data/array_file.h>
#include <octet/train/data/npy_header.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace octet {
namespace {

/// What deflate makes of one byte at most.
constexpr std::uint64_t kMostOfOneByte = 1032;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20U;
constexpr std::string_view kSuffix = ".npy";

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using ZipFile = std::unique_ptr<zip_t, Discard>;

std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// The archive in `bytes`, which outlive it. CHECKCONS: what the directory says of its files is
/// what stands in front of them.
ZipFile open(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw FormatError("expected a zip, found an empty file");
  zip_error_t error;
  zip_error_init(&error);
  std::unique_ptr<zip_source_t, Discard> source(
      zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  ZipFile archive;
  if (source) archive.reset(zip_open_from_source(source.get(), ZIP_RDONLY | ZIP_CHECKCONS, &error));
  if (!archive) throw FormatError(fmt::format("is no sound zip: {}", text_of(error)));
  static_cast<void>(source.release());  // the archive's now
  zip_error_fini(&error);
  return archive;
}

/// A file of the zip, as the directory says.
struct Member {
  zip_uint64_t index = 0;
  std::string name;
  std::uint64_t size = 0;
};

Member member_of(zip_t& archive, zip_uint64_t index) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kWanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                   ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(&archive, index, 0, &stat) != 0 || (stat.valid & kWanted) != kWanted) {
    throw FormatError(fmt::format("file {} of the zip cannot be read", index));
  }
  const std::string_view name = stat.name;
  if (!name.ends_with(kSuffix)) {
    throw FormatError(fmt::format(
        "expected a zip of .npy files, found \"{}\" in it; a checkpoint of PyTorch holds Python "
        "objects: save net.state_dict() by safetensors.torch.save_file()",
        printable(name)));
  }
  const bool deflated = stat.comp_method == ZIP_CM_DEFLATE;
  if ((!deflated && stat.comp_method != ZIP_CM_STORE) || stat.encryption_method != ZIP_EM_NONE) {
    throw FormatError(fmt::format("\"{}\": expected it stored or deflated, found method {}{}",
                                  printable(name), stat.comp_method,
                                  stat.encryption_method == ZIP_EM_NONE ? "" : ", encrypted"));
  }
  const std::uint64_t most = deflated ? kMostOfOneByte : 1;
  if (stat.size / most > stat.comp_size) {
    throw FormatError(fmt::format("\"{}\" promises {} bytes of {}, which come to {} at most",
                                  printable(name), stat.size, stat.comp_size,
                                  most * stat.comp_size));
  }
  return {index, std::string(name.substr(0, name.size() - kSuffix.size())), stat.size};
}

/// Filled as bytes arrive, so that memory follows what there is and not what was promised.
std::vector<std::uint8_t> contents(zip_t& archive, const Member& member) {
  const std::unique_ptr<zip_file_t, Discard> file(zip_fopen_index(&archive, member.index, 0));
  std::vector<std::uint8_t> bytes;
  // One byte more than promised, so that the end is seen, and with it the checksum compared.
  zip_int64_t got = file ? 1 : -1;
  while (got > 0 && bytes.size() <= member.size) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min(kPieceBytes, member.size + 1 - before));
    got = zip_fread(file.get(), bytes.data() + before, bytes.size() - before);
    bytes.resize(before + static_cast<std::size_t>(std::max<zip_int64_t>(got, 0)));
  }
  if (got < 0 || bytes.size() != member.size) {
    throw FormatError(fmt::format(
        "\"{}\" in the zip is damaged: {}", printable(member.name),
        got < 0 && file ? zip_file_strerror(file.get()) : "it has not the bytes that it promises"));
  }
  return bytes;
}

WeightTensor tensor_of(std::string name, const NpyArray& array) {
  return std::visit(
      [&](const auto& values) -> WeightTensor {
        using T = typename std::remove_cvref_t<decltype(values)>::value_type;
        if constexpr (std::is_floating_point_v<T>) {
          return {std::move(name), sizeof(T) == 4 ? "F32" : "F64", array.shape, array.to_tensor()};
        } else {
          const char sign = std::is_signed_v<T> ? 'I' : 'U';
          return {std::move(name), fmt::format("{}{}", sign, 8 * sizeof(T)), array.shape, {}};
        }
      },
      array.values);
}

/// Calls use(name, array) for every array.
void parse_npz(std::span<const std::uint8_t> bytes,
               FunctionRef<void(std::string name, NpyArray array)> use) {
  const ZipFile archive = open(bytes);
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  std::uint64_t total = 0;
  const std::uint64_t most = std::max<std::uint64_t>(kMostGzipped, bytes.size());
  for (zip_int64_t i = 0; i < count; ++i) {
    const Member member = member_of(*archive, static_cast<zip_uint64_t>(i));
    // Files that share their bytes are counted each time.
    if (member.size > most - total) {
      throw FormatError(fmt::format("the arrays come to more than {} bytes", most));
    }
    total += member.size;
    const std::vector<std::uint8_t> file = contents(*archive, member);
    ByteSource source(file);
    use(member.name, read_npy(source, fmt::format("\"{}{}\"", printable(member.name), kSuffix)));
  }
}

/// Calls use(bytes) with those of a file, which a FormatError names.
void in_npz(const std::filesystem::path& path,
            FunctionRef<void(std::span<const std::uint8_t> bytes)> use) {
  const MappedFile file(path);
  try {
    use(file.bytes());
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void parse_npz(const std::filesystem::path& path,
               FunctionRef<void(std::string name, NpyArray array)> use) {
  in_npz(path, [&](std::span<const std::uint8_t> bytes) { parse_npz(bytes, use); });
}

}  // namespace

std::vector<WeightTensor> read_npz(const std::filesystem::path& path) {
  std::vector<WeightTensor> tensors;
  parse_npz(path, [&](std::string name, const NpyArray& array) {
    tensors.push_back(tensor_of(std::move(name), array));
  });
  return tensors;
}

std::vector<std::pair<std::string, NpyArray>> read_npz_arrays(const std::filesystem::path& path) {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  parse_npz(path, [&](std::string name, NpyArray array) {
    arrays.emplace_back(std::move(name), std::move(array));
  });
  return arrays;
}

std::vector<std::string> npz_array_names(const std::filesystem::path& path) {
  std::vector<std::string> names;
  in_npz(path, [&](std::span<const std::uint8_t> bytes) {
    const ZipFile archive = open(bytes);
    const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      names.push_back(member_of(*archive, static_cast<zip_uint64_t>(i)).name);
    }
  });
  return names;
}

}  // namespace octet
