#include <fmt/core.h>
#include <octet/core/error.h>
#include <octet/core/text.h>
#include <octet/train/data/cifar10.h>
#include <octet/train/data/csv_data.h>
#include <octet/train/data/data_formats.h>
#include <octet/train/data/example_names.h>
#include <octet/train/data/idx.h>
#include <octet/train/data/image_folder.h>
#include <octet/train/data/names_in.h>
#include <octet/train/data/npy.h>
#include <octet/train/data/skipped_examples.h>
#include <octet/train/data/ts.h>
#include <octet/train/data/wav_folder.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace octet {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& folder, bool (*is_one)(std::string_view name)) {
  const std::vector<std::string> names = names_in(folder);
  return std::ranges::any_of(names, [&](const std::string& name) { return is_one(name); });
}

bool is_idx_name(std::string_view name) {
  return (name.starts_with("train-") || name.starts_with("t10k-")) &&
         (name.ends_with("-ubyte") || name.ends_with("-ubyte.gz"));
}

bool is_cifar10_name(std::string_view name) {
  return name == "test_batch.bin" || (name.starts_with("data_batch_") && name.ends_with(".bin"));
}

bool is_ts_name(std::string_view name) { return name.ends_with(".ts") || name.ends_with(".ts.gz"); }

bool is_npy_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kNames = {"x.npy",       "y.npy",      "x_train.npy",
                                                      "y_train.npy", "x_test.npy", "y_test.npy"};
  return std::ranges::find(kNames, name) != kNames.end();
}

LoadedData loaded(DataSplit data) {
  return {.train = std::move(data.train),
          .test = std::move(data.test),
          .skipped = std::move(data.skipped)};
}

/// Sequences, whose length further files have to have.
LoadedData with_length(LoadedData data, const DataOptions& options) {
  data.resolved = options;
  data.resolved->length = static_cast<std::size_t>(data.train.example_shape()[0]);
  return data;
}

/// Options of a format whose examples may be signals.
std::vector<std::string_view> with_signals(std::vector<std::string_view> own) {
  own.insert(own.end(), {"sample-rate", "front-end", "frame", "frame-hop", "mel-channels",
                         "cepstra", "signal-range", "max-data-bytes"});
  return own;
}

/// Options of a format that may lack a test part.
std::vector<std::string_view> with_split(std::vector<std::string_view> own) {
  own.insert(own.end(), {"test-data", "split", "split-seed"});
  return own;
}

/// Options of a format of which single examples may be left out.
std::vector<std::string_view> with_skips(std::vector<std::string_view> own) {
  own.emplace_back("skip-bad");
  return with_split(std::move(own));
}

/// Leaves out the examples of which a value is not finite.
Dataset finite_rows(Dataset data, const std::string& x_file, const std::string& y_file,
                    SkippedExamples& skipped) {
  constexpr std::size_t kRows = 1000;
  const bool checks_features = data.bytes().empty();
  if (!checks_features && data.has_labels()) return data;
  std::vector<std::uint32_t> kept;
  for (std::size_t begin = 0; begin < data.size(); begin += kRows) {
    const Batch some = data.batch(begin, std::min(data.size(), begin + kRows));
    const auto count = static_cast<std::size_t>(some.features.dim(0));
    const auto row_of = [&](const Tensor& values, std::size_t row) {
      const std::size_t each = values.span().size() / count;
      return values.span().subspan(row * each, each);
    };
    for (std::size_t row = 0; row < count; ++row) {
      const bool is_read = skipped.take([&] {
        if (checks_features) require_finite_row(row_of(some.features, row), x_file, begin + row);
        if (data.has_labels()) return;
        require_finite_row(row_of(some.targets.values(), row), y_file, begin + row);
      });
      if (is_read) kept.push_back(static_cast<std::uint32_t>(begin + row));
    }
  }
  require_read(x_file, kept.size());
  return kept.size() == data.size() ? data : data.subset(kept);
}

/// The arrays of a folder: x.npy with y.npy, or two such pairs; w.npy weighs examples in training.
LoadedData load_npy_folder(const fs::path& folder, const DataOptions& options) {
  const std::vector<std::string> names = names_in(folder);
  const auto is_there = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const bool has_parts = !is_there("x.npy");
  const std::string part = has_parts ? "_train" : "";
  const std::string other = has_parts ? "w.npy" : "w_train.npy";
  if (is_there(other)) {
    throw FormatError(fmt::format("{}: expected w{}.npy beside x{}.npy, found {}", folder.string(),
                                  part, part, other));
  }
  LoadedData data;
  SkippedExamples skipped(options.skip_bad);
  const std::string weights = "w" + part + ".npy";
  // Neither weights nor features of a front end go with examples that are read.
  const std::size_t most_bytes = is_there(weights) || !options.front_end.empty()
                                     ? std::numeric_limits<std::size_t>::max()
                                     : options.max_bytes;
  const auto finite = [&](Dataset set, const std::string& of) {
    set = std::move(set).with_example_names(names_by_row(folder / ("x" + of + ".npy")));
    return finite_rows(std::move(set), (folder / ("x" + of + ".npy")).string(),
                       (folder / ("y" + of + ".npy")).string(), skipped);
  };
  data.train =
      load_npy(folder / ("x" + part + ".npy"), folder / ("y" + part + ".npy"), 0, most_bytes);
  const int classes = data.train.classes();
  if (is_there(weights)) {
    const fs::path file = folder / weights;
    data.train =
        std::move(data.train).with_sample_weights(sample_weights_of(read_npy(file), file.string()));
  }
  data.train = finite(std::move(data.train), part);
  if (has_parts) {
    data.test = finite(load_npy(folder / "x_test.npy", folder / "y_test.npy", classes, most_bytes),
                       "_test");
  }
  data.skipped = skipped.texts();
  return data;
}

}  // namespace

std::span<const DataFormat> data_formats() {
  static const std::array formats = {
      DataFormat{
          .name = "IDX",
          .looks = "a folder with IDX files named as those of MNIST",
          .takes = {},
          .recognizes = [](const fs::path& path) { return holds(path, is_idx_name); },
          .two_axes = ExampleKind::image,
          .load = [](const fs::path& path, const DataOptions&) { return loaded(load_idx(path)); },
          .load_test = [](const fs::path& path, const DataOptions&) { return load_idx_test(path); },
      },
      DataFormat{
          .name = "CIFAR-10",
          .looks = "a folder with data_batch_1.bin to data_batch_5.bin and test_batch.bin",
          .takes = {},
          .recognizes = [](const fs::path& path) { return holds(path, is_cifar10_name); },
          .two_axes = ExampleKind::image,
          .load = [](const fs::path& path,
                     const DataOptions&) { return loaded(load_cifar10(path)); },
          .load_test = [](const fs::path& path,
                          const DataOptions&) { return read_cifar10(path / "test_batch.bin"); },
      },
      DataFormat{
          .name = "NumPy",
          .looks = "a folder with x.npy and y.npy, or x_train.npy, y_train.npy, x_test.npy and "
                   "y_test.npy",
          .takes = with_signals(with_skips({})),
          .recognizes = [](const fs::path& path) { return holds(path, is_npy_name); },
          .load = load_npy_folder,
      },
      DataFormat{
          .name = "CSV",
          .looks = "a .csv or .tsv file",
          .takes =
              with_signals(with_skips({"target-column", "numbers", "group-column", "weight-column",
                                       "columns", "ignore", "window", "hop", "class-names"})),
          .recognizes =
              [](const fs::path& path) {
                return is_file(path) && is_csv_name(path.filename().string());
              },
          .two_axes = ExampleKind::sequence,
          .load = load_csv_data,
      },
      DataFormat{
          .name = "CSV folder",
          .looks = "a folder of .csv or .tsv files by class",
          .takes = with_signals(with_skips({"columns", "ignore", "window", "hop", "class-names",
                                            "class-from", "length", "padding"})),
          .recognizes = is_csv_folder,
          .two_axes = ExampleKind::sequence,
          .load = load_csv_folder,
      },
      DataFormat{
          .name = "WAV",
          .looks = "a folder of .wav files by class",
          .takes = with_skips({"class-names", "class-from", "sample-rate", "length", "padding",
                               "front-end", "frame", "frame-hop", "mel-channels", "cepstra",
                               "max-data-bytes"}),
          .recognizes = is_wav_folder,
          .two_axes = ExampleKind::sequence,
          .load = load_wav_folder,
          .has_rate = true,
      },
      DataFormat{
          .name = "images",
          .looks = "a folder of .jpg, .png or .bmp files by class",
          .takes =
              with_skips({"class-names", "class-from", "image-size", "grey", "max-data-bytes"}),
          .recognizes = is_image_folder,
          .two_axes = ExampleKind::image,
          .load = load_image_folder,
      },
      DataFormat{
          .name = ".ts",
          .looks = "a .ts file",
          .takes = with_signals(with_skips({"class-names", "length", "padding"})),
          .recognizes =
              [](const fs::path& path) {
                return is_file(path) && is_ts_name(lower_case(path.filename().string()));
              },
          .two_axes = ExampleKind::sequence,
          .load =
              [](const fs::path& path, const DataOptions& options) {
                SkippedExamples skipped(options.skip_bad);
                LoadedData data{.train = load_ts(path, options, skipped)};
                data.skipped = skipped.texts();
                return with_length(std::move(data), options);
              },
      },
      DataFormat{
          .name = "UEA folder",
          .looks = "a folder with NAME_TRAIN.ts and NAME_TEST.ts",
          .takes = with_signals({"class-names", "length", "padding", "skip-bad"}),
          .recognizes = [](const fs::path& path) { return holds(path, is_ts_name); },
          .two_axes = ExampleKind::sequence,
          .load =
              [](const fs::path& path, const DataOptions& options) {
                return with_length(loaded(load_ts_folder(path, options)), options);
              },
      },
  };
  return formats;
}

}  // namespace octet
