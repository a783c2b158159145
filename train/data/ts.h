#pragma once

#include <octet/train/data/data_options.h>
#include <octet/train/data/dataset.h>
#include <octet/train/data/skipped_examples.h>

#include <filesystem>

namespace octet {

/// Reads time series with a class each from a `.ts` file of the UEA archive, plain or gzipped (A.
/// Bagnall et al., "The UEA multivariate time series classification archive, 2018"): lines of `#`,
/// a header of lines with `@`, then a line for each series, its channels separated by `:`, the
/// values of a channel by `,`, and the class last. The examples are [steps, channels]; series of
/// several lengths need DataOptions::length. Classes have the names and the order of `@classLabel`,
/// or those of DataOptions::class_names. Up to DataOptions::skip_bad series that cannot be read are
/// left out. Throws IoError where the file cannot be read; FormatError,
/// which names the line, for series with time stamps, without a class, with missing values, of
/// another number of channels or with channels of several lengths, and for a gzipped file of more
/// than 1 GiB; InvalidArgument where the examples take more than DataOptions::max_bytes.
Dataset load_ts(const std::filesystem::path& path, const DataOptions& options = {});
/// Adds the series that are left out to `skipped`, which says how many may be.
Dataset load_ts(const std::filesystem::path& path, const DataOptions& options,
                SkippedExamples& skipped);

/// Reads the files NAME_TRAIN.ts and NAME_TEST.ts of a folder. Throws as load_ts(), and IoError
/// unless there is one of each.
DataSplit load_ts_folder(const std::filesystem::path& folder, const DataOptions& options = {});

}  // namespace octet
