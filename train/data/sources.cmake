# The data part of octet::training; paths are relative to train/.
target_sources(octet_training PRIVATE
  data/array_file.cpp
  data/augmentation.cpp
  data/byte_source.cpp
  data/cifar10.cpp
  data/class_files.cpp
  data/class_names.cpp
  data/csv.cpp
  data/csv_data.cpp
  data/csv_records.cpp
  data/csv_rows.cpp
  data/data_description.cpp
  data/data_formats.cpp
  data/data_loader.cpp
  data/data_options.cpp
  data/dataset.cpp
  data/dataset_rows.cpp
  data/decoding_reader.cpp
  data/digit_glyphs.cpp
  data/digit_pen.cpp
  data/digits.cpp
  data/example_kind.cpp
  data/example_names.cpp
  data/file_examples.cpp
  data/fingerprint.cpp
  data/idx.cpp
  data/image_augmentation.cpp
  data/image_changes.cpp
  data/image_folder.cpp
  data/load_data.cpp
  data/name_pattern.cpp
  data/names_in.cpp
  data/normalization.cpp
  data/npy.cpp
  data/npy_header.cpp
  data/npy_reader.cpp
  data/number_text.cpp
  data/read_ahead.cpp
  data/resample.cpp
  data/resize_image.cpp
  data/sequence_changes.cpp
  data/sequence_set.cpp
  data/set_name.cpp
  data/signal_augmentation.cpp
  data/signal_features.cpp
  data/skipped_examples.cpp
  data/sound_features.cpp
  data/sound_reader.cpp
  data/split_data.cpp
  data/targets.cpp
  data/text_blocks.cpp
  data/text_lines.cpp
  data/trained_split.cpp
  data/ts.cpp
  data/wav_folder.cpp)

# By name, so that what links octet needs no path of this machine's.
if(OCTET_IMAGES)
  target_sources(octet_training PRIVATE data/bmp_file.cpp data/image_file.cpp)
  target_include_directories(octet_training SYSTEM PRIVATE
    "${OCTET_TURBOJPEG_INCLUDE}" "${OCTET_PNG_INCLUDE}")
  target_link_libraries(octet_training PRIVATE turbojpeg png)
else()
  target_sources(octet_training PRIVATE data/image_file_none.cpp)
endif()
if(OCTET_SOUNDS)
  target_sources(octet_training PRIVATE data/wav_file.cpp)
  target_include_directories(octet_training SYSTEM PRIVATE "${OCTET_SNDFILE_INCLUDE}")
  target_link_libraries(octet_training PRIVATE sndfile)
else()
  target_sources(octet_training PRIVATE data/wav_file_none.cpp)
endif()
